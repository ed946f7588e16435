package clustermanager

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBackendStateOf(t *testing.T) {
	t.Parallel()
	settings := DefaultSettings()
	document := func(name, cluster, organization string) Backend {
		return Backend{ConfigMap: NamespacedName{Namespace: "agent-platform", Name: name}, Name: name, Cluster: cluster, Organization: organization}
	}
	wc1 := Cluster{Namespace: "org-acme", Name: "wc1", Organization: "acme"}
	own := Cluster{Namespace: "org-giantswarm", Name: "gazelle", Organization: "giantswarm", Own: true}
	const shared, ofWC1 = "model-backend-kserve", "model-backend-kserve-wc1"
	for _, test := range []struct {
		name     string
		cluster  Cluster
		backends []Backend
		want     string
	}{
		{"none", wc1, nil, ""},
		{"its own before the shared one", wc1, []Backend{document(shared, "wc1", "acme"), document(ofWC1, "wc1", "acme")}, ofWC1},
		{"its own, the shared one after it", wc1, []Backend{document(ofWC1, "wc1", "acme"), document(shared, "wc1", "acme")}, ofWC1},
		{"the shared one", wc1, []Backend{document(shared, "wc1", "acme")}, shared},
		{"one that ends like its own", wc1, []Backend{document(ofWC1, "wc1", "acme"), document("by-hand-wc1", "wc1", "acme")}, ofWC1},
		{"of no organization", wc1, []Backend{document(ofWC1, "wc1", "")}, ofWC1},
		{"of another organization", wc1, []Backend{document(ofWC1, "wc1", "research")}, ""},
		{"of another cluster", wc1, []Backend{document(shared, "wc2", "acme")}, ""},
		{"the installation's own cluster", own, []Backend{document("model-backend-kserve-gazelle", "gazelle", ""), document(shared, "gazelle", "giantswarm")}, shared},
	} {
		got := BackendStateOf(Known(test.backends), test.cluster, settings)
		want := BackendState{Registered: new(false)}
		if test.want != "" {
			want = BackendState{Registered: new(true), Backend: test.want, Namespace: "agent-platform", Name: test.want}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
	if unread := BackendStateOf(Unknown[[]Backend]("forbidden"), wc1, settings); unread.Registered != nil || unread.Error != "forbidden" {
		t.Errorf("%+v", unread)
	}
}
