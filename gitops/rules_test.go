package gitops_test

import (
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops"
)

func TestProposeRules(t *testing.T) {
	pattern := func(operator, pattern string, negate bool) clustermanager.BranchRule {
		return clustermanager.BranchRule{Type: "branch_name_pattern", Parameters: map[string]any{"operator": operator, "pattern": pattern, "negate": negate}}
	}
	tests := []struct {
		name  string
		on    string
		rule  clustermanager.BranchRule
		wants string
	}{
		{"creation", branch, clustermanager.BranchRule{Type: "creation"}, "a rule of acme/fleet forbids creating branch " + branch + ": allow the branch in the repository's rulesets, or change the setting branch-prefix"},
		{"prefix", branch, pattern("starts_with", "bots/", false), `wants branch names that start with "bots/", and ` + branch + " does not: change the setting branch-prefix"},
		{"not a suffix", branch, pattern("ends_with", "-l4", true), `wants branch names that do not end with "-l4"`},
		{"contains", branch, pattern("contains", "JIRA", false), `wants branch names that contain "JIRA"`},
		{"expression", branch, pattern("regex", "^(feat|fix)/", false), `wants branch names that match "^(feat|fix)/"`},
		{"signatures", branch, clustermanager.BranchRule{Type: "required_signatures"}, "wants signed commits on branch " + branch},
		{"signatures on the base", "main", clustermanager.BranchRule{Type: "required_signatures"}, "wants signed commits on branch main, and this build cannot sign any"},
		{"fitting pattern", branch, pattern("starts_with", "cluster-manager/", false), ""},
		{"expression only the host reads", branch, pattern("regex", "(?!x)", false), ""},
		{"unknown operator", branch, pattern("sounds_like", "x", false), ""},
		{"creation of the base", "main", clustermanager.BranchRule{Type: "creation"}, ""},
		{"other", branch, clustermanager.BranchRule{Type: "pull_request"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := newDesk(t)
			d.forge.rules = map[string][]clustermanager.BranchRule{test.on: {test.rule}}
			if test.wants == "" {
				d.mustPropose(pool())
				return
			}
			d.quiet(func() {
				_, err := d.propose(pool())
				mustRefuse(t, err, test.wants)
				workspace := open(t, d.repository)
				stage(t, workspace, pool())
				_, err = workspace.Prepare(t.Context(), d.forge, branch)
				mustRefuse(t, err, test.wants)
			})
		})
	}
}

func TestRulesOfAnExistingBranch(t *testing.T) {
	d := newDesk(t)
	d.mustPropose(pool())
	d.forge.rules = map[string][]clustermanager.BranchRule{branch: {{Type: "creation"}, {Type: "required_signatures"}}}
	if outcome := d.mustPropose(pool()); outcome.Decision != gitops.DecisionKeep {
		t.Errorf("nothing is written, so no rule matters: %+v", outcome)
	}
	d.forge.rules[branch] = d.forge.rules[branch][:1]
	if outcome := d.mustPropose(clustermanager.FileSet{"x": text("1")}); outcome.Decision != gitops.DecisionReplace {
		t.Errorf("the branch is not created: %+v", outcome)
	}
}

func TestProposeNames(t *testing.T) {
	for name, want := range map[string]string{
		"cluster-manager/gazelle":                          "git keeps one's name as the other's folder: delete cluster-manager/gazelle, or",
		"cluster-manager":                                  "beside its branch cluster-manager, ",
		"cluster-manager/gazelle/add-wc1-gpu-l4/something": "beside its branch cluster-manager/gazelle/add-wc1-gpu-l4/something",
	} {
		d := newDesk(t)
		d.repository.Git("branch", name, "main")
		d.quiet(func() {
			_, err := d.propose(pool())
			mustRefuse(t, err, want)
		})
	}
	d := newDesk(t)
	workspace := open(t, d.repository)
	stage(t, workspace, pool())
	for _, name := range []string{"", "main", "a..b", "-x", "a b", "a/.b", "a.lock", "x/", "a\nb"} {
		_, err := workspace.Prepare(t.Context(), d.forge, name)
		mustRefuse(t, err, "change the setting branch-prefix")
	}
}
