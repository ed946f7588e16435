package seal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ruled makes a configuration whose rules have the patterns, and a recipient of its own each; "" is no path_regex.
func ruled(recipient string, patterns ...string) string {
	var text strings.Builder
	text.WriteString("# for whom the files are sealed\ncreation_rules:\n")
	for _, pattern := range patterns {
		fmt.Fprintf(&text, "- %s\n  age: %s\n", only, recipient)
		if pattern != "" {
			fmt.Fprintf(&text, "  path_regex: '%s'\n", pattern)
		}
	}
	return text.String()
}

// placed is a rule's configuration with its place there.
type placed struct {
	Config       string
	Number, Line int
}

func placeOf(rule Rule) placed {
	number, line := rule.Place()
	return placed{rule.Config, number, line}
}

func TestRuleOfAPath(t *testing.T) {
	one := identity(t).Recipient().String()
	tests := map[string]struct {
		base []string
		want placed
	}{
		"no path_regex":    {[]string{".sops.yaml", ruled(one, "")}, placed{".sops.yaml", 1, 3}},
		"second":           {[]string{".sops.yaml", ruled(one, "^apps/", "^clusters/")}, placed{".sops.yaml", 2, 6}},
		"unanchored":       {[]string{".sops.yaml", ruled(one, "^apps/", "cluster-manager/.*-secret")}, placed{".sops.yaml", 2, 6}},
		"nearest":          {[]string{".sops.yaml", ruled(one, ""), "clusters/.sops.yaml", ruled(one, "^clusters/", "^wc1/")}, placed{"clusters/.sops.yaml", 2, 6}},
		"beside the file":  {[]string{"clusters/wc1/cluster-manager/.sops.yaml", ruled(one, "^wc1-gpu-l4-values-secret")}, placed{"clusters/wc1/cluster-manager/.sops.yaml", 1, 3}},
		"of another place": {[]string{".sops.yaml", ruled(one, ""), "apps/.sops.yaml", ruled(one, "")}, placed{".sops.yaml", 1, 3}},
		"document marker":  {[]string{".sops.yaml", "---\n" + ruled(one, "a^", "")}, placed{".sops.yaml", 2, 7}},
		"two documents":    {[]string{".sops.yaml", ruled(one, "a^", "") + "---\nother: 1\n"}, placed{".sops.yaml", 0, 0}},
		"flow style":       {[]string{".sops.yaml", `{"creation_rules": [{"path_regex": "^apps/", "age": ""}, {"encrypted_regex": "^(data|stringData)$", "age": "` + one + `"}]}`}, placed{".sops.yaml", 2, 0}},
		"indented": {[]string{".sops.yaml", "creation_rules:\n\n  # apps\n  - path_regex: ^apps/\n    pgp: >-\n      - no\n\n  -\n    age: " + one + "\n    " + only + "\nstores: {}\n"},
			placed{".sops.yaml", 2, 8}},
		"merge key":         {[]string{".sops.yaml", "a: &a\n  path_regex: ^apps/\ncreation_rules:\n- <<: *a\n- <<: [*a]\n- age: " + one + "\n  " + only + "\n"}, placed{".sops.yaml", 3, 6}},
		"a dash in quotes":  {[]string{".sops.yaml", "creation_rules:\n- path_regex: '^a\n\n- '\n- age: " + one + "\n  " + only + "\n"}, placed{".sops.yaml", 2, 0}},
		"a number":          {[]string{".sops.yaml", "creation_rules:\n- path_regex: 12345\n- age: " + one + "\n  " + only + "\n"}, placed{".sops.yaml", 2, 3}},
		"dots and climbing": {[]string{".sops.yaml", ruled(one, `\.\./etc`, "../wc1/")}, placed{".sops.yaml", 2, 6}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result, _ := sealOne(t, repository(test.base...))
			rule := result.Rules[0]
			if diff := cmp.Diff(test.want, placeOf(rule)); diff != "" {
				t.Error(diff)
			}
			if len(result.Rules) != 1 || rule.Path != secrets || rule.Recipients != 1 {
				t.Errorf("rules %v", result.Rules)
			}
		})
	}
}

func TestRuleIsNamed(t *testing.T) {
	for want, at := range map[string]placed{
		"rule 2 (line 7) of .sops.yaml": {".sops.yaml", 2, 7},
		"rule 1 of a/.sops.yaml":        {"a/.sops.yaml", 1, 0},
		"the rule of .sops.yaml":        {".sops.yaml", 0, 0},
	} {
		rule := Rule{Config: at.Config, place: func() (int, int) { return at.Number, at.Line }}
		if rule.String() != want {
			t.Errorf("%s, want %s", rule, want)
		}
	}
}

