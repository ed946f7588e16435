package survey_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/survey"
)

var (
	acme = clustermanager.Cluster{Namespace: "org-acme", Name: "wc1", Organization: "acme"}
	own  = clustermanager.Cluster{Namespace: "org-giantswarm", Name: "gazelle", Organization: "giantswarm", Own: true}
)

// kubeconfig is what the Cluster API would write for wc1. Made for the test.
const kubeconfig = `
apiVersion: v1
kind: Secret
metadata: {name: wc1-kubeconfig, namespace: org-acme}
data: {value: YXBpVmVyc2lvbjogdjEKa2luZDogQ29uZmlnCmNsdXN0ZXJzOgotIG5hbWU6IHdjMQogIGNsdXN0ZXI6IHtzZXJ2ZXI6ICJodHRwczovL2FwaS53YzEuYWNtZS5leGFtcGxlLmlvOjY0NDMiLCBjZXJ0aWZpY2F0ZS1hdXRob3JpdHktZGF0YTogTFMwdExTMUNSVWRKVGlCRFJWSlVTVVpKUTBGVVJTMHRMUzB0Q2sxSlNVSm1hWGgwZFhKbENpMHRMUzB0UlU1RUlFTkZVbFJKUmtsRFFWUkZMUzB0TFMwS30KdXNlcnM6Ci0gbmFtZTogYWRtaW4KICB1c2VyOiB7dG9rZW46IG1hZGUtZm9yLXRoZS10ZXN0fQo=}
`

// workload is the snapshot with a reachable, empty workload cluster.
func workload(t *testing.T) files {
	return snapshot(t).add(kubeconfig).target("apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n")
}

// reading is a table's row: what one reader makes of a snapshot.
type reading[T any] struct {
	name  string
	files files
	over  *wire
	want  T
	// fault is a part of the error, refused its class.
	fault   string
	refused bool
}

