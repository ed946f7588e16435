package render

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/types"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const testFile = "clusters/wc1/kustomization.yaml"

// edits are lists before and after one entry was put in. Taking it out again must give the file before, unless oneWay.
var edits = []struct {
	name, entry, before, after string
	oneWay                     bool
}{
	{
		name:  "kustomize 17: comments, field order and unset fields stay",
		entry: "b.yaml",
		before: `# managed by the platform team
kind: Kustomization
apiVersion: kustomize.config.k8s.io/v1beta1

namespace: org-acme   # do not change

# what is applied
resources:
  # the first
  - a.yaml # inline

  # the third
  - c.yaml

buildMetadata: [originAnnotations]
`,
		after: `# managed by the platform team
kind: Kustomization
apiVersion: kustomize.config.k8s.io/v1beta1

namespace: org-acme   # do not change

# what is applied
resources:
  # the first
  - a.yaml # inline
  - b.yaml

  # the third
  - c.yaml

buildMetadata: [originAnnotations]
`,
	},
	{
		name:   "kustomize 848: generators keep their keys' order and comments",
		entry:  "z.yaml",
		before: "configMapGenerator:\n- literals: # first\n  - b=1\n  - a=2\n  name: x\n  behavior: merge\nresources:\n- a.yaml\n",
		after:  "configMapGenerator:\n- literals: # first\n  - b=1\n  - a=2\n  name: x\n  behavior: merge\nresources:\n- a.yaml\n- z.yaml\n",
	},
	{
		name:   "go-yaml 661: a list at its key's indentation stays there",
		entry:  "b.yaml",
		before: "resources:\n- a.yaml\n- c.yaml\nnamePrefix: x-\n",
		after:  "resources:\n- a.yaml\n- b.yaml\n- c.yaml\nnamePrefix: x-\n",
	},
	{
		name:   "go-yaml 661: a list indented by four stays there",
		entry:  "b.yaml",
		before: "resources:\n    -   a.yaml\n    -   c.yaml\n",
		after:  "resources:\n    -   a.yaml\n    -   b.yaml\n    -   c.yaml\n",
	},
	{
		name:   "go-yaml 628: an item's comment stays above its item",
		entry:  "a.yaml",
		before: "resources:\n# about b\n- b.yaml\n",
		after:  "resources:\n- a.yaml\n# about b\n- b.yaml\n",
	},
	{name: "unsorted: at the end", entry: "b.yaml", before: "resources:\n- c.yaml\n- a.yaml\n# tail\n", after: "resources:\n- c.yaml\n- a.yaml\n- b.yaml\n# tail\n"},
	{name: "no line break at the end", entry: "b.yaml", before: "resources:\n- a.yaml", after: "resources:\n- a.yaml\n- b.yaml"},
	{name: "CRLF", entry: "b.yaml", before: "kind: Kustomization\r\nresources:\r\n  - a.yaml\r\n  - c.yaml\r\n", after: "kind: Kustomization\r\nresources:\r\n  - a.yaml\r\n  - b.yaml\r\n  - c.yaml\r\n"},
	{name: "CRLF, no line break at the end", entry: "b.yaml", before: "resources:\r\n  - a.yaml", after: "resources:\r\n  - a.yaml\r\n  - b.yaml"},
	{name: "byte order mark", entry: "b.yaml", before: "\ufeffresources: [a.yaml]\n", after: "\ufeffresources: [a.yaml, b.yaml]\n"},
	{name: "characters of several bytes before it", entry: "b.yaml", before: "\"é\": ü\nresources: [ä.yaml] # ö\n", after: "\"é\": ü\nresources: [b.yaml, ä.yaml] # ö\n"},
	{name: "characters of several bytes before it on its line", entry: "b.yaml", before: "{\"é\": ü, resources: [a.yaml]} # ö\n", after: "{\"é\": ü, resources: [a.yaml, b.yaml]} # ö\n"},
	{name: "flow: in its place", entry: "b.yaml", before: "resources: [a.yaml, c.yaml]\n", after: "resources: [a.yaml, b.yaml, c.yaml]\n"},
	{name: "flow: first", entry: "a.yaml", before: "resources: [ b.yaml ]\n", after: "resources: [ a.yaml, b.yaml ]\n"},
	{name: "flow: last, trailing comma", entry: "c.yaml", before: "resources: [a.yaml, b.yaml,]\n", after: "resources: [a.yaml, b.yaml, c.yaml,]\n"},
	{name: "flow: over several lines", entry: "c.yaml", before: "resources: [\n  a.yaml,\n  'b.yaml' # second\n]\n", after: "resources: [\n  a.yaml,\n  'b.yaml', c.yaml # second\n]\n"},
	{name: "flow: quotes with escapes", entry: "z.yaml", before: `resources: ['it''s, x', "a\"]b"]` + "\n", after: `resources: ['it''s, x', "a\"]b", z.yaml]` + "\n"},
	{name: "flow: empty", entry: "a.yaml", before: "resources: []\nkind: Kustomization\n", after: "resources: [a.yaml]\nkind: Kustomization\n"},
	{name: "flow: everything in braces", entry: "b.yaml", before: "{kind: Kustomization, resources: [a.yaml]}\n", after: "{kind: Kustomization, resources: [a.yaml, b.yaml]}\n"},
	{name: "no value", entry: "a.yaml", before: "resources:\nkind: Kustomization\n", after: "resources:\n- a.yaml\nkind: Kustomization\n"},
	{name: "no value, commented entries", entry: "a.yaml", before: "resources: # none yet\n# - x.yaml\n", after: "resources: # none yet\n- a.yaml\n# - x.yaml\n"},
	{name: "no value, no line break at the end", entry: "a.yaml", before: "resources:", after: "resources:\n- a.yaml"},
	{name: "no value: indented as the file's other list", entry: "a.yaml", before: "patches:\n  - path: p.yaml\nresources:\n", after: "patches:\n  - path: p.yaml\nresources:\n  - a.yaml\n"},
	{name: "no key", entry: "a.yaml", before: "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n", after: "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- a.yaml\n", oneWay: true},
	{name: "no key, no line break at the end", entry: "a.yaml", before: "kind: Kustomization # x", after: "kind: Kustomization # x\nresources:\n- a.yaml", oneWay: true},
	{name: "no key, indented mapping", entry: "a.yaml", before: "  kind: Kustomization\r\n", after: "  kind: Kustomization\r\n  resources:\r\n  - a.yaml\r\n", oneWay: true},
	{name: "empty file", entry: "a.yaml", before: "", after: "resources:\n- a.yaml\n", oneWay: true},
	{name: "byte order mark alone", entry: "a.yaml", before: "\ufeff", after: "\ufeffresources:\n- a.yaml\n", oneWay: true},
	{name: "comments alone", entry: "a.yaml", before: "# ours\n\n# soon\n", after: "# ours\n\n# soon\nresources:\n- a.yaml\n", oneWay: true},
	{name: "document marker alone", entry: "a.yaml", before: "---\n", after: "---\nresources:\n- a.yaml\n", oneWay: true},
	{name: "document marker, no apiVersion and kind", entry: "a.yaml", before: "---\nresources:\n- b.yaml\n", after: "---\nresources:\n- a.yaml\n- b.yaml\n"},
	{name: "single quotes all along", entry: "b.yaml", before: "resources:\n  - 'a.yaml'\n  - 'c.yaml'\n", after: "resources:\n  - 'a.yaml'\n  - 'b.yaml'\n  - 'c.yaml'\n"},
	{name: "double quotes all along", entry: "b.yaml", before: "\"resources\":\n  - \"a.yaml\"\n", after: "\"resources\":\n  - \"a.yaml\"\n  - \"b.yaml\"\n"},
	{name: "quotes here and there", entry: "b.yaml", before: "resources:\n  - \"a.yaml\"\n  - c.yaml\n", after: "resources:\n  - \"a.yaml\"\n  - b.yaml\n  - c.yaml\n"},
	{name: "an entry that reads as something else", entry: "null", before: "resources:\n- a.yaml\n", after: "resources:\n- a.yaml\n- \"null\"\n"},
	{name: "an entry that older readers take for a truth value", entry: "yes", before: "resources:\n- a.yaml\n", after: "resources:\n- a.yaml\n- \"yes\"\n"},
	{name: "an entry that newer readers take for a date", entry: "2001-01-01", before: "resources: []\n", after: "resources: [\"2001-01-01\"]\n"},
	{name: "an entry with a comma in a flow list", entry: "b,c.yaml", before: "resources: [a.yaml]\n", after: "resources: [a.yaml, \"b,c.yaml\"]\n"},
	{name: "a list of the same name further down", entry: "b.yaml", before: "helmGlobals:\n  resources:\n  - x\nresources:\n- a.yaml\n", after: "helmGlobals:\n  resources:\n  - x\nresources:\n- a.yaml\n- b.yaml\n"},
	{name: "an anchor elsewhere", entry: "b.yaml", before: "labels:\n- pairs: &p {a: b}\n- pairs: *p\nresources: [a.yaml]\n", after: "labels:\n- pairs: &p {a: b}\n- pairs: *p\nresources: [a.yaml, b.yaml]\n"},
	{name: "there already", entry: "cluster-manager", before: "resources: [cluster-manager]\n", after: "resources: [cluster-manager]\n", oneWay: true},
	{name: "there already as ./", entry: "cluster-manager", before: "resources:\n- ./cluster-manager\n", after: "resources:\n- ./cluster-manager\n", oneWay: true},
	{name: "there already with a slash", entry: "cluster-manager", before: "resources:\n- cluster-manager/ # pools\n", after: "resources:\n- cluster-manager/ # pools\n", oneWay: true},
	{name: "there already among bases", entry: "cluster-manager", before: "bases:\n- ./cluster-manager/\n", after: "bases:\n- ./cluster-manager/\n", oneWay: true},
	{name: "a longer name is another entry", entry: "cluster-manager", before: "resources:\n- cluster-manager-old\n", after: "resources:\n- cluster-manager\n- cluster-manager-old\n"},
}