// Patterns are written with slashes and match the path in the repository, whatever system the server was built for.
func TestSops892SlashesMatchOnEverySystem(t *testing.T) {
	one := identity(t).Recipient().String()
	result, _ := sealOne(t, repository("clusters/.sops.yaml", ruled(one, `\\`, "^wc1/cluster-manager/[^/]+$")))
	if placeOf(result.Rules[0]).Number != 2 {
		t.Errorf("%s", result.Rules[0])
	}
}

// The whole path in the repository is matched, not the file's name.
func TestCommunitySops226FullPathIsMatched(t *testing.T) {
	one := identity(t).Recipient().String()
	result, _ := sealOne(t, repository(".sops.yaml", ruled(one, `^[^/]*\.enc\.yaml$`, `^clusters/wc1/cluster-manager/.*\.enc\.yaml$`)))
	if placeOf(result.Rules[0]).Number != 2 {
		t.Errorf("%s", result.Rules[0])
	}
}

// Several rules match: the first is used, alone, and the result names it.
func TestSops894FirstMatchWins(t *testing.T) {
	first, second := identity(t), identity(t)
	config := ruled(first.Recipient().String(), "^clusters/") + strings.TrimPrefix(ruled(second.Recipient().String(), "^clusters/wc1/"), "# for whom the files are sealed\ncreation_rules:\n")
	result, content := sealOne(t, repository(".sops.yaml", config))
	if got := result.Rules[0].String(); got != "rule 1 (line 3) of .sops.yaml" {
		t.Error(got)
	}
	assertSame(t, plain, opened(t, content, first))
	if strings.Contains(string(content), second.Recipient().String()) {
		t.Error("sealed for the second rule as well")
	}
}

func TestSopsPR966EveryRecipientIsUsed(t *testing.T) {
	one, two, three := identity(t), identity(t), identity(t)
	config := rulesOf(only, "age: "+strings.Join([]string{one.Recipient().String(), two.Recipient().String(), three.Recipient().String()}, ", "))
	result, content := sealOne(t, repository(".sops.yaml", config))
	if count := strings.Count(string(content), "recipient: age1"); count != 3 || result.Rules[0].Recipients != 3 {
		t.Errorf("%d recipients in the file, %d in the result", count, result.Rules[0].Recipients)
	}
	assertSame(t, plain, opened(t, content, three))
}

// With mac_only_encrypted a label can be edited by hand and the file still opens; without it, it does not.
func TestSops1512MacOnlyEncryptedIsHonoured(t *testing.T) {
	key := identity(t)
	_, content := sealOne(t, repository(".sops.yaml", rulesOf(only, "mac_only_encrypted: true", "age: "+key.Recipient().String())))
	edited := strings.Replace(string(content), "giantswarm.io/cluster: wc1", "giantswarm.io/cluster: wc9", 1)
	assertSame(t, strings.Replace(plain, "giantswarm.io/cluster: wc1", "giantswarm.io/cluster: wc9", 1), opened(t, []byte(edited), key))
}

// Files of several documents and empty ones lose text in sops, so they never get there; what is sealed opens with the
// first letter in place.
func TestSops742OneDocumentPerFile(t *testing.T) {
	key := identity(t)
	base := repository(".sops.yaml", rulesOf(only, "age: "+key.Recipient().String()))
	for _, document := range []string{"---\n", "---\n---\n" + plain, plain + "---\n", "\n\n"} {
		if _, err := Files(base, change(secrets, document), options()); err == nil {
			t.Errorf("%q was sealed", document[:3])
		}
	}
	result, err := Files(base, change(secrets, "---\n"+plain), options())
	if err != nil {
		t.Fatal(err)
	}
	assertSame(t, plain, opened(t, result.Files[secrets].Content, key))
}

// A rule may cover every file of a folder: what is no Secret is left alone all the same.
func TestFlux3367OnlySecretsAreSealed(t *testing.T) {
	files := change(secrets, plain)
	release := "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: secret-pool}\n"
	files["clusters/wc1/cluster-manager/secret-pool.yaml"] = fileOf(release)
	result, err := Files(repository(".sops.yaml", ruled(identity(t).Recipient().String(), "")), files, options())
	if err != nil {
		t.Fatal(err)
	}
	if got := string(result.Files["clusters/wc1/cluster-manager/secret-pool.yaml"].Content); got != release {
		t.Errorf("the release was changed:\n%s", got)
	}
	if _, err := Files(repository(".sops.yaml", ruled(identity(t).Recipient().String(), "")), change(secrets, release), options()); err == nil {
		t.Error("a HelmRelease was sealed")
	}
}