func check[T any](t *testing.T, read func(r *survey.Reader, ctx context.Context) (T, error), rows []reading[T]) {
	t.Helper()
	for _, test := range rows {
		t.Run(test.name, func(t *testing.T) {
			got, err := read(test.files.reader(t, test.over), t.Context())
			fact := clustermanager.Read(got, err)
			if test.fault != "" {
				if !strings.Contains(fact.Reason(), test.fault) {
					t.Errorf("%q, want %q", fact.Reason(), test.fault)
				}
				if reason := clustermanager.ReasonOf(fact.Err()); (reason == clustermanager.ReasonRefused) != test.refused {
					t.Errorf("the class is %s", reason)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.Comparer(equalValues), cmp.Comparer(equalReadings[string]), cmp.Comparer(equalReadings[bool])); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func equalValues(a, b clustermanager.Values) bool { return cmp.Equal(a.Reveal(), b.Reveal()) }

func equalReadings[T comparable](a, b clustermanager.Reading[T]) bool {
	var none T
	return a.Or(none) == b.Or(none) && a.Reason() == b.Reason()
}

func of[T any](read func(*survey.Reader, context.Context, clustermanager.Cluster) (T, error), cluster clustermanager.Cluster) func(*survey.Reader, context.Context) (T, error) {
	return func(r *survey.Reader, ctx context.Context) (T, error) { return read(r, ctx, cluster) }
}

// unreadable is the rows that every reader of the workload cluster has.
func unreadable[T any](t *testing.T, request, named string) []reading[T] {
	return []reading[T]{
		{name: "no kubeconfig", files: snapshot(t), fault: "Secret org-acme/wc1-kubeconfig: reading: it does not exist"},
		{name: "no cluster", files: snapshot(t).add(kubeconfig), fault: "Cluster org-acme/wc1: connecting: cluster wc1: cannot be read"},
		{name: "forbidden", files: workload(t), over: &wire{forbid: []string{request}}, fault: named + " on cluster org-acme/wc1: reading: forbidden by the test"},
		{name: "failing", files: workload(t), over: &wire{fail: []string{request}}, fault: named + " on cluster org-acme/wc1: reading: internalerror by the test"},
	}
}

const sliceObjects = `
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: wc1-agent-platform
  namespace: org-acme
  labels: {app.kubernetes.io/name: agent-platform, app.kubernetes.io/managed-by: cluster-manager, giantswarm.io/cluster: wc1}
spec: {values: {modelServing: {cache: {enabled: false}}}}
status: {history: [{chartVersion: 4.86.0+1c7eb3256e07}, {chartVersion: 4.85.0}]}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: wc1-agent-platform, namespace: org-acme}
spec: {url: "oci://registry.example.io/charts/agent-platform", ref: {semver: ">=4.85.0 <5.0.0"}}
`

func TestSlice(t *testing.T) {
	source := "---\n" + strings.SplitN(sliceObjects, "---\n", 2)[1]
	slice := func(change func(*clustermanager.Slice)) *clustermanager.Slice {
		made := &clustermanager.Slice{
			Cluster: "wc1", Release: clustermanager.NamespacedName{Namespace: "org-acme", Name: "wc1-agent-platform"}, Owned: true,
			Values: clustermanager.NewValues(map[string]any{"modelServing": map[string]any{"cache": map[string]any{"enabled": false}}}),
			Range:  ">=4.85.0 <5.0.0", Deployed: "4.86.0+1c7eb3256e07",
		}
		change(made)
		return made
	}
	check(t, of(survey.SliceOf, acme), []reading[*clustermanager.Slice]{
		{name: "none", files: snapshot(t)},
		{name: "one", files: snapshot(t).add(sliceObjects), want: slice(func(*clustermanager.Slice) {})},
		{name: "not ours", files: snapshot(t).add(strings.Replace(sliceObjects, "managed-by: cluster-manager", "managed-by: Helm", 1))},
		{name: "an exact version, nothing deployed", files: snapshot(t).add(strings.NewReplacer(`semver: ">=4.85.0 <5.0.0"`, "tag: 4.44.1", "status: {history", "status: {none").Replace(sliceObjects)),
			want: slice(func(s *clustermanager.Slice) { s.Range, s.Tag, s.Deployed = "", "4.44.1", "" })},
		{name: "without its source", files: snapshot(t).add(strings.TrimSuffix(sliceObjects, source)),
			want: slice(func(s *clustermanager.Slice) { s.Range, s.Removing = "", true })},
		{name: "being deleted", files: snapshot(t).add(strings.Replace(sliceObjects, "  namespace: org-acme\n", "  namespace: org-acme\n  deletionTimestamp: 2026-08-01T09:00:00Z\n  finalizers: [a/b]\n", 1)),
			want: slice(func(s *clustermanager.Slice) { s.Removing = true })},
		{name: "forbidden", files: snapshot(t).add(sliceObjects), over: &wire{forbid: []string{"/helmreleases/wc1-agent-platform$"}},
			fault: "HelmRelease org-acme/wc1-agent-platform: reading: forbidden by the test"},
		{name: "its source forbidden", files: snapshot(t).add(sliceObjects), over: &wire{forbid: []string{"/ocirepositories/"}},
			fault: "OCIRepository org-acme/wc1-agent-platform: reading: forbidden by the test"},
	})
}

func TestOtherSlices(t *testing.T) {
	two := strings.ReplaceAll(sliceObjects, "wc1", "wc2") + "---" + sliceObjects
	foreign := "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: agent-platform, namespace: org-acme, labels: {app.kubernetes.io/name: agent-platform}}\n"
	check(t, of(survey.OtherSlices, acme), []reading[[]clustermanager.Slice]{
		{name: "none", files: snapshot(t).add(sliceObjects), want: []clustermanager.Slice{}},
		{name: "one", files: snapshot(t).add(two + foreign), want: []clustermanager.Slice{{
			Cluster: "wc2", Release: clustermanager.NamespacedName{Namespace: "org-acme", Name: "wc2-agent-platform"}, Owned: true,
			Values: clustermanager.NewValues(map[string]any{"modelServing": map[string]any{"cache": map[string]any{"enabled": false}}}),
			Range:  ">=4.85.0 <5.0.0", Deployed: "4.86.0+1c7eb3256e07",
		}}},
		{name: "forbidden", files: snapshot(t), over: &wire{forbid: []string{"labelSelector=app.kubernetes.io%2Fname%3Dagent-platform"}},
			fault: "every HelmRelease in org-acme: reading: forbidden by the test"},
	})
}

func TestSecondSlice(t *testing.T) {
	second := strings.ReplaceAll(strings.Replace(sliceObjects, "app.kubernetes.io/name: agent-platform, ", "", 1), "name: wc1-agent-platform", "name: hand-made")
	second = strings.Replace(second, "spec: {values", "spec: {chartRef: {kind: OCIRepository, name: hand-made}, values", 1)
	check(t, func(r *survey.Reader, ctx context.Context) (bool, error) {
		return true, survey.CheckSecondSlice(r, ctx, acme, clustermanager.NamespacedName{Namespace: "org-acme", Name: "agent-platform"})
	}, []reading[bool]{
		{name: "none", files: snapshot(t).add(sliceObjects), want: true},
		{name: "another cluster's", files: snapshot(t).add(strings.ReplaceAll(second, "cluster: wc1", "cluster: wc2")), want: true},
		{name: "the platform and a child of the slice", files: snapshot(t).add(sliceObjects + "---" + strings.ReplaceAll(second, "hand-made", "agent-platform") + "---" +
			strings.Replace(strings.SplitN(second, "---", 2)[0], "giantswarm.io/cluster: wc1", "giantswarm.io/cluster: wc1, app.kubernetes.io/name: agent-platform, helm.toolkit.fluxcd.io/name: wc1-agent-platform, helm.toolkit.fluxcd.io/namespace: org-acme", 1)), want: true},
		{name: "by the URL of its source", files: snapshot(t).add(second), refused: true,
			fault: "HelmRelease org-acme/hand-made: it is a release of the chart agent-platform for cluster wc1 under another name than wc1-agent-platform"},
		{name: "sources forbidden", files: snapshot(t).add(second), over: &wire{forbid: []string{"/ocirepositories$"}},
			fault: "every OCIRepository in org-acme: reading: forbidden by the test"},
	})
}

func platformObjects(name, chart string) string {
	return fmt.Sprintf(`
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: %[1]s, namespace: flux-giantswarm}
spec:
  %[2]s
  valuesFrom:
  - {kind: ConfigMap, name: platform-values}
  - {kind: Secret, name: platform-secret-values}
  values:
    global: {domain: gazelle.example.io}
    gateway: {jwksEgress: {port: 5557, namespace: dex}}
status: {history: [{chartVersion: 4.85.0+abc, namespace: agent-platform}]}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: the-platform, namespace: flux-giantswarm}
spec: {url: "oci://registry.example.io/charts/agent-platform"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: platform-values, namespace: flux-giantswarm}
data:
  values.yaml: |
    global:
      domain: below.example.io
      identity: {issuerUrl: "https://dex.gazelle.example.io", clientId: dex-k8s-authenticator, existingSecret: agent-platform-identity}
    gatewayApi: {gateway: {tls: {secretName: gazelle-wildcard-tls}}}
    components: {substrate: {targetNamespace: ate}}
---
# made for the test
apiVersion: v1
kind: Secret
metadata: {name: platform-secret-values, namespace: flux-giantswarm}
stringData: {values.yaml: "global: {domain: made-for-the-test}"}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: model-manager
  namespace: flux-giantswarm
  labels: {app.kubernetes.io/name: model-manager, helm.toolkit.fluxcd.io/name: %[1]s, helm.toolkit.fluxcd.io/namespace: flux-giantswarm}
status: {history: [{chartVersion: 1.12.0}]}
`, name, chart)
}

func TestPlatform(t *testing.T) {
	const byReference, byChart = "chartRef: {kind: OCIRepository, name: the-platform}", "chart: {spec: {chart: agent-platform}}"
	platform := func(name string, change func(*clustermanager.Platform)) clustermanager.Platform {
		made := clustermanager.Platform{
			Release: clustermanager.NamespacedName{Namespace: "flux-giantswarm", Name: name}, ChartVersion: "4.85.0+abc", Domain: "gazelle.example.io",
			Identity:  map[string]any{"issuerUrl": "https://dex.gazelle.example.io", "clientId": "dex-k8s-authenticator", "existingSecret": "agent-platform-identity"},
			TLSSecret: "gazelle-wildcard-tls", DexNamespace: "dex", DexPort: 5557, Namespace: "agent-platform", SubstrateNamespace: "ate",
			ModelManagerVersion: clustermanager.Known("1.12.0"),
		}
		change(&made)
		return made
	}
	same := func(*clustermanager.Platform) {}
	unknown := func(reason string) func(*clustermanager.Platform) {
		return func(p *clustermanager.Platform) { p.ModelManagerVersion = clustermanager.Unknown[string](reason) }
	}
	const child = `---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: a-child, namespace: flux-giantswarm, labels: {app.kubernetes.io/name: agent-platform, helm.toolkit.fluxcd.io/name: core, helm.toolkit.fluxcd.io/namespace: flux-giantswarm}}
`
	named := platformObjects("agent-platform", byReference)
	check(t, survey.Platform, []reading[clustermanager.Platform]{
		{name: "by the URL of its source", files: snapshot(t).add(named), want: platform("agent-platform", same)},
		{name: "of another name, beside our own slice and a child", files: snapshot(t).add(platformObjects("core", byChart) + "---" + sliceObjects + child), want: platform("core", same)},
		{name: "the one of the chart's name wins", files: snapshot(t).add(named + "---" + strings.ReplaceAll(sliceObjects, "managed-by: cluster-manager", "managed-by: Helm")),
			want: platform("agent-platform", same)},
		{name: "its own namespace for workloads", files: snapshot(t).add(strings.Replace(named, "    global: {domain", "    gitops: {targetNamespace: elsewhere}\n    global: {domain", 1)),
			want: platform("agent-platform", func(p *clustermanager.Platform) { p.Namespace = "elsewhere" })},
		{name: "nothing deployed", files: snapshot(t).add(strings.Replace(named, "status: {history: [{chartVersion: 4.85.0+abc, namespace: agent-platform}]}", "", 1)),
			want: platform("agent-platform", func(p *clustermanager.Platform) { p.ChartVersion, p.Namespace = "", "" })},
		{name: "no model-manager", files: snapshot(t).add(strings.Replace(named, "name: model-manager, helm", "name: other, helm", 1)),
			want: platform("agent-platform", unknown("HelmRelease flux-giantswarm/agent-platform: finding its release of the chart model-manager: it rendered 0"))},
		{name: "model-manager forbidden", files: snapshot(t).add(named), over: &wire{forbid: []string{"labelSelector=helm.toolkit"}},
			want: platform("agent-platform", unknown("every HelmRelease: reading: forbidden by the test"))},
		{name: "none", files: snapshot(t).add(sliceObjects), refused: true, fault: "the installation has no HelmRelease of the chart agent-platform of its own"},
		{name: "several", files: snapshot(t).add(platformObjects("one", byChart)).add(strings.ReplaceAll(platformObjects("two", byChart), "namespace: flux-giantswarm", "namespace: other")), refused: true,
			fault: "(flux-giantswarm/one, other/two)"},
		{name: "no domain", files: snapshot(t).add(strings.NewReplacer("global: {domain: gazelle.example.io}", "global: {}", "      domain: below.example.io\n", "").Replace(named)), refused: true,
			fault: "HelmRelease flux-giantswarm/agent-platform: its values name no global.domain"},
		{name: "malformed", files: snapshot(t).add(strings.Replace(named, "port: 5557", "port: many", 1)),
			fault: "HelmRelease flux-giantswarm/agent-platform: reading its values: gateway.jwksEgress.port is no number"},
		{name: "forbidden", files: snapshot(t).add(named), over: &wire{forbid: []string{"/helmreleases?fieldSelector"}}, fault: "every HelmRelease: reading: forbidden by the test"},
		{name: "its values forbidden", files: snapshot(t).add(named), over: &wire{forbid: []string{"/configmaps/platform-values"}},
			fault: "HelmRelease flux-giantswarm/agent-platform: ConfigMap flux-giantswarm/platform-values: reading: forbidden by the test"},
	})
}

func TestGatewayAPI(t *testing.T) {
	check(t, of(survey.GatewayAPI, acme), append(unreadable[clustermanager.GatewayAPI](t, "/customresourcedefinitions/", "CustomResourceDefinition gateways.gateway.networking.k8s.io"), []reading[clustermanager.GatewayAPI]{
		{name: "absent", files: workload(t)},
		{name: "installed", files: workload(t).target(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gateways.gateway.networking.k8s.io
  annotations:
    gateway.networking.k8s.io/bundle-version: v1.6.1
    gateway.networking.k8s.io/channel: standard
    cluster-manager.giantswarm.io/gateway-api-composed-by: org-acme/wc1-agent-platform
`), want: clustermanager.GatewayAPI{Installed: true, Version: "v1.6.1", Channel: "standard", ComposedBy: "org-acme/wc1-agent-platform"}},
	}...))
}

func TestBackends(t *testing.T) {
	const documents = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: model-backend-kserve-wc1
  namespace: agent-platform
  labels: {agent-platform.giantswarm.io/model-backend: "true", app.kubernetes.io/managed-by: cluster-manager, giantswarm.io/cluster: wc1}
data:
  backend.yaml: |
    metadata: {name: kserve-wc1}
    spec: {kserve: {target: {organization: acme}}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: model-backend-kserve
  namespace: agent-platform
  labels: {agent-platform.giantswarm.io/model-backend: "true", giantswarm.io/cluster: gazelle}
data: {backend.yaml: "metadata: {name: kserve}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: of-nobody, namespace: agent-platform, labels: {agent-platform.giantswarm.io/model-backend: "true"}}
data: {backend.yaml: "- a"}
`
	at := func(name string) clustermanager.NamespacedName {
		return clustermanager.NamespacedName{Namespace: "agent-platform", Name: name}
	}
	check(t, of(survey.Backends, wc1Cluster), []reading[[]clustermanager.Backend]{
		{name: "another cluster's is malformed", files: snapshot(t).add(strings.Replace(documents, "metadata: {name: kserve}", "- a", 1)), want: []clustermanager.Backend{
			{ConfigMap: at("model-backend-kserve-wc1"), Name: "kserve-wc1", Cluster: "wc1", Organization: "acme", Owned: true,
				Document: "metadata: {name: kserve-wc1}\nspec: {kserve: {target: {organization: acme}}}\n"},
		}},
	})
	check(t, of(survey.Backends, own), []reading[[]clustermanager.Backend]{
		{name: "none", files: snapshot(t), want: []clustermanager.Backend{}},
		{name: "two", files: snapshot(t).add(documents), want: []clustermanager.Backend{
			{ConfigMap: at("model-backend-kserve"), Name: "kserve", Cluster: "gazelle", Document: "metadata: {name: kserve}"},
			{ConfigMap: at("model-backend-kserve-wc1"), Name: "kserve-wc1", Cluster: "wc1", Organization: "acme", Owned: true,
				Document: "metadata: {name: kserve-wc1}\nspec: {kserve: {target: {organization: acme}}}\n"},
		}},
		{name: "malformed", files: snapshot(t).add(strings.Replace(documents, "metadata: {name: kserve}", "made-for-the-test", 1)),
			fault: "ConfigMap agent-platform/model-backend-kserve: reading its backend: key backend.yaml holds no YAML mapping"},
		{name: "without a name", files: snapshot(t).add(strings.Replace(documents, "metadata: {name: kserve}", "metadata: {}", 1)),
			fault: "ConfigMap agent-platform/model-backend-kserve: reading its backend: it has no metadata.name"},
		{name: "forbidden", files: snapshot(t), over: &wire{forbid: []string{"/agent-platform/configmaps"}}, fault: "every ConfigMap in agent-platform: reading: forbidden by the test"},
	})
}

func TestPresets(t *testing.T) {
	const documents = `
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: one, labels: {agent-platform.giantswarm.io/serving-preset: "true"}}
data: {preset.yaml: "metadata: {name: qwen}\nspec: {resources: {requests: {cpu: 2, memory: 10Gi}}, requirements: {weightsGiB: 16}}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: two, labels: {agent-platform.giantswarm.io/serving-preset: "true"}}
data: {preset.yaml: "metadata: {name: gemma}"}
`
	check(t, of(survey.Presets, acme), append(unreadable[[]clustermanager.Preset](t, "/configmaps?", "every ConfigMap"), []reading[[]clustermanager.Preset]{
		{name: "none", files: workload(t).add(documents), want: []clustermanager.Preset{}},
		{name: "two", files: workload(t).target(documents), want: []clustermanager.Preset{
			{Name: "gemma", GPUs: 1, OverheadGiB: 30}, {Name: "qwen", CPU: "2", Memory: "10Gi", GPUs: 1, WeightsGiB: 16, OverheadGiB: 30},
		}},
		{name: "malformed", files: workload(t).target(strings.Replace(documents, "metadata: {name: gemma}", "- a", 1)),
			fault: "ConfigMap two/a: reading its preset: it is no YAML mapping"},
	}...))
}

const claimObjects = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: hf-cache, namespace: model-serving, creationTimestamp: 2026-07-01T10:00:00Z}
spec: {volumeName: pv-1, storageClassName: cache, resources: {requests: {storage: 50Gi}}}
status: {phase: Bound, capacity: {storage: 100Gi}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-1}
spec:
  persistentVolumeReclaimPolicy: Retain
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions:
        - {key: failure-domain.beta.kubernetes.io/zone, operator: In, values: [legacy]}
        - {key: other, operator: In, values: [x]}
        - {key: topology.kubernetes.io/zone, operator: In, values: [eu-central-1b, eu-central-1c]}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: cache}
provisioner: ebs.csi.aws.com
parameters: {type: gp3, iops: "3000", throughput: "500"}
`

func TestCacheClaims(t *testing.T) {
	claim := func(change func(*clustermanager.CacheClaim)) []clustermanager.CacheClaim {
		made := clustermanager.CacheClaim{
			Namespace: "model-serving", Name: "hf-cache", Phase: "Bound", Volume: "pv-1", Zone: "eu-central-1b",
			Capacity: "100Gi", CapacityGiB: 100, StorageClass: "cache", Tier: &clustermanager.VolumeTier{Type: "gp3", IOPS: 3000, ThroughputMiBs: 500},
			TierSource: "storageClass", ReclaimPolicy: "Retain", Created: new(time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC)),
		}
		change(&made)
		return []clustermanager.CacheClaim{made}
	}
	with := func(pairs ...string) files {
		return workload(t).target(strings.NewReplacer(pairs...).Replace(claimObjects))
	}
	const annotated = "metadata: {name: hf-cache, annotations: {agent-platform.giantswarm.io/volume-type: io2, agent-platform.giantswarm.io/volume-iops: \"4000\"}, "
	annotations := func(c *clustermanager.CacheClaim) {
		c.Tier, c.TierSource = &clustermanager.VolumeTier{Type: "io2", IOPS: 4000}, "claimAnnotations"
	}
	check(t, of(survey.CacheClaims, acme), append(unreadable[[]clustermanager.CacheClaim](t, "/persistentvolumeclaims$", "every PersistentVolumeClaim in model-serving"), []reading[[]clustermanager.CacheClaim]{
		{name: "none", files: workload(t), want: []clustermanager.CacheClaim{}},
		{name: "bound", files: with(), want: claim(func(*clustermanager.CacheClaim) {})},
		{name: "the class counts, whatever the annotations", files: with("metadata: {name: hf-cache, ", annotated), want: claim(func(*clustermanager.CacheClaim) {})},
		{name: "a class without a type", files: with("type: gp3, ", "", "metadata: {name: hf-cache, ", annotated), want: claim(func(c *clustermanager.CacheClaim) {
			c.Tier, c.TierSource, c.TierNote = nil, "", "StorageClass cache: it names no type"
		})},
		{name: "a class with fewer operations than none", files: with("iops: \"3000\"", "iops: \"-3000\""), want: claim(func(c *clustermanager.CacheClaim) {
			c.Tier, c.TierSource, c.TierNote = nil, "", `StorageClass cache: its iops "-3000" is no count`
		})},
		{name: "an annotation that is no number", files: with("{name: cache}", "{name: other}", "metadata: {name: hf-cache, ", strings.Replace(annotated, `"4000"`, "some", 1)), want: claim(func(c *clustermanager.CacheClaim) {
			c.Tier, c.TierSource = nil, ""
			c.TierNote = `StorageClass cache on cluster org-acme/wc1: reading: it does not exist, and of the claim's annotations iops "some" is no count`
		})},
		{name: "a size that is none", files: with("storage: 100Gi", "storage: much"), want: claim(func(c *clustermanager.CacheClaim) {
			*c = clustermanager.CacheClaim{Namespace: c.Namespace, Name: c.Name, Phase: c.Phase, Volume: c.Volume, StorageClass: c.StorageClass, Capacity: "much",
				Error: "PersistentVolumeClaim model-serving/hf-cache on cluster org-acme/wc1: reading: status.capacity.storage is no quantity"}
		})},
		{name: "a class that is gone", files: with("{name: cache}", "{name: other}", "metadata: {name: hf-cache, ", annotated), want: claim(annotations)},
		{name: "a class that may not be read", files: with("metadata: {name: hf-cache, ", annotated), over: &wire{forbid: []string{"/storageclasses/"}}, want: claim(annotations)},
		{name: "neither", files: with("{name: cache}", "{name: other}"), want: claim(func(c *clustermanager.CacheClaim) {
			c.Tier, c.TierSource = nil, ""
			c.TierNote = "StorageClass cache on cluster org-acme/wc1: reading: it does not exist, and the claim has no annotation agent-platform.giantswarm.io/volume-type"
		})},
		{name: "no class named", files: with(", storageClassName: cache", ""), want: claim(func(c *clustermanager.CacheClaim) {
			c.StorageClass, c.Tier, c.TierSource = "", nil, ""
			c.TierNote = "the claim names no storage class, and the claim has no annotation agent-platform.giantswarm.io/volume-type"
		})},
		{name: "a volume with the legacy key alone", files: with("topology.kubernetes.io/zone", "none"), want: claim(func(c *clustermanager.CacheClaim) { c.Zone = "legacy" })},
		{name: "a volume without a zone", files: with("  nodeAffinity:\n", "  other:\n"), want: claim(func(c *clustermanager.CacheClaim) { c.Zone = "" })},
		{name: "a volume that may not be read", files: with(), over: &wire{forbid: []string{"/persistentvolumes/"}}, want: claim(func(c *clustermanager.CacheClaim) {
			c.Zone, c.ReclaimPolicy = "", ""
			c.Error = "PersistentVolume pv-1 on cluster org-acme/wc1: reading: forbidden by the test"
		})},
		{name: "pending, without a size", files: with("volumeName: pv-1, ", "", ", resources: {requests: {storage: 50Gi}}", "", "status: {phase: Bound, capacity: {storage: 100Gi}}", "status: {phase: Pending}"), want: claim(func(c *clustermanager.CacheClaim) {
			c.Phase, c.Volume, c.Zone, c.ReclaimPolicy, c.Capacity, c.CapacityGiB = "Pending", "", "", "", "", 0
		})},
		{name: "a requested size", files: with("status: {phase: Bound, capacity: {storage: 100Gi}}", "status: {phase: Bound}"), want: claim(func(c *clustermanager.CacheClaim) {
			c.Capacity, c.CapacityGiB = "50Gi", 50
		})},
		{name: "of another name", files: with("name: hf-cache, ", "name: hf-cached, "), want: []clustermanager.CacheClaim{}},
		{name: "of another namespace", files: with("namespace: model-serving", "namespace: other"), want: []clustermanager.CacheClaim{}},
	}...))
	sorted, err := survey.CacheClaims(with().target(strings.NewReplacer("{name: hf-cache,", "{name: hf-cache-eu-central-1a,", "pv-1", "pv-2", "{name: cache}", "{name: more}").Replace(claimObjects)).
		reader(t, nil), t.Context(), acme)
	if err != nil || len(sorted) != 2 || sorted[0].Name != "hf-cache" || sorted[1].Name != "hf-cache-eu-central-1a" {
		t.Errorf("%+v, %v", sorted, err)
	}
}

func TestServingNamespace(t *testing.T) {
	check(t, of(survey.ServingNamespace, acme), append(unreadable[*clustermanager.ServingNamespace](t, "/namespaces/model-serving$", "Namespace model-serving"), []reading[*clustermanager.ServingNamespace]{
		{name: "none", files: workload(t)},
		{name: "retired and being deleted", files: workload(t).target(`
apiVersion: v1
kind: Namespace
metadata:
  name: model-serving
  deletionTimestamp: 2026-08-01T09:00:00Z
  annotations: {cluster-manager.giantswarm.io/retired: "2026-08-01T08:00:00Z: claims"}
  labels: {helm.toolkit.fluxcd.io/name: wc1-agent-platform-connectivity, helm.toolkit.fluxcd.io/namespace: org-acme}
`), want: &clustermanager.ServingNamespace{
			Name: "model-serving", Deleting: true, Retired: "2026-08-01T08:00:00Z: claims",
			RenderedBy: clustermanager.NamespacedName{Namespace: "org-acme", Name: "wc1-agent-platform-connectivity"},
		}},
	}...))
}

// llmDefinition is the definition of a resource of KServe, stored in the second of its versions.
func llmDefinition(kind, plural string) string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.serving.kserve.io}
spec:
  group: serving.kserve.io
  scope: Namespaced
  names: {kind: %[1]s, plural: %[2]s}
  versions: [{name: v1alpha1, served: false, storage: false}, {name: v1alpha2, served: true, storage: true}]
