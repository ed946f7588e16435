package seal

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// again seals a document over a base that holds what was sealed before.
func again(t *testing.T, config string, before []byte, document string, settings Options) (Result, bool) {
	t.Helper()
	base := repository(".sops.yaml", config)
	base[secrets] = &fstest.MapFile{Data: before}
	result, err := Files(base, change(secrets, document), settings)
	if err != nil {
		t.Fatal(err)
	}
	assertNoLeak(t, result)
	kept := bytes.Equal(result.Files[secrets].Content, before)
	if kept != (len(result.Kept) == 1) || kept && result.Kept[0] != secrets {
		t.Errorf("the same bytes %t, kept %q", kept, result.Kept)
	}
	if !result.Files[secrets].Sensitive || !result.Files[secrets].Plain.IsZero() {
		t.Error("not marked as sealed")
	}
	return result, kept
}

func TestUnchangedFileIsKept(t *testing.T) {
	one, two := identity(t), identity(t)
	ages := one.Recipient().String() + "," + two.Recipient().String()
	swapped := two.Recipient().String() + "," + one.Recipient().String()
	config := rulesOf(only, "age: "+ages)
	tests := map[string]struct {
		before, config string
		edit           func(string) string
		document       string
	}{
		"as it was":          {config: config},
		"recipients swapped": {config: rulesOf(only, "age: ["+swapped+"]")},
		"another rule":       {config: ruled(one.Recipient().String(), "^apps/") + strings.TrimPrefix(config, "creation_rules:\n")},
		"pgp in the rule":    {config: rulesOf(only, "age: "+ages, "pgp: "+fingerprint)},
		"another indent":     {config: "stores: {yaml: {indent: 2}}\n" + config},
		"another order":      {config: config, document: "type: Opaque\n" + strings.Replace(plain, "type: Opaque\n", "", 1)},
		"a comment of a person": {config: config, edit: func(text string) string {
			return "# rotated by hand\n" + text
		}},
		"document marker": {config: config, edit: func(text string) string { return "---\n" + text }},
		"line ends":       {config: config, edit: func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }},
		"key groups": {
			before: rulesOf(only, "key_groups:", "- age: ["+one.Recipient().String()+"]", "- age: ["+two.Recipient().String()+"]"),
			config: rulesOf(only, "shamir_threshold: 2", "key_groups:", "- age: ["+one.Recipient().String()+"]", "- age: ["+two.Recipient().String()+"]"),
		},
		"a changed value, which nobody here can see": {config: config, document: strings.Replace(plain, canary, "rotated", 1)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := test.before
			if before == "" {
				before = config
			}
			_, content := sealOne(t, repository(".sops.yaml", before))
			if test.edit != nil {
				content = []byte(test.edit(string(content)))
			}
			document := test.document
			if document == "" {
				document = plain
			}
			result, kept := again(t, test.config, content, document, options())
			if !kept {
				t.Error("sealed again")
			}
			// Nobody here can compare the values, so the answer says that they were not.
			if len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], "is kept as it is sealed") || len(result.Rules) != 1 {
				t.Errorf("warnings %q, rules %v", result.Warnings, result.Rules)
			}
		})
	}
}

func TestChangedFileIsSealedAgain(t *testing.T) {
	one, two := identity(t), identity(t)
	ages := one.Recipient().String() + "," + two.Recipient().String()
	config := rulesOf(only, "age: "+ages)
	swap := func(old, new string) string { return strings.Replace(plain, old, new, 1) }
	tests := map[string]struct {
		config, document string
		edit             func(string) string
	}{
		"a recipient less":    {config: rulesOf(only, "age: "+one.Recipient().String())},
		"a recipient more":    {config: rulesOf(only, "age: "+ages+","+identity(t).Recipient().String())},
		"another recipient":   {config: rulesOf(only, "age: "+one.Recipient().String()+","+identity(t).Recipient().String())},
		"key groups":          {config: rulesOf(only, "key_groups:", "- age: ["+one.Recipient().String()+"]", "- age: ["+two.Recipient().String()+"]")},
		"another selector":    {config: rulesOf("encrypted_regex: ^stringData$", "age: "+ages)},
		"another kind of it":  {config: rulesOf("encrypted_suffix: Data", "age: "+ages)},
		"mac_only_encrypted":  {config: rulesOf(only, "mac_only_encrypted: true", "age: "+ages)},
		"a label":             {config: config, document: swap("giantswarm.io/cluster: wc1", "giantswarm.io/cluster: wc9")},
		"a label less":        {config: config, document: swap("    giantswarm.io/cluster: wc1\n", "")},
		"the name":            {config: config, document: swap("name: wc1-gpu-l4-values", "name: other")},
		"the type":            {config: config, document: swap("type: Opaque", "type: example.io/other")},
		"immutable":           {config: config, document: plain + "immutable: true\n"},
		"another key":         {config: config, document: swap("  values.yaml:", "  other.yaml:")},
		"a key more":          {config: config, document: swap(`empty: ""`, "empty: \"\"\n  more: x")},
		"a key less":          {config: config, document: swap("  empty: \"\"\n", "")},
		"an empty one filled": {config: config, document: swap(`empty: ""`, "empty: x")},
		"data":                {config: config, document: strings.NewReplacer("stringData:", "data:").Replace(plain)},
		"a value in the clear": {config: config, edit: func(text string) string {
			return strings.Replace(text, `empty: ""`, "empty: clear", 1)
		}},
		"no metadata of sops": {config: config, edit: func(text string) string { return text[:strings.Index(text, "\nsops:")+1] }},
		"two documents":       {config: config, edit: func(text string) string { return text + "---\n" + text }},
		"a circle behind it":  {config: config, edit: func(text string) string { return text + "--- &a [*a]\n" }},
		"nonsense":            {config: config, edit: func(string) string { return "\x00" }},
		"nothing":             {config: config, edit: func(string) string { return "" }},
		"too large":           {config: config, edit: func(text string) string { return text + strings.Repeat("#\n", 1<<20) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, content := sealOne(t, repository(".sops.yaml", config))
			if test.edit != nil {
				content = []byte(test.edit(string(content)))
			}
			document := test.document
			if document == "" {
				document = plain
			}
			result, kept := again(t, test.config, content, document, options())
			if kept {
				t.Fatal("kept")
			}
			identities := joined{one, two}
			assertSame(t, document, opened(t, result.Files[secrets].Content, identities))
		})
	}
}

