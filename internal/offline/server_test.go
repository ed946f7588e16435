package offline_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/offline"
)

const settings = "installation: gazelle\ncaller: {email: jane@acme.example}\n"

// snapshotFiles hold objects in several documents, a List, a typed list, JSON, and a CRD with three versions.
var snapshotFiles = map[string]string{
	"cluster-manager.yaml": settings,
	"management/a/b/c.yaml": `# a comment alone
---
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: a, labels: {color: red}, uid: given, creationTimestamp: "2026-08-01T08:50:00Z"}
data: {k: v}
---
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: two, namespace: a, labels: {color: blue}}
- apiVersion: v1
  kind: Secret
  metadata: {name: two, namespace: a}
  stringData: {password: made-for-the-test}
`,
	"management/typed.yml": `
apiVersion: v1
kind: ConfigMapList
items:
- metadata: {name: three, namespace: b, labels: {color: red}}
`,
	"management/x.json":    `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"a"},"spec":{"nodeName":"n1"}}`,
	"management/notes.txt": "no object",
	"management/more.yaml": `
apiVersion: v1
kind: Pod
metadata: {name: q, namespace: a}
spec: {nodeName: n2}
---
apiVersion: v1
kind: Event
metadata: {name: e, namespace: default}
involvedObject: {kind: NodeClaim, name: c1}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gateways.gateway.networking.k8s.io}
spec:
  group: gateway.networking.k8s.io
  names: {kind: Gateway, listKind: GatewayList, plural: gateways, singular: gateway}
  scope: Namespaced
  versions:
  - {name: v1alpha2, served: false}
  - {name: v1beta1, served: true}
  - {name: v1, served: true}
---
apiVersion: gateway.networking.k8s.io/v1alpha2
kind: Gateway
metadata: {name: models, namespace: a}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: wc1, namespace: org-acme}
---
apiVersion: nimbus.example/v1
kind: Relay
metadata: {name: r, namespace: a}
`,
}

func openSnapshot(t *testing.T) (clients, *offline.Installation) {
	t.Helper()
	installation := open(t, offline.Options{Dir: write(t, snapshotFiles)})
	return clientsFor(t, installation.Config(), installation.Caller.KubernetesToken), installation
}

func TestGet(t *testing.T) {
	client, _ := openSnapshot(t)
	one, err := client.dynamic.Resource(configMaps).Namespace("a").Get(t.Context(), "one", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if one.GetUID() != "given" || one.GetResourceVersion() == "" || one.GetCreationTimestamp().Unix() != 1785574200 {
		t.Errorf("metadata: %v", one.Object["metadata"])
	}
	two, err := client.dynamic.Resource(configMaps).Namespace("a").Get(t.Context(), "two", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(two.GetUID()) != 36 || two.GetResourceVersion() == one.GetResourceVersion() {
		t.Errorf("metadata: %v", two.Object["metadata"])
	}
	again, _ := openSnapshot(t)
	same, err := again.dynamic.Resource(configMaps).Namespace("a").Get(t.Context(), "two", metav1.GetOptions{})
	if err != nil || same.GetUID() != two.GetUID() {
		t.Errorf("the uid is not stable: %v, %v", same.GetUID(), err)
	}
	for _, version := range []string{"v1", "v1beta1"} {
		gateway, err := client.dynamic.Resource(schema.GroupVersionResource{
			Group: gateways.Group, Version: version, Resource: gateways.Resource,
		}).Namespace("a").Get(t.Context(), "models", metav1.GetOptions{})
		if err != nil || gateway.GetAPIVersion() != "gateway.networking.k8s.io/"+version {
			t.Errorf("at %s: %v, %v", version, gateway, err)
		}
	}
}

func TestStringDataIsData(t *testing.T) {
	client, _ := openSnapshot(t)
	secret, err := client.dynamic.Resource(secrets).Namespace("a").Get(t.Context(), "two", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"password": base64.StdEncoding.EncodeToString([]byte("made-for-the-test"))}
	if diff := cmp.Diff(want, secret.Object["data"]); diff != "" || secret.Object["stringData"] != nil {
		t.Error(diff, secret.Object["stringData"])
	}
}

func TestErrorsAreStatusObjects(t *testing.T) {
	client, installation := openSnapshot(t)
	get := func(client clients, of schema.GroupVersionResource, namespace, name string) error {
		_, err := client.dynamic.Resource(of).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
		return err
	}
	if err := get(client, configMaps, "b", "one"); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), `configmaps "one" not found`) {
		t.Errorf("absent object: %v", err)
	}
	for _, of := range []schema.GroupVersionResource{
		{Group: "gateway.networking.k8s.io", Version: "v1alpha2", Resource: "gateways"},
		{Group: "unknown.example", Version: "v1", Resource: "things"},
		{Version: "v1", Resource: "widgets"},
		{Version: "v1", Resource: "nodes"},
	} {
		if err := get(client, of, "a", "models"); !apierrors.IsNotFound(err) || strings.Contains(err.Error(), "models") {
			t.Errorf("%v is not served: %v", of, err)
		}
	}
	stranger := clientsFor(t, installation.Config(), clustermanager.NewSecret("another"))
	if err := get(stranger, configMaps, "a", "one"); !apierrors.IsUnauthorized(err) {
		t.Errorf("another's token: %v", err)
	}
	if err := get(clientsFor(t, installation.Config(), clustermanager.Secret{}), configMaps, "a", "one"); !apierrors.IsUnauthorized(err) {
		t.Errorf("no token: %v", err)
	}
	if _, err := stranger.discovery.ServerGroupsWithContext(t.Context()); !apierrors.IsUnauthorized(err) {
		t.Errorf("discovery with another's token: %v", err)
	}
	if _, err := client.dynamic.Resource(configMaps).Watch(t.Context(), metav1.ListOptions{}); !apierrors.IsMethodNotSupported(err) {
		t.Errorf("watch: %v", err)
	}
}