---`, kind, plural)
}

func TestServingConfigs(t *testing.T) {
	configs := llmDefinition("LLMInferenceServiceConfig", "llminferenceserviceconfigs") + `
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceServiceConfig
metadata: {name: b, namespace: agent-platform, deletionTimestamp: 2026-08-01T09:00:00Z, finalizers: [a/b]}
---
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceServiceConfig
metadata: {name: a, namespace: agent-platform, deletionTimestamp: 2026-08-01T09:00:00Z, finalizers: [a/b]}
---
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceServiceConfig
metadata: {name: c, namespace: agent-platform}
---
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceServiceConfig
metadata: {name: d, namespace: other}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: llmisvc-controller-manager, namespace: agent-platform, labels: {control-plane: llmisvc-controller-manager}}
status: {readyReplicas: 1}
`
	read := func(r *survey.Reader, ctx context.Context) (clustermanager.ServingConfigs, error) {
		return survey.ServingConfigs(r, ctx, acme, "agent-platform")
	}
	found := func(runs clustermanager.Reading[bool]) clustermanager.ServingConfigs {
		return clustermanager.ServingConfigs{Namespace: "agent-platform", Count: 3, Terminating: []string{"a", "b"}, ControllerRuns: runs}
	}
	check(t, read, append(unreadable[clustermanager.ServingConfigs](t, "/customresourcedefinitions/", "CustomResourceDefinition llminferenceserviceconfigs.serving.kserve.io"), []reading[clustermanager.ServingConfigs]{
		{name: "not served", files: workload(t), want: clustermanager.ServingConfigs{Namespace: "agent-platform", ControllerRuns: clustermanager.Known(false)}},
		{name: "three", files: workload(t).target(configs), want: found(clustermanager.Known(true))},
		{name: "no ready controller", files: workload(t).target(strings.Replace(configs, "readyReplicas: 1", "readyReplicas: 0", 1)), want: found(clustermanager.Known(false))},
		{name: "a controller that may not be read", files: workload(t).target(configs), over: &wire{forbid: []string{"/deployments?"}}, want: found(clustermanager.Unknown[bool]("every Deployment on cluster org-acme/wc1: reading: forbidden by the test"))},
		{name: "forbidden configs", files: workload(t).target(configs), over: &wire{forbid: []string{"/agent-platform/llminferenceserviceconfigs"}},
			fault: "every LLMInferenceServiceConfig in agent-platform on cluster org-acme/wc1: reading: forbidden by the test"},
	}...))
}

func TestModels(t *testing.T) {
	const services = `
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: classic, namespace: other, labels: {app.kubernetes.io/managed-by: model-manager}}
spec: {predictor: {model: {storageUri: "hf://acme/classic"}}}
---
apiVersion: serving.kserve.io/VERSION
kind: LLMInferenceService
metadata: {name: b, namespace: model-serving, labels: {app.kubernetes.io/managed-by: model-manager}, annotations: {model-manager.giantswarm.io/model: Qwen/Qwen3-8B}}
spec: {model: {name: other}}
---
apiVersion: serving.kserve.io/VERSION
kind: LLMInferenceService
metadata: {name: a, namespace: model-serving, deletionTimestamp: 2026-08-01T09:00:00Z, finalizers: [a/b]}
spec: {model: {uri: "hf://google/gemma"}}
---
apiVersion: serving.kserve.io/VERSION
kind: LLMInferenceService
metadata: {name: c, namespace: model-serving}
spec: {model: {uri: "s3://user:made-for-the-test@bucket"}}
---
apiVersion: serving.kserve.io/VERSION
kind: LLMInferenceService
metadata: {name: d, namespace: model-serving}
spec: {model: {name: named, uri: "hf://google/gemma"}}
`
	want := []clustermanager.ServedModel{
		{Kind: "InferenceService", Namespace: "other", Name: "classic", Model: "acme/classic"},
		{Kind: "LLMInferenceService", Namespace: "model-serving", Name: "a", Model: "google/gemma", Deleting: true},
		{Kind: "LLMInferenceService", Namespace: "model-serving", Name: "b", Model: "Qwen/Qwen3-8B", Managed: true},
		{Kind: "LLMInferenceService", Namespace: "model-serving", Name: "c"},
		{Kind: "LLMInferenceService", Namespace: "model-serving", Name: "d", Model: "named"},
	}
	current := strings.ReplaceAll(services, "VERSION", "v1alpha1")
	later := llmDefinition("LLMInferenceService", "llminferenceservices") + strings.ReplaceAll(services, "VERSION", "v1alpha2")
	check(t, of(survey.Models, acme), append(unreadable[[]clustermanager.ServedModel](t, "/inferenceservices$", "every InferenceService"), []reading[[]clustermanager.ServedModel]{
		{name: "not served", files: workload(t), want: []clustermanager.ServedModel{}},
		{name: "every kind", files: workload(t).target(current), want: want},
		{name: "a version that left", files: workload(t).target(later), want: want},
		{name: "served, and none there", files: workload(t).target(strings.ReplaceAll(strings.ReplaceAll(llmDefinition("LLMInferenceService", "llminferenceservices"), "false", "true"), "---", "")),
			over: &wire{forbid: []string{"/customresourcedefinitions/"}}, want: []clustermanager.ServedModel{}},
		{name: "forbidden", files: workload(t).target(current), over: &wire{forbid: []string{"/llminferenceservices$"}}, fault: "every LLMInferenceService on cluster org-acme/wc1: reading: forbidden by the test"},
		{name: "not served, and the definition forbidden", files: workload(t), over: &wire{forbid: []string{"/customresourcedefinitions/"}},
			fault: "CustomResourceDefinition llminferenceservices.serving.kserve.io on cluster org-acme/wc1: reading: forbidden by the test"},
	}...))
}

func TestNodes(t *testing.T) {
	check(t, of(survey.Nodes, acme), append(unreadable[[]clustermanager.Node](t, "/nodes$", "every Node"), []reading[[]clustermanager.Node]{
		{name: "none", files: workload(t), want: []clustermanager.Node{}},
		{name: "two", files: workload(t).target(`
