package gitops

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// BranchName is the branch of a proposal: <prefix>/<installation>/<verb>-<subject>-…, such as
// cluster-manager/gazelle/add-wc1-gpu. An empty installation leaves its segment out.
func BranchName(prefix, installation, verb string, subject ...string) string {
	segments := []string{strings.Trim(prefix, "/")}
	if installation != "" {
		segments = append(segments, installation)
	}
	return strings.TrimPrefix(strings.Join(append(segments, strings.Join(append([]string{verb}, subject...), "-")), "/"), "/")
}

// invalidBranch is what git refuses in a branch name, besides the names of its own.
var invalidBranch = regexp.MustCompile(`^-|^/|//|/$|\.\.|(^|/)\.|\.(/|$)|\.lock(/|$)|@\{|^@$|^$|[\x00-\x20\x7f~^:?*\[\\]`)

func checkBranch(branch string) error {
	if invalidBranch.MatchString(branch) {
		return clustermanager.Refuse("%q is no branch name that git takes: change the setting branch-prefix to a plain name", branch)
	}
	return nil
}

// ruleWords are the ways a branch_name_pattern rule compares, in words and as a function of name and pattern.
var ruleWords = map[string]struct {
	words   string
	matches func(branch, pattern string) bool
}{
	"starts_with": {"start with", strings.HasPrefix},
	"ends_with":   {"end with", strings.HasSuffix},
	"contains":    {"contain", strings.Contains},
	"regex": {"match", func(branch, pattern string) bool {
		expression, err := regexp.Compile(pattern)
		// What only the host can read is left to the host.
		return err != nil || expression.MatchString(branch)
	}},
}

// refuseRules refuses to write a branch where its rules are known to forbid it, or where those of the base would keep
// it from being merged. Rules of other types pass: the host says no to the push where they matter.
func (w *Workspace) refuseRules(branch string, creating bool, rules, baseRules []clustermanager.BranchRule) error {
	repository := w.repository.FullName()
	for _, rule := range rules {
		switch rule.Type {
		case "creation":
			if creating {
				return clustermanager.Refuse("a rule of %s forbids creating branch %s: allow the branch in the repository's rulesets, or change the setting branch-prefix to a prefix that is allowed", repository, branch)
			}
		case "branch_name_pattern":
			if wanted := brokenPattern(branch, rule.Parameters); wanted != "" {
				return clustermanager.Refuse("a rule of %s wants branch names that %s, and %s does not: change the setting branch-prefix accordingly, or allow the branch in the repository's rulesets", repository, wanted, branch)
			}
		}
	}
	for _, at := range []struct {
		branch string
		rules  []clustermanager.BranchRule
	}{{branch, rules}, {w.repository.Branch, baseRules}} {
		if slices.ContainsFunc(at.rules, func(rule clustermanager.BranchRule) bool { return rule.Type == "required_signatures" }) {
			return clustermanager.Refuse("a rule of %s wants signed commits on branch %s, and this build cannot sign any: exempt the branch from the rule", repository, at.branch)
		}
	}
	return nil
}

// brokenPattern says what a branch_name_pattern rule wants of names, "" where the branch does it.
func brokenPattern(branch string, parameters map[string]any) string {
	operator, _ := parameters["operator"].(string)
	pattern, _ := parameters["pattern"].(string)
	negate, _ := parameters["negate"].(bool)
	rule, known := ruleWords[operator]
	if !known || rule.matches(branch, pattern) != negate {
		return ""
	}
	if negate {
		return fmt.Sprintf("do not %s %q", rule.words, pattern)
	}
	return fmt.Sprintf("%s %q", rule.words, pattern)
}