func TestList(t *testing.T) {
	client, _ := openSnapshot(t)
	for _, test := range []struct {
		name      string
		of        schema.GroupVersionResource
		namespace string
		options   metav1.ListOptions
		want      []string
	}{
		{"every namespace", configMaps, "", metav1.ListOptions{}, []string{"a/one", "a/two", "b/three"}},
		{"one namespace", configMaps, "a", metav1.ListOptions{}, []string{"a/one", "a/two"}},
		{"empty namespace", configMaps, "c", metav1.ListOptions{}, nil},
		{"label", configMaps, "", metav1.ListOptions{LabelSelector: "color=red"}, []string{"a/one", "b/three"}},
		{"labels", configMaps, "", metav1.ListOptions{LabelSelector: "color in (red,blue),color!=red"}, []string{"a/two"}},
		{"name", configMaps, "", metav1.ListOptions{FieldSelector: "metadata.name=three"}, []string{"b/three"}},
		{"namespace field", configMaps, "", metav1.ListOptions{FieldSelector: "metadata.namespace!=a"}, []string{"b/three"}},
		{"node of pods", pods, "", metav1.ListOptions{FieldSelector: "spec.nodeName=n2"}, []string{"a/q"}},
		{"involved object", events, "", metav1.ListOptions{FieldSelector: "involvedObject.name=c1,involvedObject.kind=NodeClaim"}, []string{"default/e"}},
		{"other involved object", events, "", metav1.ListOptions{FieldSelector: "involvedObject.name=c2"}, nil},
		{"no object of a Flux kind", ociRepository, "", metav1.ListOptions{}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			list, err := client.dynamic.Resource(test.of).Namespace(test.namespace).List(t.Context(), test.options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, names(list)); diff != "" {
				t.Error(diff)
			}
			if list.GetResourceVersion() == "" {
				t.Error("the list has no resource version")
			}
		})
	}
	for _, options := range []metav1.ListOptions{
		{FieldSelector: "spec.nodeName=n2"}, {LabelSelector: "=="}, {Continue: "%"},
	} {
		if _, err := client.dynamic.Resource(configMaps).List(t.Context(), options); !apierrors.IsBadRequest(err) {
			t.Errorf("%+v: %v", options, err)
		}
	}
}

