package testbed_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/clustermanager/cluster-manager/internal/testbed"
)

const (
	writer = "writer@example.com"
	reader = "reader@example.com"
)

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	reviews    = schema.GroupVersionResource{Group: "authentication.k8s.io", Version: "v1", Resource: "selfsubjectreviews"}
)

func TestUsersMayWhatTheirGroupsMay(t *testing.T) {
	bed := testbed.Start(t, testbed.Options{Users: []testbed.User{
		{Email: writer, Groups: []string{"acme:editors"}}, {Email: reader, Groups: []string{"acme:viewers"}},
	}})
	apply(t, bed, binding("editors", "edit", "acme:editors"), binding("viewers", "view", "acme:viewers"))
	object := object("v1", "ConfigMap", "default", "x")

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

func TestUsersAreKnownByEmailAndGroups(t *testing.T) {
	bed := testbed.Start(t, testbed.Options{Users: []testbed.User{{Email: writer, Groups: []string{"acme:editors", "acme:all"}}}})
	token, err := bed.SignIn(t.Context(), writer)
	if err != nil {
		t.Fatal(err)
	}
	if token.Equal(bed.Token(writer)) {
		t.Error("signing in again gave the same token")
	}
	config := bed.Config(writer)
	config.BearerToken = token.Reveal()
	review := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}}
	answer, err := client(t, config).Resource(reviews).Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	user, _, _ := unstructured.NestedMap(answer.Object, "status", "userInfo")
	delete(user, "extra")
	want := map[string]any{"username": writer, "groups": []any{"acme:editors", "acme:all", "system:authenticated"}}
	if diff := cmp.Diff(want, user); diff != "" {
		t.Errorf("who calls (-want +got):\n%s", diff)
	}

	if token, err := bed.SignIn(t.Context(), "stranger@example.com"); err == nil || !token.IsZero() {
		t.Error("a stranger was signed in")
	}
}
