package seal

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/getsops/sops/v3/decrypt"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// rulesOf makes a configuration of one rule for everything.
func rulesOf(lines ...string) string {
	return "creation_rules:\n- " + strings.Join(lines, "\n  ") + "\n"
}

func TestSealedFileEqualsThePlan(t *testing.T) {
	one, two := identity(t), identity(t)
	both := one.Recipient().String() + "," + two.Recipient().String()
	tests := map[string]struct {
		rule       string
		document   string
		recipients int
	}{
		"regex":              {rulesOf(only, "age: "+one.Recipient().String()), plain, 1},
		"list of ages":       {rulesOf(only, "age: ["+both+"]"), plain, 2},
		"blanks and commas":  {rulesOf(only, "age: >-\n    "+one.Recipient().String()+" ,\n    "+two.Recipient().String()+","), plain, 2},
		"a recipient twice":  {rulesOf(only, "age: "+both+","+one.Recipient().String()), plain, 2},
		"mac_only_encrypted": {rulesOf(only, "mac_only_encrypted: true", "age: "+both), plain, 2},
		"unencrypted_regex":  {rulesOf("unencrypted_regex: ^(apiVersion|kind|metadata|type)$", "age: "+both), plain, 2},
		"encrypted_suffix":   {rulesOf("encrypted_suffix: Data", "age: "+both), plain, 2},
		"encrypted_comment_regex": {rulesOf("encrypted_comment_regex: sealed", "age: "+both),
			strings.Replace(plain, "stringData:", "# sealed\nstringData:", 1), 2},
		"one key group": {rulesOf(only, "key_groups:", "- age: ["+both+"]"), plain, 2},
		"merged groups": {rulesOf(only, "key_groups:", "- age: ["+one.Recipient().String()+"]", "  merge:", "  - age: ["+both+"]"), plain, 2},
		"anchors and merge keys": {"creation_rules:\n- &first\n  path_regex: ^nowhere\n  " + only + "\n  age: " + both +
			"\n- <<: *first\n  path_regex: ^clusters/\n", plain, 2},
		"data":              {rulesOf(only, "age: "+both), strings.NewReplacer("stringData:", "data:", canary, "c2VjcmV0").Replace(plain), 2},
		"windows line ends": {strings.ReplaceAll(rulesOf(only, "age: "+both), "\n", "\r\n"), plain, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := change(secrets, test.document)
			result, err := Files(repository(".sops.yaml", test.rule), files, options())
			if err != nil {
				t.Fatal(err)
			}
			assertNoLeak(t, result)
			if files[secrets].Plain.Reveal() != test.document || files[secrets].Content != nil {
				t.Error("the files given were changed")
			}
			content := result.Files[secrets].Content
			if got := len(metadata(t, content).KeyGroups[0]); got != test.recipients || result.Rules[0].Recipients != got {
				t.Errorf("%d recipients in the file, %d in the result, want %d", got, result.Rules[0].Recipients, test.recipients)
			}
			assertEveryLeaf(t, test.document, content)
			assertSame(t, test.document, opened(t, content, one))
			if test.recipients == 2 {
				assertSame(t, test.document, opened(t, content, two))
			}
			if len(result.Warnings) > 0 || len(result.Kept) > 0 {
				t.Errorf("warnings %q, kept %q", result.Warnings, result.Kept)
			}
		})
	}
}

// assertEveryLeaf walks the sealed file without the code under test.
func assertEveryLeaf(t *testing.T, document string, content []byte) {
	t.Helper()
	got := object(t, string(content)).(map[string]any)
	delete(got, "sops")
	for field, want := range object(t, document).(map[string]any) {
		if field != "data" && field != "stringData" {
			if fmt.Sprint(got[field]) != fmt.Sprint(want) {
				t.Errorf("%s is %v, want %v", field, got[field], want)
			}
			continue
		}
		sealed := got[field].(map[string]any)
		if !slices.Equal(slices.Sorted(maps.Keys(sealed)), slices.Sorted(maps.Keys(want.(map[string]any)))) {
			t.Errorf("%s has the keys %v", field, slices.Sorted(maps.Keys(sealed)))
		}
		for key, text := range sealed {
			if text != "" && !strings.HasPrefix(text.(string), "ENC[AES256_GCM,") || text == "" && key != "empty" {
				t.Errorf("%s.%s is not encrypted", field, key)
			}
		}
	}
}

