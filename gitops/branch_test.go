package gitops

import "testing"

func TestBranchName(t *testing.T) {
	tests := []struct {
		prefix, installation, verb string
		subject                    []string
		want                       string
	}{
		{"cluster-manager", "gazelle", "add", []string{"wc1", "gpu-l4"}, "cluster-manager/gazelle/add-wc1-gpu-l4"},
		{"cluster-manager", "", "remove-cluster", []string{"wc1"}, "cluster-manager/remove-cluster-wc1"},
		{"bots/cm/", "gazelle", "enable-serving", []string{"wc1"}, "bots/cm/gazelle/enable-serving-wc1"},
		{"", "gazelle", "add", []string{"wc1"}, "gazelle/add-wc1"},
	}
	for _, test := range tests {
		if got := BranchName(test.prefix, test.installation, test.verb, test.subject...); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestIsOurs(t *testing.T) {
	tests := map[string]bool{
		message("feat(wc1): add\nGPU", Trailer("create_node_pool", "gazelle/wc1/gpu")):              true,
		"feat: x\r\n\r\nCluster-Manager: create_node_pool a/b\r\n":                                  true,
		"feat: x\n\nmore\n\nCluster-Manager: create_node_pool a/b\nCo-authored-by: A <a@b.example>": true,
		"Cluster-Manager: in the title":                                                             false,
		"feat: x\n\nCluster-Manager: create_node_pool a/b\n\nand by hand":                           false,
		"feat: x\n\nnot Cluster-Manager: a":                                                         false,
		"Merge branch 'main'":                                                                       false,
		"":                                                                                          false,
	}
	for text, want := range tests {
		if got := isOurs(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if got, want := message("a\nb", Trailer("create_node_pool", "wc1")), "a b\n\nCluster-Manager: create_node_pool wc1\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