func TestListInParts(t *testing.T) {
	client, _ := openSnapshot(t)
	var found []string
	options := metav1.ListOptions{Limit: 1}
	for range 3 {
		list, err := client.dynamic.Resource(configMaps).List(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, names(list)...)
		options.Continue = list.GetContinue()
	}
	if diff := cmp.Diff([]string{"a/one", "a/two", "b/three"}, found); diff != "" || options.Continue != "" {
		t.Errorf("continue %q: %s", options.Continue, diff)
	}
}

func TestMetadataAlone(t *testing.T) {
	client, _ := openSnapshot(t)
	secret, err := client.metadata.Resource(secrets).Namespace("a").Get(t.Context(), "two", metav1.GetOptions{})
	if err != nil || secret.Name != "two" || secret.UID == "" {
		t.Fatalf("%+v, %v", secret, err)
	}
	list, err := client.metadata.Resource(configMaps).List(t.Context(), metav1.ListOptions{LabelSelector: "color=red"})
	if err != nil || len(list.Items) != 2 || list.Items[1].Name != "three" {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, err := client.metadata.Resource(secrets).Namespace("a").Get(t.Context(), "one", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

func TestMetadataAnswerHoldsNoData(t *testing.T) {
	_, installation := openSnapshot(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		installation.Config().Host+"/api/v1/namespaces/a/secrets/two", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+installation.Caller.KubernetesToken.Reveal())
	request.Header.Set("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content := new(strings.Builder)
	if err := response.Write(content); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(content.String(), "PartialObjectMetadata") || strings.Contains(content.String(), "password") {
		t.Error("the answer is more than the metadata")
	}
}

func TestDiscovery(t *testing.T) {
	client, _ := openSnapshot(t)
	if _, err := client.discovery.ServerVersionWithContext(t.Context()); err != nil {
		t.Error(err)
	}
	groups, lists, err := client.discovery.ServerGroupsAndResourcesWithContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string][]string{}
	for _, group := range groups {
		for _, version := range group.Versions {
			versions[group.Name] = append(versions[group.Name], version.Version)
		}
	}
	for name, want := range map[string][]string{
		"": {"v1"}, "apps": {"v1"}, "batch": {"v1"}, "storage.k8s.io": {"v1"}, "rbac.authorization.k8s.io": {"v1"},
		"gateway.networking.k8s.io": {"v1", "v1beta1"}, "helm.toolkit.fluxcd.io": {"v2"},
		"cluster.x-k8s.io": {"v1beta1"}, "nimbus.example": {"v1"}, "cert-manager.io": nil, "serving.kserve.io": nil,
	} {
		if diff := cmp.Diff(want, versions[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	kinds := map[string]metav1.APIResource{}
	for _, list := range lists {
		for _, served := range list.APIResources {
			kinds[list.GroupVersion+"/"+served.Kind] = served
		}
	}
	for kind, want := range map[string]string{
		"v1/ConfigMap": "configmaps", "gateway.networking.k8s.io/v1/Gateway": "gateways",
		"nimbus.example/v1/Relay": "relays", "source.toolkit.fluxcd.io/v1/OCIRepository": "ocirepositories",
	} {
		if kinds[kind].Name != want || !kinds[kind].Namespaced {
			t.Errorf("%s: %+v", kind, kinds[kind])
		}
	}
	if _, there := kinds["cluster.x-k8s.io/v1beta1/MachinePool"]; there {
		t.Error("a kind without an object or a definition is served")
	}
	if kinds["v1/Node"].Namespaced {
		t.Error("nodes are namespaced")
	}
	if _, err := client.discovery.ServerResourcesForGroupVersionWithContext(t.Context(), "cluster.x-k8s.io/v1beta2"); !apierrors.IsNotFound(err) {
		t.Errorf("a version that is not served: %v", err)
	}
	list, err := client.discovery.ServerResourcesForGroupVersionWithContext(t.Context(), clusterObjects.GroupVersion().String())
	if err != nil || len(list.APIResources) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := client.dynamic.Resource(gitRepository).Namespace("flux").Get(t.Context(), "fleet", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}
