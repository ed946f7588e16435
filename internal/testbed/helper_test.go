package testbed_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/clustermanager/cluster-manager/internal/testbed"
)

func client(t *testing.T, config *rest.Config) *testbed.Client {
	t.Helper()
	client, err := testbed.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func apply(t *testing.T, bed *testbed.Bed, objects ...*unstructured.Unstructured) {
	t.Helper()
	if err := client(t, bed.Admin()).Apply(t.Context(), objects...); err != nil {
		t.Fatal(err)
	}
}

// binding gives a group a role of the API server's own in the namespace default.
func binding(name, role, group string) *unstructured.Unstructured {
	binding := object("rbac.authorization.k8s.io/v1", "RoleBinding", "default", name)
	binding.Object["roleRef"] = map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
	binding.Object["subjects"] = []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}}
	return binding
}

func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// objects reads the documents of a YAML file.
func objects(t *testing.T, content string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for document := range strings.SplitSeq(content, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		all = append(all, object)
	}
	return all
}

func resourceOf(t *testing.T, client *testbed.Client, object *unstructured.Unstructured) dynamic.ResourceInterface {
	t.Helper()
	resource, err := client.Of(object)
	if err != nil {
		t.Fatal(err)
	}
	return resource
}

func read(t *testing.T, client *testbed.Client, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	found, err := resourceOf(t, client, object).Get(t.Context(), object.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func isAbsent(ctx context.Context, resource dynamic.ResourceInterface, object *unstructured.Unstructured) error {
	_, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
	switch {
	case err == nil:
		return fmt.Errorf("%s %s is there", object.GetKind(), object.GetName())
	case apierrors.IsNotFound(err):
		return nil
	}
	return err
}

// absent checks that an object is not there.
func absent(t *testing.T, client *testbed.Client, object *unstructured.Unstructured) {
	t.Helper()
	if err := isAbsent(t.Context(), resourceOf(t, client, object), object); err != nil {
		t.Error(err)
	}
}

// waitFor waits until check says nothing against an object.
func waitFor(t *testing.T, client *testbed.Client, object *unstructured.Unstructured, check func(*unstructured.Unstructured) error) {
	t.Helper()
	resource := resourceOf(t, client, object)
	err := testbed.Eventually(t.Context(), func(ctx context.Context) error {
		found, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		return check(found)
	})
	if err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
}

// conditionIs checks the status of a condition, and that its message holds the words.
func conditionIs(object *unstructured.Unstructured, kind, status, words string) error {
	// null in a new object, which is an error here and no slice.
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		fields, ok := condition.(map[string]any)
		if !ok || fields["type"] != kind {
			continue
		}
		if message := fmt.Sprint(fields["message"]); fields["status"] != status || !strings.Contains(message, words) {
			return fmt.Errorf("condition %s is %s: %s", kind, fields["status"], message)
		}
		return nil
	}
	return fmt.Errorf("there is no condition %s", kind)
}

// reconcile asks Flux to look at an object now.
func reconcile(t *testing.T, client *testbed.Client, object *unstructured.Unstructured) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":%q}}}`, time.Now().Format(time.RFC3339Nano))
	_, err := resourceOf(t, client, object).Patch(t.Context(), object.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// gone waits until an object is not there.
func gone(t *testing.T, client *testbed.Client, object *unstructured.Unstructured) {
	t.Helper()
	resource := resourceOf(t, client, object)
	if err := testbed.Eventually(t.Context(), func(ctx context.Context) error { return isAbsent(ctx, resource, object) }); err != nil {
		t.Fatal(err)
	}
}
