package testbed_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/clustermanager/cluster-manager/internal/testbed"
)

const (
	writer = "writer@example.com"
	reader = "reader@example.com"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func TestUsersMayWhatTheirGroupsMay(t *testing.T) {
	bed := testbed.Start(t, testbed.Options{Users: []testbed.User{
		{Email: writer, Groups: []string{"acme:editors"}}, {Email: reader, Groups: []string{"acme:viewers"}},
	}})
	apply(t, bed, binding("editors", "edit", "Group", "acme:editors"), binding("viewers", "view", "Group", "acme:viewers"))
	object := objects(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: default}}")[0]

	for _, test := range []struct {
		user           string
		creates, reads func(error) bool
	}{
		{reader, apierrors.IsForbidden, good},
		{writer, good, good},
		{"nobody@example.com", apierrors.IsUnauthorized, apierrors.IsUnauthorized},
	} {
		client := client(t, bed.Config(test.user)).Resource(configMaps).Namespace("default")
		if _, err := client.Create(t.Context(), object, metav1.CreateOptions{}); !test.creates(err) {
			t.Errorf("%s creates: %v", test.user, err)
		}
		if _, err := client.List(t.Context(), metav1.ListOptions{}); !test.reads(err) {
			t.Errorf("%s lists: %v", test.user, err)
		}
	}
}

func good(err error) bool { return err == nil }

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

// binding gives a group or a user a role of the API server's own in the namespace default.
func binding(name, role, kind, subject string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
		"metadata": map[string]any{"name": name, "namespace": "default"},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
		"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": subject}},
	}}
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
