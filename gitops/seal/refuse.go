package seal

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// selector is what a rule for Secrets needs, so that their values are encrypted and nothing else is.
const selector = "encrypted_regex: ^(data|stringData)$"

// quoteLimit bounds what a message quotes of a configuration or of sops, in characters.
const quoteLimit = 240

// cause is what sops says of a configuration. A private key that was put where a recipient belongs is not repeated.
func cause(err error) string {
	text := strings.TrimPrefix(err.Error(), "error loading config: ")
	if upper := strings.ToUpper(text); strings.Contains(upper, "AGE-SECRET-KEY-") || strings.Contains(upper, "AGE-PLUGIN-") {
		return "a private age key stands where a recipient belongs"
	}
	return clustermanager.OneLine(text, quoteLimit)
}

func (c *configuration) refuse(format string, arguments ...any) error {
	return clustermanager.Refuse("%s in %s %s", c.path, c.repository, fmt.Sprintf(format, arguments...))
}

func (c *configuration) refuseUnreadable(err error) error {
	return c.refuse("is no sops configuration (%s): mend it", cause(err))
}

func (r *creationRule) refuse(format string, arguments ...any) error {
	return clustermanager.Refuse("%s in %s, which rules %s, %s", r.Rule, r.repository, r.Path, fmt.Sprintf(format, arguments...))
}

func (r *creationRule) refuseSelector(format string, arguments ...any) error {
	return r.refuse("%s: make %q its only selector", fmt.Sprintf(format, arguments...), selector)
}

// refuseWithoutAge is for a key group, of several, that no age identity could open.
func (r *creationRule) refuseWithoutAge(index, groups int) error {
	where := ""
	if groups > 1 {
		where = fmt.Sprintf(" in its key group %d", index+1)
	}
	names := ""
	if len(r.leftOut) > 0 {
		names = ", only " + clustermanager.OneLine(strings.Join(r.leftOut, ", "), quoteLimit)
	}
	return r.refuse("names no age recipient%s%s: add \"age: <recipient>\"", where, names)
}

func (c *configuration) refuseNoRule(file string) error {
	return c.refuse("has no rule for %s: add \"%s\" to its creation_rules", file, ruleToAdd(c.relative(file)))
}

func refuseNoConfiguration(repository, file, ignored string) error {
	hint := ""
	if ignored != "" {
		hint = fmt.Sprintf(" (%s is not read, the name must end in .yaml)", ignored)
	}
	return clustermanager.Refuse("%s has no %s%s that says for whom %s is sealed: add one at the root with \"creation_rules: [%s]\"",
		repository, configurationName, hint, file, ruleToAdd(file))
}

// ruleToAdd is a rule for the sealed files of a file's folder, in flow style.
func ruleToAdd(file string) string {
	folder := ""
	if path.Dir(file) != "." {
		folder = path.Dir(file) + "/"
	}
	pattern := "^" + regexp.QuoteMeta(folder) + `[^/]*\.enc\.yaml$`
	return fmt.Sprintf("{path_regex: '%s', %s, age: <recipient>}", strings.ReplaceAll(pattern, "'", "''"), selector)
}

func refuseDecryption(options Options, file string) error {
	return clustermanager.Refuse("Kustomization %s does not decrypt, so Flux could not apply %s in %s: "+
		"add \"decryption: {provider: sops, secretRef: {name: <Secret with the age identity>}}\" to its spec",
		options.Kustomization, file, options.Repository)
}
