package live_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live"
)

var (
	namespaceResource  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	claimResource      = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	deploymentResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	modelResource      = schema.GroupVersionResource{Group: "serving.kserve.io", Version: "v1alpha2", Resource: "llminferenceservices"}
)

// servingObjects are a serving slice on the installation, targetObjects what it put onto the cluster.
const servingObjects = installationObjects + `---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: wc1-agent-platform, namespace: org-acme, labels: {app.kubernetes.io/managed-by: cluster-manager, app.kubernetes.io/name: agent-platform, giantswarm.io/cluster: wc1}}
spec: {interval: 10m}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: wc1-agent-platform, namespace: org-acme, labels: {app.kubernetes.io/managed-by: cluster-manager, app.kubernetes.io/name: agent-platform, giantswarm.io/cluster: wc1}}
spec: {interval: 10m}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: wc1-kserve-llmisvc-resources, namespace: org-acme, labels: {helm.toolkit.fluxcd.io/name: wc1-agent-platform, helm.toolkit.fluxcd.io/namespace: org-acme}}
spec: {interval: 10m}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: wc1-kserve-runtime-configs, namespace: org-acme, labels: {helm.toolkit.fluxcd.io/name: wc1-agent-platform, helm.toolkit.fluxcd.io/namespace: org-acme}}
spec: {interval: 10m}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: model-backend-kserve-wc1, namespace: agent-platform, labels: {app.kubernetes.io/managed-by: cluster-manager, giantswarm.io/cluster: wc1}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: wc1-gpu-l4, namespace: org-acme, labels: {app.kubernetes.io/managed-by: cluster-manager, app.kubernetes.io/name: gpu-node-pool, giantswarm.io/cluster: wc1, giantswarm.io/node-pool: gpu-l4}}
spec: {interval: 10m}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: wc1-gpu-l4, namespace: org-acme, labels: {app.kubernetes.io/managed-by: cluster-manager, app.kubernetes.io/name: gpu-node-pool, giantswarm.io/cluster: wc1, giantswarm.io/node-pool: gpu-l4}}
spec: {interval: 10m}
`

const targetObjects = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: llmisvc-controller-manager, namespace: agent-platform, labels: {control-plane: llmisvc-controller-manager}}
status: {readyReplicas: 1}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: llminferenceserviceconfigs.serving.kserve.io}
spec:
  group: serving.kserve.io
  names: {kind: LLMInferenceServiceConfig, plural: llminferenceserviceconfigs}
  scope: Namespaced
  versions: [{name: v1alpha1, served: true, storage: false}, {name: v1alpha2, served: true, storage: true}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: llminferenceservices.serving.kserve.io}
spec:
  group: serving.kserve.io
  names: {kind: LLMInferenceService, plural: llminferenceservices}
  scope: Namespaced
  versions: [{name: v1alpha1, served: true, storage: false}, {name: v1alpha2, served: true, storage: true}]
