package survey_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/survey"
)

// serving is the snapshot with a platform, a slice and what serves models on wc1.
func serving(t *testing.T) files {
	t.Helper()
	read := snapshot(t)
	tree := os.DirFS("testdata/serving")
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(tree, name)
		read[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// charts answers with what it was asked for.
type charts struct {
	asked []string
	err   error
}

func (c *charts) Slice(_ context.Context, platform, pin string, gatewayAPI bool) (clustermanager.SliceCharts, error) {
	text := platform + "|" + pin
	if gatewayAPI {
		text += "|with the Gateway API"
	}
	c.asked = append(c.asked, text)
	return clustermanager.SliceCharts{
		Version: "4.117.0", Values: clustermanager.Known(map[string]any{"modelServing": map[string]any{}}),
		Connectivity: clustermanager.Unknown[clustermanager.ConnectivityChart]("made for the test"),
	}, c.err
}

func (c *charts) Tags(context.Context, string) ([]string, error) { return nil, errors.New("not asked") }

func (c *charts) Release(context.Context, string, string) (clustermanager.ReleaseChart, error) {
	return clustermanager.ReleaseChart{}, errors.New("not asked")
}

var servingRequest = clustermanager.CreateNodePoolRequest{Cluster: "wc1", Name: "gpu-l4"}

// withServing reads the facts of a pool with serving.
func withServing(t *testing.T, f files, over *wire, changes ...func(*survey.Options)) clustermanager.Survey {
	t.Helper()
	changes = append([]func(*survey.Options){func(options *survey.Options) {
		options.Charts, options.Resolver = &charts{}, &zones{known: map[string]bool{"example.io": true}}
	}}, changes...)
	made, err := f.reader(t, over, changes...).NodePool(t.Context(), servingRequest)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestServingGolden(t *testing.T) {
	const golden = "testdata/serving.json"
	got, err := json.MarshalIndent(withServing(t, serving(t), nil), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
	var back clustermanager.Survey
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.MarshalIndent(back, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), string(again)+"\n"); diff != "" {
		t.Error("there and back:", diff)
	}
}

// What an older slice left terminating in its namespace stands in the way of a new one.
func TestConfigsOfAnOlderSlice(t *testing.T) {
	configs, _ := withServing(t, serving(t), nil).Serving.Configs.Get()
	want := clustermanager.ServingConfigs{Namespace: "org-acme", Count: 1, Terminating: []string{"kserve-config-llm-template"}, ControllerRuns: clustermanager.Known(false)}
	if diff := cmp.Diff(want, configs, cmp.Comparer(equalReadings[bool])); diff != "" {
		t.Error(diff)
	}
	clean := serving(t)
	clean["clusters/wc1/serving.yaml"] = strings.Replace(clean["clusters/wc1/serving.yaml"], ", deletionTimestamp: 2026-08-01T09:00:00Z, finalizers: [serving.kserve.io/llmisvcconfig-finalizer]", "", 1)
	configs, _ = withServing(t, clean, nil).Serving.Configs.Get()
	if diff := cmp.Diff(clustermanager.ServingConfigs{Namespace: "agent-platform", Count: 1, ControllerRuns: clustermanager.Known(false)}, configs, cmp.Comparer(equalReadings[bool])); diff != "" {
		t.Error(diff)
	}
}

// What the platform has in its namespace on the own cluster is not the slice's.
func TestConfigsOfTheOwnCluster(t *testing.T) {
	const config = "apiVersion: serving.kserve.io/v1alpha1\nkind: LLMInferenceServiceConfig\nmetadata: {name: a, namespace: agent-platform, deletionTimestamp: 2026-08-01T09:00:00Z, finalizers: [a/b]}\n"
	reader := snapshot(t).add("apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: gazelle, namespace: org-giantswarm}\n---\n"+config+"---\n"+
		strings.ReplaceAll(strings.TrimSuffix(llmDefinition("LLMInferenceServiceConfig", "llminferenceserviceconfigs"), "---"), "served: false", "served: true")).reader(t, nil)
	made, err := reader.Serving(t.Context(), "", "gazelle")
	if err != nil {
		t.Fatal(err)
	}
	configs, known := made.Serving.Configs.Get()
	if diff := cmp.Diff(clustermanager.ServingConfigs{Namespace: "org-giantswarm", ControllerRuns: clustermanager.Known(false)}, configs, cmp.Comparer(equalReadings[bool])); diff != "" || !known {
		t.Error(diff, made.Serving.Configs.Reason())
	}
}

func TestWithServingEachObjectIsAskedForOnce(t *testing.T) {
	over := &wire{}
	withServing(t, serving(t), over)
	requests := slices.Clone(over.requested())
	slices.Sort(requests)
	if diff := cmp.Diff(slices.Compact(slices.Clone(requests)), requests); diff != "" {
		t.Errorf("asked for twice: %s", diff)
	}
	whole := []string{"GET /api/v1/namespaces/flux/secrets/more-variables", "GET /api/v1/namespaces/org-acme/secrets/wc1-kubeconfig"}
	slices.Sort(over.secrets)
	if diff := cmp.Diff(whole, over.secrets); diff != "" {
		t.Errorf("Secrets asked for whole: %s", diff)
	}
	for _, request := range requests {
		if strings.Contains(request, "secret-values") || !strings.HasPrefix(request, "GET ") {
			t.Error("asked for", request)
		}
	}
}

// Without serving nothing of it is asked for, and what the operator needs is.
func TestWithoutServing(t *testing.T) {
	over, registry, resolver := &wire{}, &charts{}, &zones{}
	reader := serving(t).reader(t, over, func(options *survey.Options) { options.Charts, options.Resolver = registry, resolver })
	made, err := reader.NodePool(t.Context(), poolRequest)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"clusterissuers", "persistentvolumeclaims", "agent-platform/configmaps", "serving-preset", "flux-giantswarm", "customresourcedefinitions", "inferenceservices", "deployments",
	} {
		if slices.ContainsFunc(over.requested(), func(request string) bool { return strings.Contains(request, part) }) {
			t.Errorf("asked for %s", part)
		}
	}
	if len(registry.asked)+len(resolver.asked) > 0 {
		t.Error("a registry or the DNS was asked")
	}
	if nodes, _ := made.Nodes.Get(); len(nodes) != 1 || made.GPUOperator.Status != clustermanager.ComponentPresent {
		t.Errorf("%v %+v", nodes, made.GPUOperator)
	}
	if !cmp.Equal(made.Serving.Component, clustermanager.Component{}) {
		t.Errorf("%+v", made.Serving.Component)
	}
}

func TestCharts(t *testing.T) {
	const gatewayAPI = "    components: {gateway-api-crds: {enabled: true}}\n"
	without := func(t *testing.T, old string, drop ...string) files {
		read := serving(t)
		for name := range read {
			read[name] = strings.Replace(read[name], old, "", 1)
		}
		for _, document := range drop {
			read.drop(t, "clusters/wc1/serving.yaml", document)
		}
		return read
	}
	const definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: gateways"
	pin := func(options *survey.Options) { options.Settings.SliceChartVersion = "0.0.0-lab" }
	for _, test := range []struct {
		name   string
		files  files
		over   *wire
		change func(*survey.Options)
		asked  []string
		reason string
	}{
		{name: "brought already", files: serving(t), asked: []string{"4.85.0+1c7eb3256e07||with the Gateway API"}},
		{name: "there, and not brought", files: without(t, gatewayAPI), asked: []string{"4.85.0+1c7eb3256e07|"}},
		{name: "not there", files: without(t, gatewayAPI, definition), asked: []string{"4.85.0+1c7eb3256e07||with the Gateway API"}},
		{name: "pinned", files: without(t, gatewayAPI), change: pin, asked: []string{"4.85.0+1c7eb3256e07|0.0.0-lab"}},
		{name: "no platform", files: without(t, ""), over: &wire{forbid: []string{"fieldSelector=metadata.name%3Dagent-platform"}}, reason: "every HelmRelease: reading: forbidden by the test"},
		{name: "the Gateway API forbidden", files: without(t, gatewayAPI), over: &wire{forbid: []string{"/customresourcedefinitions/gateways"}},
			reason: "CustomResourceDefinition gateways.gateway.networking.k8s.io on cluster org-acme/wc1: reading: forbidden by the test"},
		{name: "somebody else serves", files: without(t, "    app.kubernetes.io/managed-by: cluster-manager\n").target("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: a, labels: {agent-platform.giantswarm.io/model-serving-config: \"true\"}}\n"), reason: "not read"},
		{name: "a version that no slice is made of", files: serving(t), asked: []string{"4.85.0+1c7eb3256e07||with the Gateway API"}, reason: "refused for the test",
			change: func(options *survey.Options) {
				options.Charts.(*charts).err = clustermanager.Refuse("refused for the test")
			}},
		{name: "no registry", files: serving(t), change: func(options *survey.Options) { options.Charts = nil }, reason: "not read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			registry := &charts{}
			made := withServing(t, test.files, test.over, func(options *survey.Options) { options.Charts = registry }, func(options *survey.Options) {
				if test.change != nil {
					test.change(options)
				}
			})
			if diff := cmp.Diff(test.asked, registry.asked); diff != "" || made.Serving.Charts.Reason() != test.reason {
				t.Errorf("%q, want %q: %s", made.Serving.Charts.Reason(), test.reason, diff)
			}
		})
	}
}

// The issuer is read where the slice has a certificate of its own, and nowhere else.
func TestWhoseIssuerIsRead(t *testing.T) {
	ownCluster := "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: gazelle, namespace: org-giantswarm}\n---\n" + issuerObject("{}")
	for _, test := range []struct {
		name, cluster string
		files         files
		change        func(*survey.Options)
		host          string
		reason        string
	}{
		{name: "a workload cluster", cluster: "wc1", files: serving(t)},
		{name: "no issuer named", cluster: "wc1", files: serving(t), change: func(options *survey.Options) { options.Settings.ModelsCertificateIssuer = "" }, reason: "not read"},
		{name: "no base domain", cluster: "wc1", reason: "not read", files: serving(t).replace(t, wc1, "  more: |\n    global: {connectivity: {baseDomain: more.example.io}}", "  more: |\n    global: {connectivity: {baseDomain: \"\"}}")},
		{name: "somebody else serves", cluster: "wc1", reason: "not read", files: workload(t).target("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: a, labels: {agent-platform.giantswarm.io/model-serving-config: \"true\"}}\n")},
		{name: "the own cluster has the platform's certificate", cluster: "gazelle", files: serving(t).add(ownCluster), reason: "not read"},
		{name: "the platform has none", cluster: "gazelle", files: serving(t).add(ownCluster).replace(t, "management/serving.yaml", "    gatewayApi: {gateway: {tls: {secretName: gazelle-wildcard-tls}}}\n", "")},
	} {
		t.Run(test.name, func(t *testing.T) {
			over := &wire{}
			reader := test.files.reader(t, over, func(options *survey.Options) {
				options.Resolver = &zones{known: map[string]bool{"example.io": true}}
				if test.change != nil {
					test.change(options)
				}
			})
			made, err := reader.NodePool(t.Context(), clustermanager.CreateNodePoolRequest{Cluster: test.cluster, Name: "gpu-l4"})
			if err != nil {
				t.Fatal(err)
			}
			asked := slices.ContainsFunc(over.requested(), func(request string) bool { return strings.Contains(request, "/clusterissuers/") })
			if made.Serving.Issuer.Reason() != test.reason || asked != (test.reason == "") {
				t.Errorf("%q, want %q; asked %t", made.Serving.Issuer.Reason(), test.reason, asked)
			}
		})
	}
}

func TestPrepullImagesOfSomebodyElse(t *testing.T) {
	const foreign = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: a, labels: {agent-platform.giantswarm.io/model-serving-config: "true"}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: prepull, namespace: a, labels: {agent-platform.giantswarm.io/model-serving-prepull: "true"}}
spec: {template: {spec: {initContainers: [{image: a}]}}}
`
	made := withServing(t, workload(t).target(foreign), nil)
	if images, known := made.Serving.PrepullImages.Get(); !known || !slices.Equal(images, []string{"a"}) {
		t.Errorf("%v %s", images, made.Serving.PrepullImages.Reason())
	}
	if reason := withServing(t, serving(t), nil).Serving.PrepullImages.Reason(); reason != "not read" {
		t.Error(reason)
	}
}

// Serving is what enable_model_serving reads, ServingRemoval what disable_model_serving does.
func TestServing(t *testing.T) {
	over := &wire{}
	reader := serving(t).reader(t, over)
	made, err := reader.Serving(t.Context(), "org-acme", "wc1")
	if err != nil {
		t.Fatal(err)
	}
	keys := make([]string, 0, len(made.Live))
	for key, live := range made.Live {
		keys = append(keys, key)
		if live.Err() != nil {
			t.Error(key, live.Err())
		}
	}
	slices.Sort(keys)
	if diff := cmp.Diff([]string{
		"agent-platform_model-backend-kserve-wc1__ConfigMap", "agent-platform_model-backend-kserve__ConfigMap",
		"org-acme_wc1-agent-platform_helm.toolkit.fluxcd.io_HelmRelease", "org-acme_wc1-agent-platform_source.toolkit.fluxcd.io_OCIRepository",
	}, keys); diff != "" {
		t.Error(diff)
	}
	for _, part := range []string{"gpu-operator", "clusterpolicies", "/releases"} {
		if slices.ContainsFunc(over.requested(), func(request string) bool { return strings.Contains(request, part) }) {
			t.Errorf("asked for %s", part)
		}
	}
	removal, err := reader.ServingRemoval(t.Context(), clustermanager.DisableModelServingRequest{Namespace: "org-acme", Cluster: "wc1"})
	if err != nil {
		t.Fatal(err)
	}
	want := []clustermanager.ServedModel{{Kind: "LLMInferenceService", Namespace: "model-serving", Name: "qwen", Model: "Qwen/Qwen3-8B", Managed: true}}
	if diff := cmp.Diff(want, removal.Serving.Models.Or(nil)); diff != "" || removal.Configs.Err() != nil || removal.Parts.Children.Err() != nil || removal.Serving.Component.Status == "" {
		t.Error(diff, removal)
	}
	if _, err := reader.Serving(t.Context(), "", "none"); clustermanager.ReasonOf(err) != clustermanager.ReasonNotFound {
		t.Error(err)
	}
}

// An installation that serves nothing of what serving needs still answers, each fact with its reason.
func TestServingOnABareInstallation(t *testing.T) {
	bare := files{
		"cluster-manager.yaml":    snapshot(t)["cluster-manager.yaml"],
		"management/cluster.yaml": "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: gazelle, namespace: org-giantswarm}\n",
	}
	made, err := bare.reader(t, nil).NodePool(t.Context(), clustermanager.CreateNodePoolRequest{Cluster: "gazelle", Name: "gpu-l4"})
	if err != nil {
		t.Fatal(err)
	}
	if made.GPUOperator.Status != clustermanager.ComponentAbsent || made.Serving.Component.Status != clustermanager.ComponentAbsent {
		t.Errorf("%+v %+v", made.GPUOperator, made.Serving.Component)
	}
	if reason := clustermanager.ReasonOf(made.Serving.Platform.Err()); reason != clustermanager.ReasonRefused {
		t.Errorf("the platform is %s", reason)
	}
	for name, err := range map[string]error{
		"slice": made.Serving.Slice.Err(), "others": made.Serving.OtherSlices.Err(), "backends": made.Serving.Backends.Err(), "presets": made.Serving.Presets.Err(),
		"claims": made.Serving.CacheClaims.Err(), "namespace": made.Serving.Namespace.Err(), "configs": made.Serving.Configs.Err(), "gateway API": made.Serving.GatewayAPI.Err(), "nodes": made.Nodes.Err(),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Each read of serving that fails is an unknown fact, and the others stand.
func TestServingThatMayNotBeRead(t *testing.T) {
	made := withServing(t, serving(t), &wire{forbid: []string{"/clusters/wc1/", "/agent-platform/configmaps", "fieldSelector=metadata.name%3Dagent-platform"}})
	for name, reason := range map[string]string{
		"presets": made.Serving.Presets.Reason(), "claims": made.Serving.CacheClaims.Reason(), "namespace": made.Serving.Namespace.Reason(),
		"configs": made.Serving.Configs.Reason(), "gateway API": made.Serving.GatewayAPI.Reason(), "nodes": made.Nodes.Reason(),
		"backends": made.Serving.Backends.Reason(), "platform": made.Serving.Platform.Reason(),
		"live backend": made.Live["agent-platform_model-backend-kserve-wc1__ConfigMap"].Reason(),
	} {
		if !strings.Contains(reason, "reading: forbidden by the test") {
			t.Errorf("%s: %q", name, reason)
		}
	}
	if issuer := made.Serving.Issuer; clustermanager.ReasonOf(issuer.Err()) != clustermanager.ReasonRefused || !strings.Contains(issuer.Reason(), "who that is could not be read") && !strings.Contains(issuer.Reason(), "nobody is bound") {
		t.Error(issuer.Reason())
	}
	if slice, known := made.Serving.Slice.Get(); !known || slice == nil {
		t.Error(made.Serving.Slice.Reason())
	}
}

// Nothing that a Secret holds leaves the survey, nor what a document holds that cannot be read.
func TestNoSecretOfServingStandsInTheSurvey(t *testing.T) {
	broken := serving(t)
	broken["management/serving.yaml"] = strings.Replace(broken["management/serving.yaml"], "    metadata: {name: kserve}", "    metadata: {made-for-the-test", 1)
	broken["clusters/wc1/serving.yaml"] = strings.Replace(broken["clusters/wc1/serving.yaml"], "    metadata: {name: qwen}", "    metadata: {made-for-the-test", 1)
	kubeconfig := serving(t)
	kubeconfig["management/serving.yaml"] = strings.Replace(kubeconfig["management/serving.yaml"], "data: {value: YXBp", "data: {value: bWFkZS1mb3ItdGhlLXRlc3QKYXBp", 1)
	for name, snapshot := range map[string]files{"whole": serving(t), "broken documents": broken, "a broken kubeconfig": kubeconfig} {
		made := withServing(t, snapshot, nil)
		text, err := json.Marshal(made)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"made-for-the-test", "bWFkZS1mb3ItdGhlLXRlc3Q"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s: the survey holds %s", name, secret)
			}
		}
		if name != "whole" && made.Serving.Endpoint.Err() == nil && made.Serving.Backends.Err() == nil {
			t.Errorf("%s: everything was read", name)
		}
	}
	if _, err := os.Stat(filepath.Join("testdata", "serving.json")); err != nil {
		t.Error(err)
	}
}
