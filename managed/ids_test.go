package managed

import (
	"regexp"
	"testing"
)

func TestC01IdsHaveTheReferencesShape(t *testing.T) {
	t.Parallel()
	id := ClusterID("acme", alice.ID, "key-1")
	if !regexp.MustCompile(`^kcl_[0-9a-hjkmnp-tv-z]{52}$`).MatchString(id) {
		t.Errorf("id %q", id)
	}
	// Ids stand in records and at the provider: another derivation loses both.
	equal(t, "id", "kcl_7sysbdtapjx8bpkebhr21yza96pa7hzfa2bpbth99g0t33q8dm5g", id)
	if name := ProviderName(id); !regexp.MustCompile(`^bc-k-[0-9a-z]{24}$`).MatchString(name) || name[5:] != id[4:28] {
		t.Errorf("R01: provider name %q of %q", name, id)
	}
	if pool := FirstNodePoolID(id, "a"); !regexp.MustCompile(`^knp_[0-9a-hjkmnp-tv-z]{52}$`).MatchString(pool) {
		t.Errorf("node pool id %q", pool)
	}
	if label := regexp.MustCompile(`^[a-z0-9_-]{1,63}$`); !label.MatchString(id) || !label.MatchString(LabelCluster) || !label.MatchString(LabelNodePool) {
		t.Error("R01: no label at the provider")
	}
}

func TestC25NoTwoInputsShareAnID(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, id := range []string{
		ClusterID("acme", "alice", "k"), ClusterID("acme", "bob", "k"), ClusterID("other", "alice", "k"), ClusterID("acme", "alice", "kk"),
		ClusterID("acmea", "lice", "k"), ClusterID("acme", "alicek", ""), ClusterID("", "acmealice", "k"),
		NodePoolID("acme", "c", "alice", "k"), NodePoolID("acme", "ca", "lice", "k"), NodePoolID("", "", "c", "k"),
		FirstNodePoolID("c", "k"), FirstNodePoolID("ck", ""),
	} {
		if seen[id[4:]] {
			t.Errorf("%s twice", id)
		}
		seen[id[4:]] = true
	}
}

func TestK07ServiceAccounts(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, role := range Roles() {
		name := ServiceAccountName(alice.ID, role)
		if !regexp.MustCompile(`^bc-u-[0-9a-f]{16}-(view|edit|admin)$`).MatchString(name) {
			t.Errorf("name %q", name)
		}
		names[name] = true
	}
	names[ServiceAccountName("another", RoleView)] = true
	equal(t, "accounts", 4, len(names))
	equal(t, "roles", []string{"view", "edit", "cluster-admin"}, []string{RoleView.ClusterRole(), RoleEdit.ClusterRole(), RoleAdmin.ClusterRole()})
	equal(t, "needs", []Action{"", ActionUpdate, ActionDelete}, []Action{RoleView.Needs(), RoleEdit.Needs(), RoleAdmin.Needs()})
	if AccessNamespace == "kube-system" {
		t.Error("accounts in kube-system")
	}
}

func TestAThrowawayPoolHasAFreeName(t *testing.T) {
	t.Parallel()
	equal(t, "free", "bc-first", ThrowawayPoolName([]string{"a"}))
	equal(t, "taken", "bc-firstxx", ThrowawayPoolName([]string{"bc-first", "bc-firstx"}))
}

func TestPins(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pin, version string
		want         bool
	}{
		{"", "1.33.5-gke.1", true}, {"1.33", "1.33.5-gke.1", true}, {"1.33.5", "1.33.5-gke.1", true}, {"1.33.5-gke.1", "1.33.5-gke.1", true},
		{"1.3", "1.33.5-gke.1", false}, {"1.33.5-gke.1", "1.33.5-gke.10", false}, {"1.34", "1.33.5-gke.1", false},
	} {
		equal(t, test.pin+" is "+test.version, test.want, pinned(test.pin, test.version))
	}
	if CompareVersions("1.33.5-gke.900", "1.33.5-gke.1000") >= 0 || CompareVersions("1.9.0", "1.10.0") >= 0 {
		t.Error("versions are compared as text")
	}
}
