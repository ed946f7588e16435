package survey_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/survey"
)

// status is what Clusters says of wc1.
func (s *small) status(t *testing.T) clustermanager.ClusterStatus {
	t.Helper()
	fleet, err := s.reader(t).Clusters(t.Context(), survey.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range fleet.Clusters {
		if status.Cluster.Name == "wc1" {
			return status
		}
	}
	t.Fatal("no wc1 among the clusters")
	return clustermanager.ClusterStatus{}
}

func wc1With(management, target string) *small {
	return &small{management: management, clusters: map[string]string{"wc1": "{apiVersion: v1, kind: Namespace, metadata: {name: default}}\n" + target}}
}

func got[T any](t *testing.T, reading clustermanager.Reading[T]) T {
	t.Helper()
	value, read := reading.Get()
	if !read {
		t.Fatalf("unknown: %s", reading.Reason())
	}
	return value
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

const listAll = "{app.kubernetes.io/name: gpu-node-pool, giantswarm.io/cluster: wc1}"

// withStatus adds a status to a release's document.
func withStatus(document, status string) string {
	return strings.TrimSuffix(document, "}\n") + ", status: " + status + "}\n"
}

func withDeletion(document string) string {
	return strings.Replace(document, "metadata: {", `metadata: {finalizers: [finalizers.fluxcd.io], deletionTimestamp: "2026-08-01T09:00:00Z", `, 1)
}

var nine = time.Date(2026, 8, 1, 9, 0, 0, 0, time.UTC)

func TestReleaseState(t *testing.T) {
	operator := release("org-acme", "wc1-gpu-operator", owned, toWC1)
	state := func(change func(*clustermanager.ReleaseState)) *clustermanager.ReleaseState {
		made := &clustermanager.ReleaseState{Name: "wc1-gpu-operator", Namespace: "org-acme"}
		change(made)
		return made
	}
	for _, test := range []struct {
		name, document string
		want           *clustermanager.ReleaseState
	}{
		{"none", "", nil},
		{"no condition yet", operator, state(func(*clustermanager.ReleaseState) {})},
		{"ready", withStatus(operator, `{conditions: [{type: Ready, status: "True", reason: UpgradeSucceeded, message: fine, lastTransitionTime: "2026-08-01T09:00:00Z"}]}`),
			state(func(s *clustermanager.ReleaseState) {
				s.Ready, s.Reason, s.Since = new(true), "UpgradeSucceeded", &nine
			})},
		{"not ready", withStatus(operator, `{conditions: [{type: Ready, status: "False", reason: InstallFailed, message: "one\n\n  two"}]}`),
			state(func(s *clustermanager.ReleaseState) {
				s.Ready, s.Reason, s.Message = new(false), "InstallFailed", "one two"
			})},
		{"reconciling", withStatus(operator, `{conditions: [{type: Ready, status: Unknown, reason: Progressing, message: waiting}]}`),
			state(func(s *clustermanager.ReleaseState) { s.Reason, s.Message = "Progressing", "waiting" })},
		{"deleted", withDeletion(operator), state(func(s *clustermanager.ReleaseState) { s.DeletedAt = &nine })},
	} {
		t.Run(test.name, func(t *testing.T) {
			same(t, test.want, got(t, wc1With(test.document, "").status(t).OperatorReadiness.Release))
		})
	}
}

func TestOperatorReadiness(t *testing.T) {
	target := policy + `
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: nvidia-device-plugin-daemonset, namespace: gpu, labels: {app: nvidia-device-plugin-daemonset}}, status: {desiredNumberScheduled: 2, numberReady: 1}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: gpu-feature-discovery, namespace: gpu, labels: {app: gpu-feature-discovery}}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: other, namespace: gpu, labels: {app: other}}}
` + release("gpu", "gpu-operator", rendered, "{}")
	snapshot := wc1With(release("org-acme", "wc1-gpu-operator", owned, toWC1), target)
	read := snapshot.status(t).OperatorReadiness
	same(t, "gpu-operator", got(t, read.Release).Name)
	same(t, &clustermanager.ClusterPolicyState{Name: "cluster-policy", State: "ready"}, got(t, read.ClusterPolicy))
	same(t, []clustermanager.Operand{
		{Name: "gpu-feature-discovery", Namespace: "gpu"}, {Name: "nvidia-device-plugin-daemonset", Namespace: "gpu", Desired: 2, Ready: 1},
	}, got(t, read.Operands))

	snapshot = wc1With("", policy)
	snapshot.refuse = map[string]int{"wc1 GET /apis/apps/v1/daemonsets": http.StatusForbidden, "wc1 GET /apis/helm": http.StatusForbidden}
	read = snapshot.status(t).OperatorReadiness
	same(t, "every DaemonSet on cluster org-acme/wc1: reading: forbidden by the test", read.Operands.Reason())
	same(t, "every HelmRelease on cluster org-acme/wc1: reading: forbidden by the test", read.Release.Reason())
	same(t, []clustermanager.Operand{}, got(t, wc1With("", "").status(t).OperatorReadiness.Operands))
}

const readyStatus = `{conditions: [{type: Ready, status: "True", reason: InstallSucceeded}]}`

func TestSliceIsReadyWithItsChildren(t *testing.T) {
	ours := withStatus(release("org-acme", "wc1-agent-platform", owned, toWC1), readyStatus)
	good := child("a", "status: "+readyStatus)
	failed := child("b", `status: {conditions: [{type: Ready, status: "False", reason: InstallFailed, message: no space}]}`)
	for _, test := range []struct {
		name, management string
		refuse           map[string]int
		ready            *bool
		reason, message  string
		children         int
	}{
		{name: "every child is ready", management: ours + good, ready: new(true), reason: "InstallSucceeded", children: 1},
		{name: "children that are not", management: ours + good + failed + child("c", ""), ready: new(false), reason: "ChildNotReady", children: 3,
			message: "HelmRelease org-acme/b: Ready False (InstallFailed: no space); HelmRelease org-acme/c: no Ready condition yet"},
		{name: "a child that is being deleted", management: ours + withDeletion(good), ready: new(false), reason: "ChildNotReady", children: 1,
			message: "HelmRelease org-acme/a: being deleted since 2026-08-01T09:00:00Z (InstallSucceeded)"},
		{name: "not ready itself", management: withStatus(release("org-acme", "wc1-agent-platform", owned, toWC1), `{conditions: [{type: Ready, status: "False", reason: Own, message: own}]}`) + failed,
			ready: new(false), reason: "Own", message: "own", children: 1},
		{name: "another slice's child", management: ours + strings.ReplaceAll(failed, "name: wc1-agent-platform", "name: wc2-agent-platform"), ready: new(true), reason: "InstallSucceeded"},
	} {
		t.Run(test.name, func(t *testing.T) {
			read := wc1With(test.management, "").status(t).ServingReadiness
			state := got(t, read.Release)
			same(t, []any{test.ready, test.reason, test.message}, []any{state.Ready, state.Reason, state.Message})
			same(t, test.children, len(got(t, read.Children)))
		})
	}
	t.Run("children unread", func(t *testing.T) {
		snapshot := wc1With(ours+failed, "")
		snapshot.refuse = map[string]int{"v2/helmreleases$": http.StatusForbidden, "?helm.toolkit.fluxcd.io/name": http.StatusForbidden}
		read := snapshot.status(t).ServingReadiness
		if state := got(t, read.Release); state.Ready != nil || !strings.Contains(state.Message, "its children could not be read: every HelmRelease in org-acme") {
			t.Errorf("%+v", state)
		}
		if read.Children.Reason() == "" {
			t.Error("the children are known")
		}
	})
	t.Run("foreign", func(t *testing.T) {
		read := wc1With(release("org-acme", "wc1-agent-platform", ofWC1, toWC1), "").status(t).ServingReadiness
		if got(t, read.Release) != nil || got(t, read.Cache) != nil {
			t.Error("somebody else's release is taken for the slice")
		}
	})
}

func TestServingReadiness(t *testing.T) {
	preset := "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: p%d, namespace: x, labels: {agent-platform.giantswarm.io/serving-preset: \"true\"}}, data: {preset.yaml: \"\"}}\n"
	presets := fmt.Sprintf(preset, 1) + fmt.Sprintf(preset, 2) + fmt.Sprintf(preset, 3)
	definition := "\n---\n{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: llminferenceserviceconfigs.serving.kserve.io}, spec: {group: serving.kserve.io, scope: Namespaced, names: {plural: llminferenceserviceconfigs, kind: LLMInferenceServiceConfig}, versions: [{name: v1alpha1, served: true, storage: false}, {name: v1alpha2, served: true, storage: true}]}}\n"
	config := "\n---\n{apiVersion: serving.kserve.io/v1alpha2, kind: LLMInferenceServiceConfig, metadata: {name: %s, namespace: %s}}\n"

	t.Run("case 1", func(t *testing.T) {
		status := wc1With("", isvc+llm+discoveryConfig+presets).status(t)
		same(t, present("chart", "API serving.kserve.io/v1alpha1 served", "API serving.kserve.io/v1beta1 served", "ConfigMap agent-platform/serving"), status.Serving)
		read := status.ServingReadiness
		same(t, new(3), got(t, read.Presets))
		same(t, (*int)(nil), got(t, read.Configs))
		same(t, (*clustermanager.ReleaseState)(nil), got(t, read.Release))
		same(t, clustermanager.BackendState{Registered: new(false)}, read.Backend)
	})
	t.Run("configs", func(t *testing.T) {
		configs := definition + fmt.Sprintf(config, "a", "agent-platform") + withDeletion(fmt.Sprintf(config, "b", "agent-platform")) + fmt.Sprintf(config, "c", "org-acme")
		status := wc1With("", discoveryConfig+configs).status(t)
		same(t, new(2), got(t, status.ServingReadiness.Configs))
		if !strings.Contains(fmt.Sprint(status.Serving.Evidence), "LLMInferenceServiceConfig agent-platform/b: terminating") {
			t.Errorf("%v", status.Serving.Evidence)
		}
		status = wc1With(release("org-acme", "wc1-agent-platform", owned, "{values: {gitops: {targetNamespace: org-acme}}}"), configs).status(t)
		same(t, new(1), got(t, status.ServingReadiness.Configs))
		status = wc1With("", configs).status(t)
		same(t, absent("LLMInferenceServiceConfig agent-platform/b: terminating"), status.Serving)
		same(t, (*int)(nil), got(t, status.ServingReadiness.Configs))
		snapshot := wc1With("", discoveryConfig+configs)
		snapshot.refuse = map[string]int{"llminferenceserviceconfigs$": http.StatusForbidden}
		if reason := snapshot.status(t).ServingReadiness.Configs.Reason(); !strings.Contains(reason, "every LLMInferenceServiceConfig in agent-platform on cluster org-acme/wc1: reading: forbidden") {
			t.Error(reason)
		}
	})
	t.Run("presets unread", func(t *testing.T) {
		snapshot := wc1With("", discoveryConfig+presets)
		snapshot.refuse = map[string]int{"?agent-platform.giantswarm.io/serving-preset": http.StatusForbidden}
		if _, read := snapshot.status(t).ServingReadiness.Presets.Get(); read {
			t.Error("a count of presets that could not be read")
		}
	})
	t.Run("absent", func(t *testing.T) {
		status := wc1With("", presets).status(t)
		same(t, (*int)(nil), got(t, status.ServingReadiness.Presets))
		same(t, (*clustermanager.Webhook)(nil), got(t, status.ServingReadiness.Webhook))
	})
	t.Run("controllers", func(t *testing.T) {
		read := wc1With("", deployment("llm", "{control-plane: llmisvc-controller-manager}", "spec: {replicas: 2}, status: {readyReplicas: 1}")+
			deployment("classic", "{control-plane: kserve-controller-manager}", "spec: {}")).status(t).ServingReadiness
		same(t, []clustermanager.Controller{
			{Name: "classic", Namespace: "kserve", Replicas: 1}, {Name: "llm", Namespace: "kserve", Available: 1, Replicas: 2},
		}, got(t, read.Controllers))
	})
}

func TestCacheState(t *testing.T) {
	for values, want := range map[string]clustermanager.CacheState{
		"{}": {Enabled: true, Claim: "hf-cache"},
		"{modelServing: {cache: {enabled: true, pvc: {name: hf-cache-eu-central-1a}}}}": {Enabled: true, Claim: "hf-cache-eu-central-1a"},
		"{modelServing: {cache: {enabled: false, pvc: {name: hf-cache}}}}":              {},
	} {
		same(t, &want, got(t, wc1With(release("org-acme", "wc1-agent-platform", owned, "{values: "+values+"}"), "").status(t).ServingReadiness.Cache))
	}
}

// claims are cache claims of every kind that a row of the rules is about.
const claims = `
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: hf-cache, namespace: model-serving}, spec: {volumeName: pv-a, storageClassName: gp3, resources: {requests: {storage: 50Gi}}}, status: {phase: Bound, capacity: {storage: 100Gi}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: hf-cache-eu-central-1b, namespace: model-serving, annotations: {agent-platform.giantswarm.io/volume-type: gp3, agent-platform.giantswarm.io/volume-throughput: "500"}}, spec: {volumeName: pv-b, storageClassName: gone}, status: {phase: Bound}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: hf-cache-pending, namespace: model-serving}, spec: {storageClassName: untyped, resources: {requests: {storage: 10Gi}}}, status: {phase: Pending}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: hf-cache-lost, namespace: model-serving}, spec: {volumeName: pv-gone}, status: {phase: Bound}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: hf-cached, namespace: model-serving}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: hf-cache, namespace: elsewhere}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-a}, spec: {persistentVolumeReclaimPolicy: Retain, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: failure-domain.beta.kubernetes.io/zone, operator: In, values: [legacy]}, {key: topology.kubernetes.io/zone, operator: In, values: [eu-central-1a, other]}]}]}}}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-b}, spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: failure-domain.beta.kubernetes.io/zone, operator: In, values: [eu-central-1b]}]}]}}}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: gp3}, parameters: {type: gp3, iops: "4000"}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: untyped}}
`

func TestCacheClaimsOfReadiness(t *testing.T) {
	slice := release("org-acme", "wc1-agent-platform", owned, "{values: {modelServing: {cache: {pvc: {name: hf-cache-eu-central-1b}}}}}")
	found := got(t, wc1With(slice, claims).status(t).ServingReadiness.CacheClaims)
	same(t, []clustermanager.CacheClaim{
		{Namespace: "model-serving", Name: "hf-cache", Phase: "Bound", Volume: "pv-a", Zone: "eu-central-1a", Capacity: "100Gi", CapacityGiB: 100,
			StorageClass: "gp3", Tier: &clustermanager.VolumeTier{Type: "gp3", IOPS: 4000}, TierSource: "storageClass", ReclaimPolicy: "Retain", Mounted: new(false)},
		{Namespace: "model-serving", Name: "hf-cache-eu-central-1b", Phase: "Bound", Volume: "pv-b", Zone: "eu-central-1b", StorageClass: "gone",
			Tier: &clustermanager.VolumeTier{Type: "gp3", ThroughputMiBs: 500}, TierSource: "claimAnnotations", Mounted: new(true)},
		{Namespace: "model-serving", Name: "hf-cache-lost", Phase: "Bound", Volume: "pv-gone", Mounted: new(false),
			Error:    "PersistentVolume pv-gone on cluster org-acme/wc1: reading: it does not exist",
			TierNote: "the claim names no storage class, and the claim has no annotation agent-platform.giantswarm.io/volume-type"},
		{Namespace: "model-serving", Name: "hf-cache-pending", Phase: "Pending", Capacity: "10Gi", CapacityGiB: 10, StorageClass: "untyped",
			TierNote: "StorageClass untyped: it names no type", Mounted: new(false)},
	}, found)

	off := release("org-acme", "wc1-agent-platform", owned, "{values: {modelServing: {cache: {enabled: false, pvc: {name: hf-cache}}}}}")
	for _, claim := range got(t, wc1With(off, claims).status(t).ServingReadiness.CacheClaims) {
		same(t, new(false), claim.Mounted)
	}
	unread := wc1With(off, claims)
	unread.refuse = map[string]int{"v2/helmreleases$": http.StatusForbidden, "/helmreleases/wc1-agent-platform": http.StatusForbidden}
	for _, claim := range got(t, unread.status(t).ServingReadiness.CacheClaims) {
		same(t, (*bool)(nil), claim.Mounted)
	}
	same(t, []clustermanager.CacheClaim{}, got(t, wc1With("", "").status(t).ServingReadiness.CacheClaims))
	unread = wc1With("", claims)
	unread.refuse = map[string]int{"persistentvolumeclaims": http.StatusForbidden}
	if _, read := unread.status(t).ServingReadiness.CacheClaims.Get(); read {
		t.Error("claims that could not be read are known")
	}
}

func TestBackendState(t *testing.T) {
	backend := func(name, cluster, organization, document string) string {
		return fmt.Sprintf("\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: agent-platform, labels: {agent-platform.giantswarm.io/model-backend: \"true\", agent-platform.giantswarm.io/model-backend-source: cluster-manager, giantswarm.io/cluster: %s}}, data: {backend.yaml: '{metadata: {name: %s}, spec: {kserve: {target: {organization: %s}}}}'}}\n",
			name, cluster, document, organization)
	}
	own := clustermanager.BackendState{Registered: new(true), Backend: "kserve-wc1", Namespace: "agent-platform", Name: "model-backend-kserve-wc1"}
	for _, test := range []struct {
		name, management string
		refuse           map[string]int
		want             clustermanager.BackendState
	}{
		{"none", "", nil, clustermanager.BackendState{Registered: new(false)}},
		{"its own", backend("model-backend-kserve-wc1", "wc1", "acme", "kserve-wc1"), nil, own},
		{"its own beside the shared one of before", backend("model-backend-kserve-wc1", "wc1", "acme", "kserve-wc1") + backend("model-backend-kserve", "wc1", "acme", "kserve"), nil, own},
		{"the shared one", backend("model-backend-kserve", "wc1", "acme", "kserve"), nil,
			clustermanager.BackendState{Registered: new(true), Backend: "kserve", Namespace: "agent-platform", Name: "model-backend-kserve"}},
		{"another organization's cluster of the name", backend("model-backend-kserve-wc1", "wc1", "beta", "kserve-wc1"), nil, clustermanager.BackendState{Registered: new(false)}},
		{"unreadable", backend("model-backend-kserve-wc1", "wc1", "acme", "kserve-wc1"), map[string]int{"namespaces/agent-platform/configmaps": http.StatusForbidden},
			clustermanager.BackendState{Error: "every ConfigMap in agent-platform: reading: forbidden by the test"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			snapshot := wc1With(test.management, "")
			snapshot.refuse = test.refuse
			same(t, test.want, snapshot.status(t).ServingReadiness.Backend)
		})
	}
}

func TestPoolReleases(t *testing.T) {
	pools := withStatus(release("org-acme", "wc1-b", listAll, "{chart: {spec: {version: 0.8.0}}}"), `{lastAttemptedRevision: 0.9.0, conditions: [{type: Ready, status: "False"}]}`) +
		withDeletion(release("org-acme", "wc1-a", listAll, "{chart: {spec: {version: 0.8.0}}}")) +
		release("org-acme", "wc2-a", "{app.kubernetes.io/name: gpu-node-pool, giantswarm.io/cluster: wc2}", "{}") +
		release("org-other", "wc1-a", listAll, "{}")
	same(t, []clustermanager.PoolReleaseState{
		{Name: "wc1-a", Namespace: "org-acme", ChartVersion: "0.8.0", Deleting: true},
		{Name: "wc1-b", Namespace: "org-acme", ChartVersion: "0.9.0", Ready: new(false)},
	}, got(t, wc1With(pools, "").status(t).PoolReleases))
	same(t, []clustermanager.PoolReleaseState{}, got(t, wc1With("", "").status(t).PoolReleases))
	unread := wc1With(pools, "")
	unread.refuse = map[string]int{"installation GET /apis/helm": http.StatusInternalServerError}
	if reason := unread.status(t).PoolReleases.Reason(); reason != "every HelmRelease: reading: internalerror by the test" {
		t.Error(reason)
	}
}

func TestAdmins(t *testing.T) {
	values := func(labels, text string) string {
		return fmt.Sprintf("\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: wc1-values, namespace: org-acme, labels: %s}, data: {values.yaml: %q}}\n", labels, text)
	}
	bindings := `{global: {apps: {rbacBootstrap: {values: {bindings: [{role: cluster-admin, users: [b, a], groups: [g]}, {role: cluster-admin, users: [a, c]}, {role: cluster-admin, users: [d], namespaces: [x]}, {role: cluster-admin, users: [f], namespaces: []}, {role: view, users: [e]}]}}}}}`
	want := &clustermanager.Admins{Users: []string{"a", "b", "c"}, Groups: []string{"g"}}
	same(t, want, got(t, wc1With(values(owned, bindings), "").status(t).Admins))
	same(t, (*clustermanager.Admins)(nil), got(t, wc1With(values("{}", bindings), "").status(t).Admins))
	same(t, &clustermanager.Admins{}, got(t, wc1With(values(owned, "{}"), "").status(t).Admins))
	same(t, (*clustermanager.Admins)(nil), got(t, wc1With("", "").status(t).Admins))
	if reason := wc1With(values(owned, "{"), "").status(t).Admins.Reason(); reason != "ConfigMap org-acme/wc1-values: reading values: the text is no YAML" {
		t.Error(reason)
	}
	for _, test := range []struct{ apps, fault string }{
		{"[]", "global.apps is no mapping"},
		{"{rbacBootstrap: {values: {bindings: {role: cluster-admin}}}}", "global.apps.rbacBootstrap.values.bindings is no list"},
		{"{rbacBootstrap: {values: {bindings: [{role: [view]}]}}}", "global.apps.rbacBootstrap.values.bindings[0].role is no text"},
		{"{rbacBootstrap: {values: {bindings: [{role: view}, {role: cluster-admin, users: b}]}}}", "global.apps.rbacBootstrap.values.bindings[1].users is no list"},
		{"{rbacBootstrap: {values: {bindings: [{role: cluster-admin, groups: [g, 7]}]}}}", "global.apps.rbacBootstrap.values.bindings[0].groups[1] is no text"},
	} {
		reason := wc1With(values(owned, "{global: {apps: "+test.apps+"}}"), "").status(t).Admins.Reason()
		same(t, "ConfigMap org-acme/wc1-values: reading values: "+test.fault, reason)
	}
	if reason := wc1With(strings.Replace(values(owned, bindings), "values.yaml", "other.yaml", 1), "").status(t).Admins.Reason(); reason != "ConfigMap org-acme/wc1-values: reading values: it has no key values.yaml" {
		t.Error(reason)
	}
	narrow := wc1With(values(owned, bindings), "")
	narrow.refuse = map[string]int{"/v1/configmaps?app.kubernetes.io/managed-by": http.StatusForbidden}
	same(t, want, got(t, narrow.status(t).Admins))
	narrow = wc1With(values("{}", bindings), "")
	narrow.refuse = map[string]int{"/v1/configmaps?app.kubernetes.io/managed-by": http.StatusForbidden}
	same(t, (*clustermanager.Admins)(nil), got(t, narrow.status(t).Admins))
	narrow = wc1With(values(owned, bindings), "")
	narrow.refuse = map[string]int{"configmaps?app.kubernetes.io/managed-by": http.StatusForbidden, "/configmaps/wc1-values": http.StatusForbidden}
	if reason := narrow.status(t).Admins.Reason(); reason != "ConfigMap org-acme/wc1-values: reading: forbidden by the test" {
		t.Error(reason)
	}
}

func TestCommitTarget(t *testing.T) {
	fluxLabels := "{kustomize.toolkit.fluxcd.io/name: clusters, kustomize.toolkit.fluxcd.io/namespace: flux}"
	kustomization := "\n---\n{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: clusters, namespace: flux}, spec: {path: ./clusters/wc1/, prune: true, sourceRef: {kind: GitRepository, name: fleet}}}\n"
	source := "\n---\n{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: fleet, namespace: flux}, spec: {url: https://github.com/acme/fleet, ref: {branch: main}}}\n"
	want := &clustermanager.CommitTarget{Repository: "acme/fleet", Branch: "main", Path: "clusters/wc1", Kustomization: "flux/clusters", Prune: new(true)}
	for _, test := range []struct {
		name, management, unknown string
		want                      *clustermanager.CommitTarget
	}{
		{name: "nobody's", management: release("org-acme", "wc1", "{}", "{}")},
		{name: "nothing of its name"},
		{name: "its HelmRelease's", management: release("org-acme", "wc1", fluxLabels, "{}") + kustomization + source, want: want},
		{name: "its App's", management: strings.NewReplacer("name: a,", "name: wc1, labels: "+fluxLabels+",", "org-x", "org-acme").Replace(fmt.Sprintf(app, "{}")) + kustomization + source, want: want},
		{name: "no Kustomization", management: release("org-acme", "wc1", fluxLabels, "{}"), unknown: "Kustomization flux/clusters: it does not exist"},
		{name: "no GitRepository", management: release("org-acme", "wc1", fluxLabels, "{}") + kustomization, unknown: "GitRepository flux/fleet: it does not exist"},
	} {
		t.Run(test.name, func(t *testing.T) {
			target := wc1With(test.management, "").status(t).CommitTarget
			if test.unknown != "" {
				if !strings.HasPrefix(target.Reason(), test.unknown) {
					t.Error(target.Reason())
				}
				return
			}
			same(t, test.want, got(t, target))
		})
	}
}
