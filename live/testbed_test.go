package live_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/testbed"
	"github.com/clustermanager/cluster-manager/live"
)

// bedScene is a real API server, as the installation and as the target; the product calls as a person with rights.
func bedScene(t testing.TB, definitions ...testbed.Set) *scene {
	t.Helper()
	bed := testbed.Start(t, testbed.Options{
		Users: []testbed.User{{Email: "jane@acme.example", Groups: []string{"acme:admins"}}}, Definitions: definitions,
	})
	s := &scene{wire: &wire{}, clock: &clock{now: begin}, kubeconfig: filepath.Join(filepath.Dir(bed.Logs()), "kubeconfig")}
	var err error
	if s.installation, err = dynamic.NewForConfig(bed.Admin()); err != nil {
		t.Fatal(err)
	}
	s.target = s.installation
	config := bed.Config("jane@acme.example")
	config.Wrap(func(base http.RoundTripper) http.RoundTripper { return s.wire.over(base) })
	if s.wiredInstallation, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	s.wiredTarget = s.wiredInstallation
	admin, err := testbed.NewClient(bed.Admin())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"org-acme", "agent-platform", "model-serving"} {
		if err := admin.Apply(t.Context(), reference("v1", "Namespace", "", name, nil)); err != nil {
			t.Fatal(err)
		}
	}
	binding := reference("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "acme", nil)
	binding.Object["roleRef"] = map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
	binding.Object["subjects"] = []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "acme:admins"}}
	if err := admin.Apply(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	// The API server's authorizer learns of a binding a moment after it is there.
	secrets := s.wiredInstallation.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace("org-acme")
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		_, err := secrets.List(t.Context(), metav1.ListOptions{})
		if err == nil {
			break
		}
		if !apierrors.IsForbidden(err) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	s.wire.reset()
	return s
}

