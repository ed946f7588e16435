package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/clustermanager/cluster-manager/internal/testbed"
)

// fixtureObject reads an object of the fixtures' installation.
func fixtureObject(t *testing.T, elements ...string) *unstructured.Unstructured {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "fixtures", "installations", "gazelle"}, elements...)...))
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(content, &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// place creates an object, and then its status. What the definition requires of a release's history and the fixture does
// not tell is made up.
func place(t *testing.T, client *testbed.Client, object *unstructured.Unstructured) {
	t.Helper()
	status, _ := object.Object["status"].(map[string]any)
	history, _ := status["history"].([]any)
	for _, entry := range history {
		fields := entry.(map[string]any)
		fields["digest"], fields["configDigest"] = "sha256:0", "sha256:0"
		fields["firstDeployed"], fields["lastDeployed"] = "2026-08-01T09:20:00Z", "2026-08-01T09:20:00Z"
	}
	delete(object.Object, "status")
	object.SetLabels(without(object.GetLabels(), "kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace"))
	resource, err := client.Of(object)
	if err != nil {
		t.Fatal(err)
	}
	made, err := resource.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if status == nil {
		return
	}
	made.Object["status"] = status
	if _, err := resource.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

func without(labels map[string]string, keys ...string) map[string]string {
	for _, key := range keys {
		delete(labels, key)
	}
	return labels
}

// grant gives a group a role of docs/permissions.yaml, in a namespace or, with "", everywhere.
func grant(t *testing.T, client *testbed.Client, role, namespace, group string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "permissions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	binding := ref("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", namespace, role+"-"+strings.ReplaceAll(group, ":", "-"))
	if namespace != "" {
		binding.SetKind("RoleBinding")
	}
	binding.Object["roleRef"] = map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
	binding.Object["subjects"] = []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}}
	for _, object := range documents(t, string(content)) {
		if object.GetName() == role {
			if err := client.Apply(t.Context(), object, binding); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("docs/permissions.yaml has no role %s", role)
}

// documents reads the objects of a text of YAML.
func documents(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
	return all
}

func ref(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	object.SetName(name)
	if namespace != "" {
		object.SetNamespace(namespace)
	}
	return object
}

// apply applies the objects of a text as the installation's administrator.
func (e *endToEnd) apply(t *testing.T, text string) {
	t.Helper()
	if err := e.admin.Apply(t.Context(), documents(t, text)...); err != nil {
		t.Fatal(err)
	}
}

// until waits for an object of the installation.
func (e *endToEnd) until(t *testing.T, object *unstructured.Unstructured, check func(*unstructured.Unstructured) error) {
	t.Helper()
	if err := e.admin.Until(t.Context(), object, check); err != nil {
		t.Fatal(err)
	}
}

func (e *endToEnd) read(t *testing.T, client *testbed.Client, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	resource, err := client.Of(object)
	if err != nil {
		t.Fatal(err)
	}
	found, err := resource.Get(t.Context(), object.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// absent wants an object of the installation not to be there.
func (e *endToEnd) absent(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	resource, err := e.admin.Of(object)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resource.Get(t.Context(), object.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("%s %s/%s is there: %v", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
}

// isReady wants the condition Ready of the object's own generation.
func isReady(object *unstructured.Unstructured) error {
	if observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration"); observed != object.GetGeneration() {
		return errors.New("its generation is not observed")
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	said := "no condition Ready"
	for _, one := range conditions {
		fields, _ := one.(map[string]any)
		if fields["type"] != "Ready" {
			continue
		}
		if fields["status"] == "True" {
			return nil
		}
		said, _ = fields["message"].(string)
	}
	return errors.New(said)
}

// gone waits until an object is no more.
func gone(t *testing.T, client *testbed.Client, object *unstructured.Unstructured) {
	t.Helper()
	resource, err := client.Of(object)
	if err != nil {
		t.Fatal(err)
	}
	err = testbed.Eventually(t.Context(), func(ctx context.Context) error {
		switch _, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{}); {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return errors.New("it is there")
	})
	if err != nil {
		t.Fatalf("%s %s/%s: %v", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
}
