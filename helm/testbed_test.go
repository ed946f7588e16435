package helm_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/clustermanager/cluster-manager/internal/testbed"
)

// definition is one of a kind whose own chart is not to be had: it takes whatever a specification says.
func definition(group, version, kind, plural string) *unstructured.Unstructured {
	return object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", plural+"."+group, map[string]any{"spec": map[string]any{
		"group": group, "scope": "Namespaced", "names": map[string]any{"kind": kind, "listKind": kind + "List", "plural": plural, "singular": plural[:len(plural)-1]},
		"versions": []any{map[string]any{"name": version, "served": true, "storage": true, "schema": map[string]any{
			"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		}}},
	}})
}

func object(apiVersion, kind, namespace, name string, more map[string]any) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	for key, value := range more {
		made.Object[key] = value
	}
	made.SetNamespace(namespace)
	made.SetName(name)
	return made
}

// knowing is a client that was made once the server serves the kinds.
func knowing(t *testing.T, bed *testbed.Bed, kinds ...*unstructured.Unstructured) *testbed.Client {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		client, err := testbed.NewClient(bed.Admin())
		for _, kind := range kinds {
			if err == nil {
				_, err = client.Of(kind)
			}
		}
		switch {
		case err == nil:
			return client
		case time.Now().After(deadline):
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// An API server takes whatever the values make of the chart, field by field.
func TestAPIServerTakesTheChart(t *testing.T) {
	bed := testbed.Start(t, testbed.Options{})
	client, err := testbed.NewClient(bed.Admin())
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Apply(t.Context(),
		definition("muster.giantswarm.io", "v1alpha1", "MCPServer", "mcpservers"),
		definition("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors"),
		object("v1", "Namespace", "", namespace, nil),
	); err != nil {
		t.Fatal(err)
	}
	client = knowing(t, bed, object("muster.giantswarm.io/v1alpha1", "MCPServer", namespace, "x", nil), object("monitoring.coreos.com/v1", "ServiceMonitor", namespace, "x", nil))
	for name, values := range map[string]string{"nothing set": "", "lab": lab, "signed in": signedIn, "everything": everything} {
		t.Run(name, func(t *testing.T) {
			for _, rendered := range render(t, values) {
				resource, err := client.Of(rendered)
				if err != nil {
					t.Fatal(err)
				}
				// Strict: a field that the server does not know is an error, not left out.
				options := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict, DryRun: []string{metav1.DryRunAll}}
				if _, err := resource.Create(t.Context(), rendered, options); err != nil {
					t.Errorf("%s %s: %v", rendered.GetKind(), rendered.GetName(), err)
				}
			}
		})
	}
	if err := client.Apply(t.Context(), render(t, everything)...); err != nil {
		t.Error(err)
	}
}