---
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceServiceConfig
metadata: {name: config-a, namespace: agent-platform, finalizers: [serving.kserve.io/llmisvcconfig-finalizer]}
---
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceServiceConfig
metadata: {name: config-b, namespace: agent-platform, finalizers: [serving.kserve.io/llmisvcconfig-finalizer]}
---
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceServiceConfig
metadata: {name: config-c, namespace: agent-platform, finalizers: [serving.kserve.io/llmisvcconfig-finalizer]}
---
apiVersion: v1
kind: Namespace
metadata: {name: model-serving, labels: {helm.toolkit.fluxcd.io/name: wc1-agent-platform-connectivity, helm.toolkit.fluxcd.io/namespace: org-acme}}
---
apiVersion: v1
kind: Pod
metadata: {name: finished, namespace: model-serving}
status: {phase: Succeeded}
`

func servingScene(t *testing.T) *scene { return newScene(t, servingObjects, targetObjects) }

// controllerGoes lets the controller go at the n-th wait. While it runs its webhook denies that a config is deleted.
func (s *scene) controllerGoes(t *testing.T, n int) {
	t.Helper()
	s.clock.waited = func(wait int) {
		if wait == n {
			_ = s.target.Resource(deploymentResource).Namespace("agent-platform").Delete(t.Context(), "llmisvc-controller-manager", metav1.DeleteOptions{})
		}
	}
}

// claim puts a claim into the serving namespace.
func (s *scene) claim(t *testing.T) {
	t.Helper()
	claim := reference("v1", "PersistentVolumeClaim", "model-serving", "hf-cache", nil)
	if _, err := s.target.Resource(claimResource).Namespace("model-serving").Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// model puts a served model onto the cluster.
func (s *scene) model(t *testing.T, name, manager string, deleted bool) {
	t.Helper()
	model := reference("serving.kserve.io/v1alpha2", "LLMInferenceService", "model-serving", name, map[string]string{"app.kubernetes.io/managed-by": manager})
	model.SetFinalizers([]string{"serving.kserve.io/llmisvc-finalizer"})
	models := s.target.Resource(modelResource).Namespace("model-serving")
	if _, err := models.Create(t.Context(), model, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if deleted {
		if err := models.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// webhook denies that configs are deleted while the controller is there.
func (s *scene) webhook(t *testing.T) {
	s.wire.instead = func(_ int, request *http.Request, _ func() (*http.Response, error)) (*http.Response, error, bool) {
		_, err := s.target.Resource(deploymentResource).Namespace("agent-platform").Get(t.Context(), "llmisvc-controller-manager", metav1.GetOptions{})
		if err == nil && request.Method == http.MethodDelete && strings.Contains(request.URL.Path, "llminferenceserviceconfigs") {
			return status(http.StatusForbidden, metav1.StatusReasonForbidden), nil, true
		}
		return nil, nil, false
	}
}

// teardownSteps are those of the last pool of wc1, in their order.
func teardownSteps(t *testing.T) []clustermanager.Step {
	t.Helper()
	const group = "serving.kserve.io/v1alpha1"
	child := map[string]string{"helm.toolkit.fluxcd.io/name": "wc1-agent-platform", "helm.toolkit.fluxcd.io/namespace": "org-acme"}
	ours := func(chart, pool string) map[string]string {
		labels := map[string]string{"app.kubernetes.io/managed-by": "cluster-manager", "giantswarm.io/cluster": "wc1"}
		if chart != "" {
			labels["app.kubernetes.io/name"] = chart
		}
		if pool != "" {
			labels["giantswarm.io/node-pool"] = pool
		}
		return labels
	}
	const source, release = "source.toolkit.fluxcd.io/v1", "helm.toolkit.fluxcd.io/v2"
	step := func(object *unstructuredObject, more func(*clustermanager.Step)) clustermanager.Step {
		made := clustermanager.Step{Verb: clustermanager.Remove, Lane: clustermanager.Teardown, Object: object}
		if more != nil {
			more(&made)
		}
		return made
	}
	labelled := func(s *clustermanager.Step) { s.Ownership = clustermanager.Labelled }
	return []clustermanager.Step{
		step(reference(release, "HelmRelease", "org-acme", "wc1-kserve-llmisvc-resources", child), labelled),
		step(reference("apps/v1", "Deployment", "", "", nil), func(s *clustermanager.Step) {
			s.Verb, s.Until, s.At = clustermanager.Await, clustermanager.UntilIdle, clustermanager.AtTarget
			s.Select = &clustermanager.Selection{APIVersion: "apps/v1", Kind: "Deployment", Labels: "control-plane=llmisvc-controller-manager"}
		}),
		step(reference(group, "LLMInferenceService", "model-serving", "", nil), func(s *clustermanager.Step) {
			s.At, s.Ownership, s.StorageVersion = clustermanager.AtTarget, clustermanager.Labelled, true
			s.Select = &clustermanager.Selection{APIVersion: group, Kind: "LLMInferenceService", Namespace: "model-serving", Labels: "app.kubernetes.io/managed-by=model-manager"}
			s.Finalizers = []string{"serving.kserve.io/llmisvc-finalizer"}
		}),
		step(reference(group, "LLMInferenceServiceConfig", "agent-platform", "", nil), func(s *clustermanager.Step) {
			s.At, s.Ownership, s.StorageVersion = clustermanager.AtTarget, clustermanager.Labelled, true
			s.Select = &clustermanager.Selection{APIVersion: group, Kind: "LLMInferenceServiceConfig", Namespace: "agent-platform"}
			s.Finalizers = []string{"serving.kserve.io/llmisvcconfig-finalizer"}
		}),
		step(reference(release, "HelmRelease", "org-acme", "wc1-kserve-runtime-configs", child), labelled),
		step(reference("v1", "ConfigMap", "agent-platform", "model-backend-kserve-wc1", ours("", "")), nil),
		step(reference(source, "OCIRepository", "org-acme", "wc1-agent-platform", ours("agent-platform", "")), nil),
		step(reference(release, "HelmRelease", "org-acme", "wc1-agent-platform", ours("agent-platform", "")), nil),
		step(reference(source, "OCIRepository", "org-acme", "wc1-gpu-l4", ours("gpu-node-pool", "gpu-l4")), nil),
		step(reference(release, "HelmRelease", "org-acme", "wc1-gpu-l4", ours("gpu-node-pool", "gpu-l4")), nil),
		step(reference(release, "HelmRelease", "org-acme", "wc1-agent-platform-connectivity", nil), func(s *clustermanager.Step) {
			s.Verb, s.Until, s.Ownership = clustermanager.Await, clustermanager.UntilGone, clustermanager.Labelled
		}),
		step(reference("v1", "Namespace", "", "model-serving", map[string]string{
			"helm.toolkit.fluxcd.io/name": "wc1-agent-platform-connectivity", "helm.toolkit.fluxcd.io/namespace": "org-acme",
		}), func(s *clustermanager.Step) {
			s.Verb, s.At, s.Ownership = clustermanager.Retire, clustermanager.AtTarget, clustermanager.Labelled
			s.Holders = []clustermanager.Selection{
				{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "model-serving"},
				{APIVersion: "serving.kserve.io/v1alpha2", Kind: "LLMInferenceService", Namespace: "model-serving"},
				{APIVersion: "v1", Kind: "Pod", Namespace: "model-serving", Except: []clustermanager.Match{{Field: "status.phase", Value: "Succeeded"}, {Field: "status.phase", Value: "Failed"}}},
			}
		}),
	}
}

// orderedTeardown is case 14's order.
func orderedTeardown(action string) []string {
	var told []string
	for _, name := range []string{
		"HelmRelease org-acme/wc1-kserve-llmisvc-resources",
		"LLMInferenceServiceConfig agent-platform/config-a", "LLMInferenceServiceConfig agent-platform/config-b", "LLMInferenceServiceConfig agent-platform/config-c",
		"HelmRelease org-acme/wc1-kserve-runtime-configs", "ConfigMap agent-platform/model-backend-kserve-wc1",
		"OCIRepository org-acme/wc1-agent-platform", "HelmRelease org-acme/wc1-agent-platform",
		"OCIRepository org-acme/wc1-gpu-l4", "HelmRelease org-acme/wc1-gpu-l4",
	} {
		told = append(told, action+" "+name)
	}
	return told
}

// Case 14: the controller's webhook forbids that configs are deleted; the controller is gone at the second look.
func TestTheOrderedTeardownWaitsForTheController(t *testing.T) {
	s := servingScene(t)
	s.webhook(t)
	s.controllerGoes(t, 1)
	steps := teardownSteps(t)[:10]
	preview := s.plan(t, steps).Preview()
	if diff := cmp.Diff(orderedTeardown("would-delete"), actions(preview.Changes)); diff != "" || len(s.wire.writes) > 0 {
		t.Errorf("%s%v", diff, s.wire.writes)
	}
	if want := "LLMInferenceServiceConfig agent-platform/config-a, agent-platform/config-b, agent-platform/config-c: would be removed with serving.kserve.io/llmisvcconfig-finalizer taken off, since nothing runs that would"; !slices.Equal(preview.Warnings, []string{want}) {
		t.Errorf("%q", preview.Warnings)
	}
	result := s.apply(t, steps)
	if diff := cmp.Diff(orderedTeardown("delete"), actions(result.Changes)); diff != "" {
		t.Error(diff)
	}
	want := "LLMInferenceServiceConfig agent-platform/config-a, agent-platform/config-b, agent-platform/config-c: removed with serving.kserve.io/llmisvcconfig-finalizer taken off, since nothing runs that would"
	if result.Partial || !slices.Equal(result.Warnings, []string{want}) {
		t.Errorf("%v", result)
	}
	if diff := cmp.Diff([]time.Duration{400 * time.Millisecond}, s.clock.waits); diff != "" {
		t.Errorf("one wait of a twentieth of eight seconds: %s", diff)
	}
	for index, object := range result.Changes[1:4] {
		if object.APIVersion != "serving.kserve.io/v1alpha2" {
			t.Errorf("config %d went at %s", index, object.APIVersion)
		}
	}
}

// A controller that cannot be read counts as not running; nothing is said to be known of it.
func TestTheOrderedTeardownWithoutSeeingTheController(t *testing.T) {
	s := servingScene(t)
	s.wire.unreadable = "/deployments"
	result := s.apply(t, teardownSteps(t)[:10])
	if diff := cmp.Diff(orderedTeardown("delete"), actions(result.Changes)); diff != "" || result.Partial {
		t.Errorf("%s%v", diff, result)
	}
	told := strings.Join(result.Warnings, "\n")
	if !strings.Contains(told, "every Deployment: whether it still runs could not be read, so it counts as not running: ") ||
		!strings.Contains(told, "since nothing is known to run that would") || strings.Contains(told, "since nothing runs that would") {
		t.Error(told)
	}
}

// Case 15: the controller never goes.
func TestTheOrderedTeardownIsCutAndGoesOn(t *testing.T) {
	s := servingScene(t)
	s.webhook(t)
	steps := teardownSteps(t)[:10]
	options := s.options()
	options.Budget.Limit = 1300 * time.Millisecond
	result := s.applyWith(t, steps, options)
	want := orderedTeardown("pending")
	want[0] = "delete HelmRelease org-acme/wc1-kserve-llmisvc-resources"
	if diff := cmp.Diff(want, actions(result.Changes)); diff != "" || !result.Partial {
		t.Errorf("%s%v", diff, result)
	}
	if want := "Deployment agent-platform/llmisvc-controller-manager still runs: 1 done, 9 pending; call again with the same arguments, which goes on from here"; result.NextStep != want {
		t.Errorf("got  %s\nwant %s", result.NextStep, want)
	}
	if len(s.clock.waits) == 0 || s.clock.Now().Sub(begin) > 400*time.Millisecond {
		t.Errorf("waited %v", s.clock.waits)
	}
	s.controllerGoes(t, len(s.clock.waits)+2)
	result = s.apply(t, steps)
	if diff := cmp.Diff(orderedTeardown("delete")[1:], actions(result.Changes)); diff != "" || result.Partial {
		t.Errorf("%s%v", diff, result)
	}
}

// Case 16: managed models go between the first child and the configs, at the version that is stored.
func TestManagedModelsGoWithTheSlice(t *testing.T) {
	s := servingScene(t)
	s.controllerGoes(t, 1)
	s.model(t, "ready", "model-manager", false)
	s.model(t, "terminating", "model-manager", true)
	s.model(t, "by-hand", "kubectl", false)
	result := s.apply(t, teardownSteps(t)[:10])
	want := slices.Insert(orderedTeardown("delete"), 1, "delete LLMInferenceService model-serving/ready", "delete LLMInferenceService model-serving/terminating")
	if diff := cmp.Diff(want, actions(result.Changes)); diff != "" || result.Partial {
		t.Errorf("%s%v", diff, result)
	}
	left, err := s.target.Resource(modelResource).Namespace("model-serving").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) != 1 || left.Items[0].GetName() != "by-hand" || left.Items[0].GetDeletionTimestamp() != nil {
		t.Errorf("%v, %v", left, err)
	}
	for _, write := range s.wire.writes {
		if strings.Contains(write, "llminferenceservice") && !strings.Contains(write, "/v1alpha2/") {
			t.Error(write)
		}
	}
}

// A removal that the webhook still denies is tried again; what belongs to another slice is left alone.
func TestAPurgeIsTriedAgainAndOthersChildrenStay(t *testing.T) {
	s := servingScene(t)
	steps := teardownSteps(t)[:10]
	steps = slices.Delete(steps, 1, 2)
	s.webhook(t)
	s.controllerGoes(t, 5)
	theirs := reference("helm.toolkit.fluxcd.io/v2", "HelmRelease", "org-acme", "wc1-kserve-runtime-configs", map[string]string{"helm.toolkit.fluxcd.io/name": "another", "helm.toolkit.fluxcd.io/namespace": "org-acme"})
	children := s.installation.Resource(clustermanager.HelmAPI.WithResource("helmreleases")).Namespace("org-acme")
	if _, err := children.Patch(t.Context(), theirs.GetName(), types.MergePatchType, []byte(`{"metadata":{"labels":{"helm.toolkit.fluxcd.io/name":"another"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	result := s.apply(t, steps)
	want := slices.DeleteFunc(orderedTeardown("delete"), func(line string) bool { return strings.HasSuffix(line, "runtime-configs") })
	if diff := cmp.Diff(want, actions(result.Changes)); diff != "" || result.Partial || len(s.clock.waits) < 5 {
		t.Errorf("%s%v %v", diff, result, s.clock.waits)
	}
	if _, err := children.Get(t.Context(), theirs.GetName(), metav1.GetOptions{}); err != nil {
		t.Errorf("another slice's child: %v", err)
	}
}

func TestAChildThatIsStuckIsAskedToTryAgain(t *testing.T) {
	stuck := strings.Replace(servingObjects, "{name: wc1-kserve-llmisvc-resources, namespace: org-acme,", `{name: wc1-kserve-llmisvc-resources, namespace: org-acme, finalizers: [finalizers.fluxcd.io], deletionTimestamp: "2026-08-01T09:00:00Z",`, 1)
	stuck = strings.Replace(stuck, "helm.toolkit.fluxcd.io/namespace: org-acme}}\nspec: {interval: 10m}\n---", "helm.toolkit.fluxcd.io/namespace: org-acme}}\nspec: {interval: 10m}\nstatus: {conditions: [{type: Ready, status: \"False\", reason: UninstallFailed}]}\n---", 1)
	s := newScene(t, stuck, targetObjects)
	result := s.apply(t, teardownSteps(t)[:1])
	if diff := cmp.Diff([]string{"terminating HelmRelease org-acme/wc1-kserve-llmisvc-resources"}, actions(result.Changes)); diff != "" {
		t.Error(diff)
	}
	if want := "HelmRelease org-acme/wc1-kserve-llmisvc-resources: its removal stands at UninstallFailed, and it was asked to try again"; !slices.Equal(result.Warnings, []string{want}) {
		t.Errorf("%q", result.Warnings)
	}
	child, err := s.installation.Resource(clustermanager.HelmAPI.WithResource("helmreleases")).Namespace("org-acme").Get(t.Context(), "wc1-kserve-llmisvc-resources", metav1.GetOptions{})
	if err != nil || child.GetAnnotations()[clustermanager.AnnotationRequestedAt] != begin.Format(time.RFC3339Nano) || len(s.wire.writes) != 1 {
		t.Errorf("%v, %v, %v", child.GetAnnotations(), err, s.wire.writes)
	}
}

func TestRetire(t *testing.T) {
	const mark = "2026-08-01T10:00:00Z: holds PersistentVolumeClaim model-serving/hf-cache"
	steps := teardownSteps(t)[11:]
	t.Run("nothing in it", func(t *testing.T) {
		s := servingScene(t)
		if got := actions(s.plan(t, steps).Preview().Changes); !slices.Equal(got, []string{"would-delete Namespace model-serving"}) {
			t.Error(got)
		}
		if got := actions(s.apply(t, steps).Changes); !slices.Equal(got, []string{"delete Namespace model-serving"}) {
			t.Error(got)
		}
		if result := s.apply(t, steps); len(result.Changes) > 0 || result.Partial {
			t.Errorf("once it is gone: %v", result)
		}
	})
	t.Run("a claim in it", func(t *testing.T) {
		s := servingScene(t)
		s.claim(t)
		result := s.apply(t, steps)
		warning := "Namespace model-serving: it is kept, since it holds PersistentVolumeClaim model-serving/hf-cache; it has been marked as retired"
		if got := actions(result.Changes); !slices.Equal(got, []string{"retire Namespace model-serving"}) || !slices.Equal(result.Warnings, []string{warning}) {
			t.Errorf("%v %q", got, result.Warnings)
		}
		live, err := s.target.Resource(namespaceResource).Get(t.Context(), "model-serving", metav1.GetOptions{})
		if err != nil || live.GetAnnotations()[clustermanager.AnnotationRetired] != mark {
			t.Errorf("%v, %v", live.GetAnnotations(), err)
		}
		s.wire.reset()
		result = s.apply(t, steps)
		if got := actions(result.Changes); !slices.Equal(got, []string{"unchanged Namespace model-serving"}) || len(s.wire.writes) > 0 || !slices.Equal(result.Warnings, []string{warning}) {
			t.Errorf("%v %q %v", got, result.Warnings, s.wire.writes)
		}
	})
	t.Run("another's", func(t *testing.T) {
		s := servingScene(t)
		if _, err := s.target.Resource(namespaceResource).Patch(t.Context(), "model-serving", types.MergePatchType, []byte(`{"metadata":{"labels":null}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		s.wire.reset()
		if result := s.apply(t, steps); len(result.Changes) > 0 || len(s.wire.writes) > 0 {
			t.Errorf("%v %v", result, s.wire.writes)
		}
	})
	t.Run("its release is there when the time is over", func(t *testing.T) {
		s := newScene(t, servingObjects+"---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: wc1-agent-platform-connectivity, namespace: org-acme}\n", targetObjects)
		result := s.apply(t, teardownSteps(t)[10:])
		if got := actions(result.Changes); !slices.Equal(got, []string{"pending Namespace model-serving"}) || !result.Partial || !strings.HasPrefix(result.NextStep, "HelmRelease org-acme/wc1-agent-platform-connectivity is still there: 0 done, 1 pending") {
			t.Errorf("%v %s", got, result.NextStep)
		}
	})
}

const gatewayObjects = targetObjects + `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: httproutes.gateway.networking.k8s.io}
spec: {group: gateway.networking.k8s.io, names: {kind: HTTPRoute, plural: httproutes}, scope: Namespaced, versions: [{name: v1, served: true, storage: true}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gateways.gateway.networking.k8s.io}
spec: {group: gateway.networking.k8s.io, names: {kind: Gateway, plural: gateways}, scope: Namespaced, versions: [{name: v1, served: true, storage: true}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: models, namespace: agent-platform, labels: {helm.toolkit.fluxcd.io/name: wc1-agent-platform-connectivity, helm.toolkit.fluxcd.io/namespace: org-acme}}
`

// gatewaySteps remove the Gateway API, unless an object of it is not of the cluster's releases.
func gatewaySteps() []clustermanager.Step {
	const api = "gateway.networking.k8s.io/v1"
	except := []clustermanager.Match{{Labels: map[string]string{"helm.toolkit.fluxcd.io/name": "wc1-agent-platform-connectivity", "helm.toolkit.fluxcd.io/namespace": "org-acme"}}}
	holders := []clustermanager.Selection{{APIVersion: api, Kind: "HTTPRoute", Except: except}, {APIVersion: api, Kind: "Gateway", Except: except}}
	var steps []clustermanager.Step
	for _, name := range []string{"httproutes", "gateways"} {
		steps = append(steps, clustermanager.Step{
			Verb: clustermanager.Remove, Lane: clustermanager.Teardown, At: clustermanager.AtTarget, Ownership: clustermanager.Labelled,
			Object:  reference("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name+".gateway.networking.k8s.io", nil),
			Holders: holders, Optional: true,
		})
	}
	return steps
}

func TestTheGatewayAPIGoesUnlessItIsUsed(t *testing.T) {
	const both = "CustomResourceDefinition httproutes.gateway.networking.k8s.io, CustomResourceDefinition gateways.gateway.networking.k8s.io: left as they are: "
	for name, test := range map[string]struct {
		prepare        func(t *testing.T, s *scene)
		want, warnings []string
	}{
		"the slice's objects alone": {nil, []string{
			"delete CustomResourceDefinition httproutes.gateway.networking.k8s.io", "delete CustomResourceDefinition gateways.gateway.networking.k8s.io",
		}, nil},
		"another's Gateway": {func(t *testing.T, s *scene) {
			gateway := reference("gateway.networking.k8s.io/v1", "Gateway", "shop", "web", nil)
			gateways := schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"}
			if _, err := s.target.Resource(gateways).Namespace("shop").Create(t.Context(), gateway, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}, nil, []string{both + "it is used by Gateway shop/web"}},
		"forbidden": {func(_ *testing.T, s *scene) {
			s.wire.instead = func(int, *http.Request, func() (*http.Response, error)) (*http.Response, error, bool) {
				return status(http.StatusForbidden, metav1.StatusReasonForbidden), nil, true
			}
		}, nil, []string{
			"CustomResourceDefinition gateways.gateway.networking.k8s.io: left as it is: CustomResourceDefinition gateways.gateway.networking.k8s.io: deleting: Forbidden",
			"CustomResourceDefinition httproutes.gateway.networking.k8s.io: left as it is: CustomResourceDefinition httproutes.gateway.networking.k8s.io: deleting: Forbidden",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, servingObjects, gatewayObjects)
			if test.prepare != nil {
				test.prepare(t, s)
			}
			result := s.apply(t, gatewaySteps())
			if diff := cmp.Diff(test.want, actions(result.Changes)); diff != "" || result.Partial {
				t.Errorf("%s%v", diff, result)
			}
			if diff := cmp.Diff(test.warnings, result.Warnings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A node that nobody uses goes first; who may not do that is told what else there is, and nothing is touched.
func TestAForbiddenFirstStepIsRefusedWithItsWayOut(t *testing.T) {
	node := "\n---\napiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {name: %s, labels: {karpenter.sh/nodepool: %s}}\n"
	claims := strings.NewReplacer("%s", "idle-1").Replace(strings.Replace(node, "nodepool: %s", "nodepool: wc1-gpu-l4", 1)) +
		strings.NewReplacer("%s", "foreign").Replace(strings.Replace(node, "nodepool: %s", "nodepool: other", 1))
	s := newScene(t, servingObjects, targetObjects+claims)
	var steps []clustermanager.Step
	for _, name := range []string{"idle-1", "foreign"} {
		steps = append(steps, clustermanager.Step{
			Verb: clustermanager.Remove, Lane: clustermanager.Teardown, At: clustermanager.AtTarget, Ownership: clustermanager.Labelled,
			Object: reference("karpenter.sh/v1", "NodeClaim", "", name, map[string]string{"karpenter.sh/nodepool": "wc1-gpu-l4"}),
			WayOut: "ask for the right to delete NodeClaims, or wait until Karpenter has taken the node",
		})
	}
	steps = append(steps, teardownSteps(t)[:10]...)
	s.wire.instead = func(int, *http.Request, func() (*http.Response, error)) (*http.Response, error, bool) {
		return status(http.StatusForbidden, metav1.StatusReasonForbidden), nil, true
	}
	_, err := live.Apply(t.Context(), s.plan(t, steps), s.options())
	if want := "NodeClaim idle-1: you may not delete or change it: ask for the right to delete NodeClaims, or wait until Karpenter has taken the node"; clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if len(s.wire.writes) != 1 {
		t.Error(s.wire.writes)
	}
	s.wire.reset()
	s.controllerGoes(t, 1)
	if got := actions(s.apply(t, steps).Changes); got[0] != "delete NodeClaim idle-1" || got[1] != orderedTeardown("delete")[0] {
		t.Error(got)
	}
}