apiVersion: v1
kind: Node
metadata: {name: b, labels: {kubernetes.io/arch: amd64}}
status: {nodeInfo: {osImage: Flatcar Container Linux by Kinvolk 4459.2.1}, allocatable: {cpu: "4"}}
---
apiVersion: v1
kind: Node
metadata: {name: a, labels: {nvidia.com/gpu.present: "true", giantswarm.io/machine-pool: wc1-gpu-l4, secret: x}}
status: {allocatable: {nvidia.com/gpu: "4"}}
`), want: []clustermanager.Node{
			{Name: "a", Labels: map[string]string{"nvidia.com/gpu.present": "true", "giantswarm.io/machine-pool": "wc1-gpu-l4"}, GPUs: 4},
			{Name: "b", OSImage: "Flatcar Container Linux by Kinvolk 4459.2.1"},
		}},
	}...))
}

func TestPrepullImages(t *testing.T) {
	const one = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: prepull, namespace: serving, labels: {agent-platform.giantswarm.io/model-serving-prepull: "true"}}
spec: {template: {spec: {initContainers: [{image: b}, {image: a}], containers: [{image: pause}]}}}
`
	const fault = "every DaemonSet with the label agent-platform.giantswarm.io/model-serving-prepull=true: choosing the one that pulls images ahead: there are "
	check(t, of(survey.PrepullImages, acme), append(unreadable[[]string](t, "/daemonsets?", "every DaemonSet"), []reading[[]string]{
		{name: "none", files: workload(t), fault: fault + "0"},
		{name: "one", files: workload(t).target(one), want: []string{"b", "a"}},
		{name: "two", files: workload(t).target(one + "---" + strings.Replace(one, "name: prepull", "name: other", 1)), fault: fault + "2"},
	}...))
}