// The same steps on a real API server with Flux's own definitions: what it fills in is no drift, what others set stays.
func TestAPoolOnARealAPIServer(t *testing.T) {
	s := bedScene(t, testbed.FluxSource, testbed.FluxHelm, testbed.FluxKustomize)
	steps := poolSteps(t)
	all := func(action string) []string {
		return []string{action + " OCIRepository org-acme/wc1-gpu-l4", action + " Secret org-acme/wc1-gpu-l4-values", action + " HelmRelease org-acme/wc1-gpu-l4"}
	}
	check := func(what string, want []string, got live.Result) {
		t.Helper()
		if diff := cmp.Diff(want, actions(got.Changes)); diff != "" || got.Partial || len(got.Warnings) > 0 {
			t.Errorf("%s: %v (-want +got)\n%s", what, got, diff)
		}
	}
	check("dry run", all("would-create"), s.plan(t, steps).Preview())
	check("create", all("create"), s.apply(t, steps))
	s.wire.reset()
	check("again", all("unchanged"), s.apply(t, steps))
	if len(s.wire.writes) > 0 {
		t.Errorf("written: %v", s.wire.writes)
	}

	releases := s.installation.Resource(clustermanager.HelmAPI.WithResource("helmreleases")).Namespace("org-acme")
	others := `{"metadata":{"labels":{"foreign":"kept"},"annotations":{"foreign":"kept"},"finalizers":["finalizers.fluxcd.io"],"ownerReferences":[{"apiVersion":"foreign.example/v1","kind":"Owner","name":"x","uid":"u2"},{"apiVersion":"cluster.x-k8s.io/v1beta1","kind":"Cluster","name":"wc1","uid":"u1"}]},"spec":{"suspend":true,"values":{"pool":{"maxSize":8}}}}`
	if _, err := releases.Patch(t.Context(), "wc1-gpu-l4", types.MergePatchType, []byte(others), metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	if _, err := releases.Patch(t.Context(), "wc1-gpu-l4", types.MergePatchType, []byte(`{"status":{"observedGeneration":7}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	// A value alone goes by server-side apply, which forces it over whoever set it.
	source := s.installation.Resource(clustermanager.SourceAPI.WithResource("ocirepositories")).Namespace("org-acme")
	if _, err := source.Patch(t.Context(), "wc1-gpu-l4", types.MergePatchType, []byte(`{"metadata":{"annotations":{"foreign":"kept"}},"spec":{"interval":"1h"}}`), metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	s.wire.reset()
	s.clock.pass(time.Second)
	check("drift", []string{
		"update OCIRepository org-acme/wc1-gpu-l4 spec.interval", "unchanged Secret org-acme/wc1-gpu-l4-values",
		"update HelmRelease org-acme/wc1-gpu-l4 spec.suspend spec.values.pool.maxSize",
	}, s.apply(t, steps))
	if len(s.wire.writes) != 2 || !strings.HasPrefix(s.wire.writes[0], "PATCH") || !strings.HasPrefix(s.wire.writes[1], "PUT") {
		t.Errorf("written: %v", s.wire.writes)
	}
	check("after it", all("unchanged"), s.plan(t, steps).Preview())
	release, err := releases.Get(t.Context(), "wc1-gpu-l4", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	generation, _, _ := unstructured.NestedInt64(release.Object, "status", "observedGeneration")
	if release.GetLabels()["foreign"] != "kept" || release.GetAnnotations()["foreign"] != "kept" || len(release.GetFinalizers()) != 1 ||
		len(release.GetOwnerReferences()) != 2 || generation != 7 {
		t.Errorf("what others set: %v, %v", release.Object["metadata"], release.Object["status"])
	}
	repository, err := source.Get(t.Context(), "wc1-gpu-l4", metav1.GetOptions{})
	if err != nil || repository.GetAnnotations()["foreign"] != "kept" {
		t.Errorf("what others set: %v, %v", repository.Object["metadata"], err)
	}
	if !slices.ContainsFunc(repository.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == "cluster-manager" && entry.Operation == metav1.ManagedFieldsOperationApply
	}) {
		t.Errorf("managed fields: %v", repository.GetManagedFields())
	}

	s.clock.pass(time.Second)
	check("delete", all("delete"), s.apply(t, removed(steps)))
	check("while Flux takes it down", []string{"terminating HelmRelease org-acme/wc1-gpu-l4"}, s.apply(t, removed(steps)))
	if _, err := releases.Patch(t.Context(), "wc1-gpu-l4", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	check("once it is gone", nil, s.apply(t, removed(steps)))
	list, err := s.installation.Resource(eventsResource).Namespace("org-acme").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, event := range list.Items {
		text, _, _ := unstructured.NestedString(event.Object, "message")
		told = append(told, text)
	}
	slices.Sort(told)
	if diff := cmp.Diff([]string{
		"Changed by jane@acme.example with create_node_pool", "Created by jane@acme.example with create_node_pool", "Deleted by jane@acme.example with create_node_pool",
	}, told); diff != "" {
		t.Errorf("events: %s", diff)
	}
}

// A field that the kind does not have is said, not dropped.
func TestAnUnknownFieldIsTold(t *testing.T) {
	s := bedScene(t, testbed.FluxSource, testbed.FluxHelm)
	steps := poolSteps(t)
	unstructuredSet(steps[2].Object.Object, "x", "spec", "intervall")
	result := s.apply(t, steps)
	want := []string{"create OCIRepository org-acme/wc1-gpu-l4", "create Secret org-acme/wc1-gpu-l4-values", "pending HelmRelease org-acme/wc1-gpu-l4"}
	if diff := cmp.Diff(want, actions(result.Changes)); diff != "" || !strings.Contains(result.NextStep, "intervall") {
		t.Errorf("%s%s", diff, result.NextStep)
	}
}

// The teardown of a slice on a real API server: a webhook's denial is not stood in for, the wait and the finalizers are.
func TestTheTeardownOnARealAPIServer(t *testing.T) {
	s := bedScene(t, testbed.FluxSource, testbed.FluxHelm, testbed.KServe)
	admin := s.installation
	create := func(text string) {
		t.Helper()
		for document := range strings.SplitSeq(text, "\n---\n") {
			made := object(t, document)
			group, version, _ := strings.Cut(made.GetAPIVersion(), "/")
			if version == "" {
				group, version = "", group
			}
			resource := resourceOf(group, version, made.GetKind())
			status := made.Object["status"]
			var objects dynamic.ResourceInterface = admin.Resource(resource)
			if made.GetNamespace() != "" {
				objects = admin.Resource(resource).Namespace(made.GetNamespace())
			}
			live, err := objects.Create(t.Context(), made, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if status != nil {
				live.Object["status"] = status
				if _, err := objects.UpdateStatus(t.Context(), live, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	const flux = "spec: {interval: 10m, url: oci://charts.example/x}"
	_, slice, _ := strings.Cut(servingObjects, "---\napiVersion: source.toolkit")
	for document := range strings.SplitSeq("apiVersion: source.toolkit"+slice, "\n---\n") {
		if strings.Contains(document, "OCIRepository") {
			document = strings.Replace(document, "spec: {interval: 10m}", flux, 1)
		} else {
			document = strings.Replace(document, "spec: {interval: 10m}", "spec: {interval: 10m, chartRef: {kind: OCIRepository, name: x}}", 1)
		}
		create(document)
	}
	create(`apiVersion: apps/v1
kind: Deployment
metadata: {name: llmisvc-controller-manager, namespace: agent-platform, labels: {control-plane: llmisvc-controller-manager}}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: x}]}}}
status: {replicas: 1, readyReplicas: 1}`)
	for _, name := range []string{"config-a", "config-b", "config-c"} {
		create("apiVersion: serving.kserve.io/v1alpha1\nkind: LLMInferenceServiceConfig\nmetadata: {name: " + name + ", namespace: agent-platform, finalizers: [serving.kserve.io/llmisvcconfig-finalizer]}\nspec: {}")
	}
	s.controllerGoes(t, 1)
	result := s.apply(t, teardownSteps(t)[:10])
	if diff := cmp.Diff(orderedTeardown("delete"), actions(result.Changes)); diff != "" || result.Partial || len(result.Warnings) != 1 {
		t.Errorf("%s%v", diff, result)
	}
	if result := s.apply(t, teardownSteps(t)[:10]); len(result.Changes) > 0 || result.Partial {
		t.Errorf("again: %v", result)
	}
}