func TestEveryKindOfAgeRecipientOpensTheFile(t *testing.T) {
	hybrid, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	ed25519Line, ed25519Key := sshEd25519(t)
	rsaLine, rsaKey := sshRSA(t)
	rule := rulesOf(only, "age:", "- "+hybrid.Recipient().String(), "- "+ed25519Line, "- "+rsaLine)
	result, content := sealOne(t, repository(".sops.yaml", rule))
	if result.Rules[0].Recipients != 3 {
		t.Errorf("%d recipients", result.Rules[0].Recipients)
	}
	assertSame(t, plain, opened(t, content, hybrid))
	for name, key := range map[string][]byte{"ssh-ed25519": ed25519Key, "ssh-rsa": rsaKey} {
		t.Run(name, func(t *testing.T) {
			noIdentities(t)
			file := filepath.Join(t.TempDir(), "id")
			if err := os.WriteFile(file, key, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("SOPS_AGE_SSH_PRIVATE_KEY_FILE", file)
			text, err := decrypt.Data(content, "yaml")
			if err != nil {
				t.Fatal(err)
			}
			assertSame(t, plain, string(text))
		})
	}
}

// Two groups need one identity of each: the threshold that sops gives them by default must be in the file.
func TestKeyGroupsShareTheDataKey(t *testing.T) {
	one, two, three := identity(t), identity(t), identity(t)
	groups := []string{"- age: [" + one.Recipient().String() + "]", "- age: [" + two.Recipient().String() + "]", "- age: [" + three.Recipient().String() + "]"}
	for threshold, lines := range map[int][]string{3: {only, "key_groups:"}, 2: {only, "shamir_threshold: 2", "key_groups:"}} {
		_, content := sealOne(t, repository(".sops.yaml", rulesOf(append(lines, groups...)...)))
		if got := metadata(t, content).ShamirThreshold; got != threshold {
			t.Errorf("threshold %d, want %d", got, threshold)
		}
		noIdentities(t)
		t.Setenv("SOPS_AGE_KEY", one.String()+"\n"+two.String())
		text, err := decrypt.Data(content, "yaml")
		switch {
		case threshold == 2 && err != nil:
			t.Errorf("two of three identities do not open the file: %v", err)
		case threshold == 2:
			assertSame(t, plain, string(text))
		case err == nil:
			t.Error("two of three identities open a file that needs three")
		}
		assertSame(t, plain, opened(t, content, joined{one, two, three}))
	}
}

type joined []*age.X25519Identity

func (j joined) String() string {
	var lines []string
	for _, one := range j {
		lines = append(lines, one.String())
	}
	return strings.Join(lines, "\n")
}

func TestStockSopsOpensTheFile(t *testing.T) {
	one, two := identity(t), identity(t)
	hybrid, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	all := one.Recipient().String() + "," + two.Recipient().String() + "," + hybrid.Recipient().String()
	tests := map[string]struct {
		rule     string
		identity fmt.Stringer
	}{
		"first":        {rulesOf(only, "age: "+all), one},
		"second":       {rulesOf(only, "age: "+all), two},
		"post-quantum": {rulesOf(only, "age: "+all), hybrid},
		"groups": {rulesOf(only, "key_groups:", "- age: ["+one.Recipient().String()+"]", "- age: ["+two.Recipient().String()+"]"),
			joined{one, two}},
		"mac": {rulesOf(only, "mac_only_encrypted: true", "age: "+all), two},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, content := sealOne(t, repository(".sops.yaml", test.rule))
			assertSame(t, plain, openedByCommand(t, content, test.identity))
		})
	}
}

func TestStoresIndent(t *testing.T) {
	recipient := identity(t).Recipient().String()
	for indent, config := range map[string]string{"    ": "", "  ": "stores:\n  yaml:\n    indent: 2\n"} {
		_, content := sealOne(t, repository(".sops.yaml", config+rulesOf(only, "age: "+recipient)))
		if !strings.Contains(string(content), "\nmetadata:\n"+indent+"labels:\n") {
			t.Errorf("indent %q not followed:\n%s", indent, content)
		}
		if !strings.HasSuffix(string(content), "\n") || strings.Contains(string(content), " \n") {
			t.Error("the file does not end in one newline, or has trailing blanks")
		}
	}
}

