package localforge

import (
	"fmt"
	"regexp"
	"strings"
)

// covers says whether the rule counts for a branch.
func (r Rule) covers(branch string) bool {
	return r.Pattern == "~ALL" || matches(strings.TrimPrefix(r.Pattern, "refs/heads/"), branch)
}

// matches compares with a pattern: * stands for anything within a segment, ** for anything, "" for everything.
func matches(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	var expression strings.Builder
	for pattern != "" {
		switch {
		case strings.HasPrefix(pattern, "**"):
			expression.WriteString(".*")
			pattern = pattern[2:]
			continue
		case pattern[0] == '*':
			expression.WriteString("[^/]*")
		case pattern[0] == '?':
			expression.WriteString("[^/]")
		default:
			expression.WriteString(regexp.QuoteMeta(pattern[:1]))
		}
		pattern = pattern[1:]
	}
	found, err := regexp.MatchString("^(?s:"+expression.String()+")$", text)
	return err == nil && found
}

// violations says, by the type of a rule, what a push does against it; "" is nothing. A rule of another type is
// answered but not enforced.
var violations = map[string]func(Rule, command) string{
	"creation": func(_ Rule, c command) string {
		return when(c.creates(), "Cannot create ref due to creations being restricted.")
	},
	"update": func(_ Rule, c command) string {
		return when(!c.creates() && !c.deletes(), "Cannot update this protected ref.")
	},
	"deletion": func(_ Rule, c command) string { return when(c.deletes(), "Cannot delete this protected ref.") },
	"pull_request": func(_ Rule, c command) string {
		return when(!c.creates(), "Changes must be made through a pull request.")
	},
	// The forge can verify no signature, so no commit has one for it.
	"required_signatures": func(_ Rule, c command) string {
		return when(!c.deletes(), "Commits must have verified signatures.")
	},
	"branch_name_pattern": branchNameViolation,
}

func when(broken bool, message string) string {
	if broken {
		return message
	}
	return ""
}

// nameOperators are the operators of branch_name_pattern with the words of their refusal.
var nameOperators = map[string]struct {
	words string
	match func(name, pattern string) bool
}{
	"starts_with": {"start with", strings.HasPrefix},
	"ends_with":   {"end with", strings.HasSuffix},
	"contains":    {"contain", strings.Contains},
	"regex": {"match a given regex pattern:", func(name, pattern string) bool {
		expression, err := regexp.Compile(pattern)
		return err == nil && expression.MatchString(name)
	}},
}

func branchNameViolation(rule Rule, c command) string {
	if c.deletes() {
		return ""
	}
	name, _ := rule.Parameters["operator"].(string)
	pattern, _ := rule.Parameters["pattern"].(string)
	negate, _ := rule.Parameters["negate"].(bool)
	operator, known := nameOperators[name]
	if !known || operator.match(c.branch(), pattern) != negate {
		return ""
	}
	verb := "must"
	if negate {
		verb = "must not"
	}
	return fmt.Sprintf("Branch name %s %s %s", verb, operator.words, pattern)
}

// refusalOf returns what the host says to a push that breaks rules, line by line; "" when it breaks none.
func (f *Forge) refusalOf(repo repository, commands []command) string {
	var text strings.Builder
	for _, c := range commands {
		var broken []string
		for _, rule := range f.accounts.rulesOf(repo.fullName(), c.branch()) {
			if check, known := violations[rule.Type]; known && c.branch() != "" {
				if message := check(rule, c); message != "" {
					broken = append(broken, message)
				}
			}
		}
		if len(broken) > 0 {
			fmt.Fprintf(&text, "error: GH013: Repository rule violations found for %s.\n\n- %s\n\n", c.ref, strings.Join(broken, "\n- "))
		}
	}
	return text.String()
}
