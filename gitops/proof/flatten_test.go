package proof

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resource"
)

// spellings are values in every form that YAML has for them; a line break stands before the indentation.
var spellings = []string{
	`text`, `"quoted"`, `'single'`, `""`, `" spaces "`, `'#'`, `a#b`, `"a: b"`, `- `, `[]`, `{}`, `[a, "b", 1]`, `{a: {b: [c]}}`,
	`1`, `-1`, `"1"`, `01`, `0x1f`, `0o17`, `0b11`, `1_000`, `9223372036854775807`, `9223372036854775808`, `18446744073709551616`,
	`1.0`, `1.5`, `1e3`, `1E400`, `.5`, `.inf`, `-.inf`, `.nan`, `!!float 1`, `!!str 1`, `!!int "1"`, `!!binary aGVsbG8=`,
	`true`, `True`, `yes`, `no`, `on`, `"true"`, `!!bool true`, `null`, `~`, ``, `!!null ""`, `Null`, `{a}`, `{a: }`, `[a, ]`,
	`2001-01-01`, `2001-01-01T00:00:00Z`, `2001-12-14 21:59:43.10 -5`, `12:30:45`, `"2001-01-01"`, `<<`, `=`,
	`"tab\there"`, `"line\nbreak"`, `"\u0085next"`, `"\u2028"`, `"\ufeffmark"`, `"\u00a0"`, `"\x00"`, `"\x07"`, `"\U0001F600"`, `ünï`, `"\\"`, `'it''s'`,
	"|\nliteral\n  deeper\n\nend\n", "|-\none\n", "|+\nkept\n\n", "|2\n  indented\n", ">\nfolded\non\n\ntwo\n  deeper\nlines\n", ">-\none\n",
	">\n#\n #- b\n", "|2\n\t\n- b\n", "|+\n b\n\n\n#a\n", // writing these and reading them again gives something else
	"# a\n!!str <<: ", "# a\n- b\n- !!str \u2029", // nor can these be read again
	"folded\nplain text", "\"folded\nquoted\\\ntext\"", `&a anchored`, `!custom tagged`, "\n? \n", "\n1: 2\n", "a # comment", "\n# above\nb: c\n# below\n", strings.Repeat("long ", 100),
}

// FuzzMarshal holds the short way of an object to JSON against kustomize's own: the same text, and a fault where that
// has one.
func FuzzMarshal(f *testing.F) {
	for _, spelling := range spellings {
		f.Add(spelling)
	}
	factory := provider.NewDefaultDepProvider().GetResourceFactory()
	f.Fuzz(func(t *testing.T, spelling string) {
		object := spelled(factory, spelling)
		if object == nil || !survives(object.YNode()) {
			return
		}
		want, wantErr := object.MarshalJSON()
		got, err := marshal(object)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("error %v, kustomize's %v", err, wantErr)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" && wantErr == nil {
			t.Errorf("(-kustomize +ours):\n%s", diff)
		}
	})
}

// spelled is an object with a value so spelled, nil where that is none. Kustomize does not end on aliases in a circle,
// which are refused before a build.
func spelled(factory *resource.Factory, spelling string) (object *resource.Resource) {
	defer func() {
		if recover() != nil {
			object = nil
		}
	}()
	if strings.Contains(spelling, "*") {
		return nil
	}
	value := strings.ReplaceAll(spelling, "\n", "\n    ")
	objects, err := factory.SliceFromBytes([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\nlist:\n  - " + value + "\nvalue:\n  key: " + value + "\n"))
	if err != nil || len(objects) != 1 {
		return nil
	}
	return objects[0]
}

// Most objects go the short way; blocks of text do not.
func TestWhatIsWrittenAndReadAgain(t *testing.T) {
	factory := provider.NewDefaultDepProvider().GetResourceFactory()
	for spelling, want := range map[string]bool{
		"text": true, "{a: [1, true, null]}": true, "a # comment": true, "\"2001-01-01\"": true, "\n# above\nb: c\n": true,
		"|\ntext\n": false, ">\ntext\n": false, "{a}": false, "!!str text": false, "{a: 1} # b": false, "\n1: 2\n": false, `"line\nbreak"`: false,
	} {
		object := spelled(factory, spelling)
		if object == nil {
			t.Errorf("%q is no object", spelling)
		} else if got := survives(object.YNode()); got != want {
			t.Errorf("%q: %t, want %t", spelling, got, want)
		}
	}
}
