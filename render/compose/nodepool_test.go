package compose

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// requests are the pools of the listings, by survey.
var requests = []struct {
	listing, survey string
	request         clustermanager.CreateNodePoolRequest
	bytes           int
}{
	{"pool-l4-default", "wc1", pool("wc1", "gpu-l4"), 1734},
	{"pool-a10g-sizes", "wc1", with(pool("wc1", "gpu-a10g"), func(r *clustermanager.CreateNodePoolRequest) {
		r.Accelerator, r.MaxGPUs, r.Sizes = "nvidia-a10g", new(8), []string{"xlarge", "2xlarge"}
	}), 1794},
	{"pool-t4-pinned-chart", "wc1", with(pool("wc1", "gpu-t4"), func(r *clustermanager.CreateNodePoolRequest) {
		r.Accelerator, r.MaxGPUs, r.ChartVersion = "nvidia-t4", new(2), "0.2.0"
	}), 1720},
	{"pool-own-cluster-prewarm", "gazelle", with(pool("gazelle", "gpu-l4"), func(r *clustermanager.CreateNodePoolRequest) {
		r.Prewarm = true
	}), 1825},
}

func with(request clustermanager.CreateNodePoolRequest, change func(*clustermanager.CreateNodePoolRequest)) clustermanager.CreateNodePoolRequest {
	change(&request)
	return request
}

func TestListings(t *testing.T) {
	for _, test := range requests {
		t.Run(test.listing, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", "listings", test.listing+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			plan := composed(t, test.request, surveyOf(t, test.survey)).Plan
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(listing(plan), "\n")); diff != "" {
				t.Error(diff)
			}
			if got := len(documents(t, plan)); got != test.bytes {
				t.Errorf("%d bytes of YAML, want %d", got, test.bytes)
			}
		})
	}
}

var madeForATest = regexp.MustCompile(`made-for-a-test-\w+`)