func TestPools(t *testing.T) {
	const release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: wc1-gpu-z, namespace: org-acme, labels: {app.kubernetes.io/name: gpu-node-pool, giantswarm.io/cluster: wc1}, deletionTimestamp: 2026-08-01T09:00:00Z, finalizers: [a/b]}\n" +
		"spec: {values: {pool: {accelerator: nvidia-t4, sizes: [xlarge], zones: [eu-central-1a]}}}\n"
	check(t, of(survey.Pools, acme), []reading[[]clustermanager.PoolRelease]{
		{name: "with its machines", files: snapshot(t).add(release), want: []clustermanager.PoolRelease{
			{Name: "wc1-gpu-l4", Pool: "gpu-l4"}, {Name: "wc1-gpu-old", Pool: "gpu-old", Owned: true},
			{Name: "wc1-gpu-z", Pool: "gpu-z", Accelerator: "nvidia-t4", Sizes: []string{"xlarge"}, Zones: []string{"eu-central-1a"}, Deleting: true},
		}},
		{name: "malformed", files: snapshot(t).add(strings.Replace(release, "sizes: [xlarge]", "sizes: xlarge", 1)),
			fault: "HelmRelease org-acme/wc1-gpu-z: reading its values: spec.values.pool.sizes is no list"},
	})
}