func TestOnlySecretsAreSealed(t *testing.T) {
	base := repository(".sops.yaml", rulesOf(only, "age: "+identity(t).Recipient().String()))
	other := func(old, new string) string { return strings.Replace(plain, old, new, 1) }
	documents := map[string]string{
		"another kind":      other("kind: Secret", "kind: ConfigMap"),
		"another group":     other("apiVersion: v1", "apiVersion: example.io/v1"),
		"two documents":     plain + "---\n" + plain,
		"an end marker":     plain + "...\n",
		"comment only":      "# " + canary + "\n",
		"a list":            "- " + canary + "\n",
		"no YAML":           "a: [" + canary,
		"a text":            canary,
		"a cycle":           other("type: Opaque", "immutable: &a [*a]"),
		"a sops field":      plain + "sops: {}\n",
		"a number":          other(`empty: ""`, "empty: 12345"),
		"a null":            other(`empty: ""`, "empty:"),
		"a nested value":    other(`empty: ""`, "empty: {a: b}"),
		"a comment":         other(`  empty: ""`, "  # "+canary+"\n  empty: x"),
		"values as a list":  "apiVersion: v1\nkind: Secret\nstringData: [" + canary + "]\n",
		"keys twice":        other(`empty: ""`, "values.yaml: a"),
		"not UTF-8":         other(`empty: ""`, "empty: \xff"),
		"a cycle behind it": plain + "--- &a [*a]\n",
	}
	for name, document := range documents {
		t.Run(name, func(t *testing.T) {
			result, err := Files(base, change(secrets, document), options())
			if err == nil {
				t.Fatal("sealed")
			}
			if !strings.HasPrefix(err.Error(), secrets+": sealing: ") || clustermanager.ReasonOf(err) != clustermanager.ReasonError {
				t.Errorf("%s: %v", clustermanager.ReasonOf(err), err)
			}
			if result.Files != nil {
				t.Error("a result beside the error")
			}
			assertNoLeak(t, err, result)
		})
	}
	t.Run("no document", func(t *testing.T) {
		if _, err := Files(base, clustermanager.FileSet{secrets: {Sensitive: true}}, options()); err == nil {
			t.Error("sealed")
		}
	})
	t.Run("outside", func(t *testing.T) {
		if _, err := Files(base, change("../"+secrets, plain), options()); err == nil {
			t.Error("sealed")
		}
	})
}

func TestOtherFilesStayUntouched(t *testing.T) {
	files := change(secrets, plain)
	files["a-secret-credential.yaml"] = clustermanager.File{Content: []byte("kind: OCIRepository\n")}
	files["gone.enc.yaml"] = clustermanager.File{Delete: true, Sensitive: true}
	base := repository(".sops.yaml", rulesOf(only, "age: "+identity(t).Recipient().String()))
	result, err := Files(base, files, options())
	if err != nil {
		t.Fatal(err)
	}
	if string(result.Files["a-secret-credential.yaml"].Content) != "kind: OCIRepository\n" || !result.Files["gone.enc.yaml"].Delete || len(result.Rules) != 1 {
		t.Errorf("%d files, rules %v", len(result.Files), result.Rules)
	}
	delete(files, secrets)
	if _, err := Files(repository(), files, Options{}); err != nil {
		t.Errorf("nothing to seal: %v", err)
	}
}

// An empty Secret is as good as any: sops writes what it can read again.
func TestSecretsWithoutValues(t *testing.T) {
	key := identity(t)
	base := repository(".sops.yaml", rulesOf(only, "age: "+key.Recipient().String()))
	for _, data := range []string{"", "stringData: {}\n", "stringData: {a: \"\"}\n", "immutable: true\n"} {
		document := "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n" + data
		result, err := Files(base, change(secrets, document), options())
		if err != nil {
			t.Errorf("%q: %v", data, err)
			continue
		}
		assertSame(t, document, opened(t, result.Files[secrets].Content, key))
	}
}