func TestEnsureEntry(t *testing.T) {
	for _, edit := range edits {
		t.Run(edit.name, func(t *testing.T) {
			after, err := EnsureEntry([]byte(edit.before), testFile, edit.entry)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(edit.after, string(after)); diff != "" {
				t.Fatalf("after EnsureEntry (-want +got):\n%s", diff)
			}
			again, err := EnsureEntry(after, testFile, edit.entry)
			if err != nil || !bytes.Equal(again, after) {
				t.Errorf("a second EnsureEntry: %v, changed to\n%s", err, again)
			}
			if edit.oneWay {
				return
			}
			before, err := RemoveEntry(after, testFile, edit.entry)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(edit.before, string(before)); diff != "" {
				t.Errorf("after RemoveEntry (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRemoveEntry(t *testing.T) {
	for _, test := range []struct{ name, entry, before, after string }{
		{"not there", "b.yaml", "resources:\n- a.yaml # x\n", "resources:\n- a.yaml # x\n"},
		{"empty file", "b.yaml", "", ""},
		{"every spelling", "x", "resources:\n- ./x\n- a.yaml\n- x/\n", "resources:\n- a.yaml\n"},
		{"its own comment goes, the one above stays", "b.yaml", "resources:\n# all\n- a.yaml\n# about b\n- b.yaml # b\n- c.yaml\n", "resources:\n# all\n- a.yaml\n# about b\n- c.yaml\n"},
		{"the last one leaves the key", "a.yaml", "resources:\n  - a.yaml\nkind: Kustomization\n", "resources:\nkind: Kustomization\n"},
		{"the last one of a flow list", "a.yaml", "resources: [a.yaml]\n", "resources: []\n"},
		{"the first one of a flow list over lines", "a.yaml", "resources: [a.yaml,\n  b.yaml]\n", "resources: [b.yaml]\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			after, err := RemoveEntry([]byte(test.before), testFile, test.entry)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.after, string(after)); diff != "" {
				t.Errorf("after RemoveEntry (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEntryRefusals(t *testing.T) {
	for _, test := range []struct{ name, file, says string }{
		{"root is a list", "- a.yaml\n", "its content is not a mapping"},
		{"root is a text", "hello\n", "its content is not a mapping"},
		{"root is a written null", "null\n", "its content is not a mapping"},
		{"resources is a text", "resources: a.yaml\n", "its resources is not a list"},
		{"resources is a mapping", "resources:\n  a: b\n", "its resources is not a list"},
		{"resources is a written null", "resources: null\n", "its resources is not a list"},
		{"an entry is a number", "resources:\n- a.yaml\n- 1\n", "line 3 of its list is not a plain string"},
		{"an entry is a mapping", "resources: [{a: b}]\n", "line 1 of its list is not a plain string"},
		{"an entry is empty", "resources:\n-\n", "line 2 of its list is not a plain string"},
		{"an entry is a truth value to kustomize", "resources:\n- yes\n", `the entry "yes" of its list is not a plain string`},
		{"an entry has a tag", "resources:\n- !!str a.yaml\n", "line 2 of its list is not a plain string"},
		{"two resources keys", "resources: [a.yaml]\nkind: x\n\"resources\": [b.yaml]\n", "it has the key resources twice"},
		{"two resources keys by case", "Resources: [a.yaml]\nresources: [b.yaml]\n", "it has the key resources twice"},
		{"another case", "Resources: [a.yaml]\n", "its key Resources is not spelled resources"},
		{"resources by a merge key", "a: &a {resources: [x.yaml]}\n<<: *a\n", "its list reads differently by reader"},
		{"an anchor on the list", "resources: &r\n- a.yaml\n", "its list is an anchor or an alias"},
		{"an alias as the list", "a: &r [x.yaml]\nresources: *r\n", "its list is an anchor or an alias"},
		{"an anchor in the list", "resources:\n- &a a.yaml\n", "line 2 of its list is an anchor or an alias"},
		{"an alias in the list", "a: &x b.yaml\nresources:\n- *x\n", "line 3 of its list is an anchor or an alias"},
		{"a tag on the list", "resources: !!seq\n- a.yaml\n", "its list has a tag"},
		{"two documents", "resources: [a.yaml]\n---\nresources: [b.yaml]\n", "more than one document"},
		{"a second, empty document", "resources: [a.yaml]\n---\n", "more than one document"},
		{"a second, broken document", "resources: [a.yaml]\n---\n{\n", "more than one document"},
		{"tabs", "resources:\n\t- a.yaml\n", "it cannot be read"},
		{"broken", "resources: [a.yaml\n", "it cannot be read"},
		{"no UTF-8", "resources: [a.yaml] # \xff\n", "it is not UTF-8 text"},
		{"UTF-16", "\xff\xfer\x00:\x00\n\x00", "it is not UTF-8 text"},
		{"CR alone", "resources:\r- a.yaml\r", "a line break other than LF or CRLF"},
		{"another line break", "# a\u2028b\nresources: [a.yaml]\n", "a line break other than LF or CRLF"},
		{"no resources, in braces", "{kind: Kustomization}\n", "is written in braces"},
		{"a folded entry", "resources:\n- >-\n  a.yaml\n", "without changing something else"},
		{"an entry over two lines", "resources:\n- a\n  b.yaml\n", "without changing something else"},
		{"an entry over two lines in a flow list", "resources: [a\n  b.yaml]\n", "spans several lines"},
		{"an entry below its dash", "resources:\n-\n  a.yaml\n", "does not stand on the line of its dash"},
		{"a key with a question mark", "? resources\n: - a.yaml\n", "does not stand on the line of its dash"},
		{"end of document at the end", "kind: Kustomization\n...\n", "without changing something else"},
		{"a text block without a line break at the end", "x: |\n  a", "without changing something else"},
	} {
		t.Run(test.name, func(t *testing.T) {
			after, err := EnsureEntry([]byte(test.file), testFile, "zz.yaml")
			wantRefusal(t, err, testFile, test.says, "by hand")
			if after != nil {
				t.Errorf("answered a file beside the refusal:\n%s", after)
			}
		})
	}
	for _, entry := range []string{"", ".", "..", "../x", "/x", "a//b", "a/", "a\nb", "\xff"} {
		_, err := EnsureEntry(nil, testFile, entry)
		wantRefusal(t, err, testFile, "use another name")
	}
	for file, says := range map[string]string{
		"bases: [x]\n":                     "bases lists",
		"components: [x]\n":                "components lists",
		"resources: [x, # about x\n  z]\n": "a comment stands beside",
		"resources: [x,]\n":                "without changing something else",
	} {
		_, err := RemoveEntry([]byte(file), testFile, "x")
		wantRefusal(t, err, testFile, says, "by hand")
	}
}

// wantRefusal wants a refusal that says each of the texts.
func wantRefusal(t *testing.T, err error, says ...string) {
	t.Helper()
	var refusal *clustermanager.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("got %v, want a refusal", err)
	}
	for _, text := range says {
		if !strings.Contains(refusal.Message, text) {
			t.Errorf("the refusal does not say %q: %s", text, refusal.Message)
		}
	}
}

func TestNewKustomization(t *testing.T) {
	content, err := NewKustomization("b.yaml", "a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- a.yaml\n- b.yaml\n"
	if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Error(diff)
	}
	var read types.Kustomization
	if err := read.Unmarshal(content); err != nil {
		t.Error(err)
	}
}