// With a key the digest tells whether a value changed; without one nothing in the file speaks of it.
func TestDigestTellsRotatedCredentials(t *testing.T) {
	key := identity(t)
	config := rulesOf(only, "age: "+key.Recipient().String())
	keyed, otherKey := options(), options()
	keyed.DigestKey = clustermanager.NewSecret("a key made for this test")
	otherKey.DigestKey = clustermanager.NewSecret("another key made for this test")
	rotated := strings.Replace(plain, canary, "rotated", 1)

	_, without := sealOne(t, repository(".sops.yaml", config))
	if strings.Contains(string(without), AnnotationDigest) {
		t.Error("a digest without a key")
	}
	first, err := Files(repository(".sops.yaml", config), change(secrets, plain), keyed)
	if err != nil {
		t.Fatal(err)
	}
	assertNoLeak(t, first)
	with := first.Files[secrets].Content
	assertDigested(t, plain, opened(t, with, key))

	tests := map[string]struct {
		before   []byte
		document string
		settings Options
		kept     bool
	}{
		"unchanged":                      {with, plain, keyed, true},
		"written in another way":         {with, "---\n# again\n" + plain, keyed, true},
		"rotated":                        {with, rotated, keyed, false},
		"another key":                    {with, plain, otherKey, false},
		"the first time with a key":      {without, plain, keyed, false},
		"no key any more":                {with, plain, options(), true},
		"no key any more, but the label": {with, strings.Replace(plain, "cluster: wc1", "cluster: wc9", 1), options(), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result, kept := again(t, config, test.before, test.document, test.settings)
			if kept != test.kept {
				t.Errorf("kept %t", kept)
			}
			if text := opened(t, result.Files[secrets].Content, key); !kept && !test.settings.DigestKey.IsZero() {
				assertDigested(t, test.document, text)
			}
		})
	}
}

// assertDigested expects the plan with a digest of 64 hexadecimal digits and nothing else added.
func assertDigested(t *testing.T, want, got string) {
	t.Helper()
	have := object(t, got).(map[string]any)
	annotations := have["metadata"].(map[string]any)["annotations"].(map[string]any)
	if digest, _ := annotations[AnnotationDigest].(string); len(digest) != 64 {
		t.Errorf("the digest is %q", digest)
	}
	delete(annotations, AnnotationDigest)
	if len(annotations) == 0 {
		delete(have["metadata"].(map[string]any), "annotations")
	}
	if diff := cmp.Diff(object(t, want), any(have)); diff != "" {
		t.Error(diff)
	}
}

func TestDigestStandsBesideOtherAnnotations(t *testing.T) {
	key := identity(t)
	keyed := options()
	keyed.DigestKey = clustermanager.NewSecret("a key made for this test")
	document := strings.Replace(plain, "  labels:", "  annotations:\n    a: b\n    kustomize.toolkit.fluxcd.io/substitute: disabled\n  labels:", 1)
	result, err := Files(repository(".sops.yaml", rulesOf(only, "age: "+key.Recipient().String())), change(secrets, document), keyed)
	if err != nil {
		t.Fatal(err)
	}
	text := opened(t, result.Files[secrets].Content, key)
	assertDigested(t, document, text)
	a, digest, substitute := strings.Index(text, "a: b"), strings.Index(text, AnnotationDigest), strings.Index(text, "kustomize.toolkit")
	if a > digest || digest > substitute {
		t.Errorf("the annotations are not sorted:\n%s", text)
	}
	if _, kept := again(t, rulesOf(only, "age: "+key.Recipient().String()), result.Files[secrets].Content, document, keyed); !kept {
		t.Error("sealed again")
	}
}

// Two Secrets of one value have different digests: equal passwords do not show.
func TestDigestIsOfTheWholeDocument(t *testing.T) {
	key := clustermanager.NewSecret("a key made for this test")
	seen := map[string]bool{}
	for _, document := range []string{plain, strings.Replace(plain, "namespace: org-acme", "namespace: org-other", 1), strings.Replace(plain, canary, "x", 1)} {
		branch, err := readDocument([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		digest, err := digestOf(branch, key)
		if err != nil || seen[digest] {
			t.Errorf("%s %v", digest, err)
		}
		seen[digest] = true
	}
}