// A survey's file and a survey written back are the same, but for credentials, and decide the same.
func TestSurveysRoundTrip(t *testing.T) {
	for _, name := range []string{"wc1", "gazelle", "wc3"} {
		text, err := os.ReadFile(filepath.Join("testdata", "surveys", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(surveyOf(t, name))
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := json.Unmarshal(madeForATest.ReplaceAll(text, []byte(clustermanager.Masked)), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(again, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		var back clustermanager.Survey
		if err := json.Unmarshal(again, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(listing(composed(t, pool(name, "gpu-l4"), surveyOf(t, name)).Plan), listing(composed(t, pool(name, "gpu-l4"), back).Plan)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAnswer(t *testing.T) {
	request := pool("wc1", "gpu-l4")
	request.Zones = []string{"eu-central-1b", "eu-central-1a", "eu-central-1b"}
	request.Sizes = []string{"2xlarge", "xlarge", "2xlarge"}
	got := composed(t, request, surveyOf(t, "wc1"))
	var sizes []string
	for _, size := range got.Sizes {
		sizes = append(sizes, size.InstanceType)
	}
	facts := []any{got.ChartVersion, got.KubernetesVersion, got.ControlPlaneVersion, got.MachineImage, sizes, got.Zones, got.ZonesNote, got.Plan.Warnings}
	want := []any{
		"0.8.0", "1.31.4", "1.31.4", "flatcar-stable-4459.2.1-kube-1.31.4-tooling-1.26.1-gs",
		[]string{"g6.xlarge", "g6.2xlarge"}, []string{"eu-central-1b", "eu-central-1a"},
		"the pool's nodes are pinned to eu-central-1b, eu-central-1a; no model cache claim's zone binds the pool",
		[]string(nil),
	}
	if diff := cmp.Diff(want, facts); diff != "" {
		t.Error(diff)
	}
	spec := values(t, got.Plan)["pool"].(map[string]any)
	if diff := cmp.Diff([]any{[]any{"eu-central-1b", "eu-central-1a"}, []any{"2xlarge", "xlarge"}}, []any{spec["zones"], spec["sizes"]}); diff != "" {
		t.Error(diff)
	}
	if got := composed(t, requests[2].request, surveyOf(t, "wc1")); got.ChartVersion != "0.2.0" || len(got.Plan.Warnings) != 0 {
		t.Errorf("pinned: chart version %s, warnings %q", got.ChartVersion, got.Plan.Warnings)
	}
}

// release is the last object that a plan writes, which is the HelmRelease.
func release(t *testing.T, plan clustermanager.Plan) *unstructured.Unstructured {
	t.Helper()
	object := plan.Steps[len(plan.Steps)-1].Object
	if object.GetKind() != "HelmRelease" {
		t.Fatalf("the last step is %s", clustermanager.ReferenceTo(object))
	}
	return object
}

func values(t *testing.T, plan clustermanager.Plan) map[string]any {
	t.Helper()
	found, _, err := unstructured.NestedMap(release(t, plan).Object, "spec", "values")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// What was not asked for leaves no key; without a UID there is no owner, without a tenant account no name of one.
func TestOptionalKeysAreAbsent(t *testing.T) {
	survey := surveyOf(t, "wc1")
	survey.Cluster.UID, survey.Settings.TenantServiceAccount = "", ""
	effective, _ := survey.Values.Get()
	effective.Values = clustermanager.NewValues(map[string]any{"global": map[string]any{"connectivity": map[string]any{"baseDomain": "acme.example.io"}}})
	survey.Values = clustermanager.Known(effective)
	got := listing(composed(t, pool("wc1", "gpu-l4"), survey).Plan)
	for _, absent := range []string{
		"ownerReferences", "serviceAccountName", "valuesFrom", "proxy", "cilium", "prewarm", "zones", "sizes", "prefetchImages", "timeout", "teleport", "annotations",
	} {
		if strings.Contains(got, absent) {
			t.Errorf("%s is in\n%s", absent, got)
		}
	}
	for _, present := range []string{"spec.values.cluster.registryMirrors = {}\n", `spec.values.cluster.managementCluster = "gazelle"`} {
		if !strings.Contains(got, present) {
			t.Errorf("%s is not in\n%s", present, got)
		}
	}
}

func TestCredentials(t *testing.T) {
	plan := composed(t, pool("wc3", "gpu-l4"), surveyOf(t, "wc3")).Plan
	var order []string
	for _, step := range plan.Steps {
		order = append(order, string(step.Verb)+" "+string(step.Lane)+" "+step.Reference().String())
	}
	want := []string{
		"ensure declared OCIRepository org-acme/wc3-gpu-l4", "ensure declared Secret org-acme/wc3-gpu-l4-values", "ensure declared HelmRelease org-acme/wc3-gpu-l4",
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Fatal(diff)
	}
	secret := plan.Steps[1]
	wantSecret := map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata":   plan.Steps[0].Object.DeepCopy().Object["metadata"],
		"stringData": map[string]any{"values.yaml": "<redacted>"},
	}
	set(wantSecret, "wc3-gpu-l4-values", "metadata", "name")
	if diff := cmp.Diff(wantSecret, secret.Object.Object); diff != "" {
		t.Error(diff)
	}
	const plain = `cluster:
  registryCredentials:
    mirror.acme.example.io:
      auth: made-for-a-test-auth
    registry-1.docker.io:
      password: made-for-a-test-password
      username: made-for-a-test-user
`
	if diff := cmp.Diff(plain, secret.SecretData["values.yaml"].Reveal()); diff != "" {
		t.Error(diff)
	}
	valuesFrom, _, _ := unstructured.NestedSlice(release(t, plan).Object, "spec", "valuesFrom")
	if diff := cmp.Diff([]any{map[string]any{"kind": "Secret", "name": "wc3-gpu-l4-values", "valuesKey": "values.yaml"}}, valuesFrom); diff != "" {
		t.Error(diff)
	}
	cluster := values(t, plan)["cluster"].(map[string]any)
	if diff := cmp.Diff([]any{
		map[string]any{"docker.io": []any{"registry-1.docker.io", "mirror.acme.example.io"}, "gsoci.azurecr.io": []any{"gsoci.azurecr.io"}, "quay.io": []any{}},
		map[string]any{
			"enabled": true, "httpProxy": "http://proxy.acme.example.io:3128", "httpsProxy": "http://proxy.acme.example.io:3128",
			"noProxy": "10.0.0.0/8,acme.example.io",
		},
	}, []any{cluster["registryMirrors"], cluster["proxy"]}); diff != "" {
		t.Error(diff)
	}
}

func TestNoCredentialsRemoveTheSecret(t *testing.T) {
	plan := composed(t, pool("wc1", "gpu-l4"), surveyOf(t, "wc1")).Plan
	want := []clustermanager.ObjectReference{{APIVersion: "v1", Kind: "Secret", Namespace: "org-acme", Name: "wc1-gpu-l4-values"}}
	if diff := cmp.Diff(want, plan.Objects(clustermanager.Remove, clustermanager.Declared)); diff != "" {
		t.Error(diff)
	}
	if len(plan.Steps) != 3 || plan.Steps[0].Verb != clustermanager.Remove {
		t.Errorf("%d steps, the first is %s", len(plan.Steps), plan.Steps[0].Verb)
	}
}

func TestProxyWithCredentialsIsSealed(t *testing.T) {
	survey := surveyOf(t, "wc1")
	effective, _ := survey.Values.Get()
	set(effective.Values.Reveal(), map[string]any{
		"enabled": true, "httpProxy": "http://u:made-for-a-test@proxy:3128", "noProxy": map[string]any{"addresses": []any{"a", "b"}},
	}, "global", "connectivity", "proxy")
	plan := composed(t, pool("wc1", "gpu-l4"), survey).Plan
	if diff := cmp.Diff(map[string]any{"enabled": true, "noProxy": "a,b"}, values(t, plan)["cluster"].(map[string]any)["proxy"]); diff != "" {
		t.Error(diff)
	}
	const plain = "cluster:\n  proxy:\n    httpProxy: http://u:made-for-a-test@proxy:3128\n"
	if diff := cmp.Diff(plain, plan.Steps[1].SecretData["values.yaml"].Reveal()); diff != "" {
		t.Error(diff)
	}
	set(effective.Values.Reveal(), false, "global", "connectivity", "proxy", "enabled")
	if text := listing(composed(t, pool("wc1", "gpu-l4"), survey).Plan); strings.Contains(text, "proxy") {
		t.Errorf("a proxy that is off is in\n%s", text)
	}
}

// Every composed release runs with a tenant's rights or on a cluster's kubeconfig, and leaves its namespace with the
// latter alone.
func TestReleasesPassThePolicy(t *testing.T) {
	for _, name := range []string{"wc1", "wc3", "gazelle"} {
		for _, step := range composed(t, pool(name, "gpu-l4"), surveyOf(t, name)).Plan.Steps {
			if step.Object.GetKind() == "HelmRelease" {
				if fault := policyFault(step.Object); fault != "" {
					t.Errorf("%s: %s", step.Reference(), fault)
				}
			}
		}
	}
}

func TestPolicySeesFaults(t *testing.T) {
	for _, spec := range []map[string]any{
		{}, {"serviceAccountName": "automation", "targetNamespace": "kube-system"}, {"serviceAccountName": "automation", "storageNamespace": "kube-system"},
	} {
		if policyFault(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "org-acme"}, "spec": spec}}) == "" {
			t.Errorf("%v passes", spec)
		}
	}
}

func policyFault(release *unstructured.Unstructured) string {
	spec, _, _ := unstructured.NestedMap(release.Object, "spec")
	account := text(spec, "serviceAccountName")
	kubeconfig := text(spec, "kubeConfig", "secretRef", "name")
	if account == "" && kubeconfig == "" {
		return "it names neither service account nor kubeconfig"
	}
	for _, key := range []string{"targetNamespace", "storageNamespace"} {
		if namespace := text(spec, key); namespace != "" && namespace != release.GetNamespace() && kubeconfig == "" {
			return key + " leaves the namespace without a kubeconfig"
		}
	}
	return ""
}

// A plan is the caller's: composing twice gives the same, and changing one leaves survey and the next plan alone.
func TestPlanIsTheCallersOwn(t *testing.T) {
	survey, request := surveyOf(t, "wc3"), pool("wc3", "gpu-l4")
	first := composed(t, request, survey).Plan
	text := documents(t, first)
	for _, step := range first.Steps {
		set(step.Object.Object, "changed", "spec", "values", "cluster", "registryMirrors", "docker.io")
	}
	if diff := cmp.Diff(text, documents(t, composed(t, request, survey).Plan)); diff != "" {
		t.Error(diff)
	}
	for _, step := range composed(t, request, survey).Plan.Steps {
		step.Object.DeepCopy() // wants JSON types throughout
	}
}

func TestTheNodePoolsObjectsAreThePlans(t *testing.T) {
	survey := surveyOf(t, "wc3")
	plan := composed(t, pool("wc3", "gpu-l4"), survey).Plan
	if diff := cmp.Diff(clustermanager.NodePool(survey.Cluster, "gpu-l4").References(), plan.Objects(clustermanager.Ensure, clustermanager.Declared)); diff != "" {
		t.Error(diff)
	}
}