// The installation's own cluster is read without a kubeconfig.
func TestOwnClusterIsTheInstallation(t *testing.T) {
	over := &wire{}
	got, err := survey.Nodes(snapshot(t).add("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n").reader(t, over), t.Context(), own)
	if diff := cmp.Diff([]clustermanager.Node{{Name: "a"}}, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if diff := cmp.Diff([]string{"GET /api/v1/nodes"}, over.requested()); diff != "" {
		t.Error(diff)
	}
}

func TestKubeconfigsThatLeadNowhere(t *testing.T) {
	secret := func(data string) files {
		return snapshot(t).add("apiVersion: v1\nkind: Secret\nmetadata: {name: wc1-kubeconfig, namespace: org-acme}\ndata: " + data + "\n")
	}
	long := base64.StdEncoding.EncodeToString([]byte("{clusters: [{name: c, cluster: {server: \"https://" + strings.Repeat("a", 100_000) + "\", certificate-authority-data: eA==}}]}"))
	const before = "Secret org-acme/wc1-kubeconfig: reading its kubeconfig: "
	check(t, of(survey.Nodes, wc1Cluster), []reading[[]clustermanager.Node]{
		{name: "no key", files: secret("{other: eA==}"), fault: before + "it has no key value"},
		{name: "a long server", files: secret("{value: " + long + "}"), fault: before + "its cluster entry's server is longer than 2048 characters"},
	})
}
