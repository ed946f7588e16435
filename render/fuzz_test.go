package render

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"testing"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// FuzzEntry holds both edits to their promise: an error, or a file that differs by the entry alone.
func FuzzEntry(f *testing.F) {
	for _, edit := range edits {
		f.Add([]byte(edit.before), edit.entry)
		f.Add([]byte(edit.after), edit.entry)
	}
	f.Fuzz(func(t *testing.T, before []byte, entry string) {
		original := bytes.Clone(before)
		after, err := EnsureEntry(before, testFile, entry)
		if err == nil {
			checkEnsured(t, before, after, entry)
		} else if after != nil {
			t.Errorf("answered a file beside %v", err)
		}
		if after, err = RemoveEntry(before, testFile, entry); err == nil {
			checkRemoved(t, before, after, entry)
		}
		if !bytes.Equal(before, original) {
			t.Error("the input was changed")
		}
	})
}

func checkEnsured(t *testing.T, before, after []byte, entry string) {
	t.Helper()
	had, has := contentOf(t, before), contentOf(t, after)
	if bytes.Equal(before, after) {
		listed := slices.Concat(textsOf(has, "resources"), textsOf(has, "bases"), textsOf(has, "components"))
		if !slices.ContainsFunc(listed, func(text string) bool { return sameEntry(text, entry) }) {
			t.Errorf("nothing was changed, and %q is not there", entry)
		}
		return
	}
	if !onePieceMore(before, after) {
		t.Fatalf("more than one piece was put in:\n%q\n%q", before, after)
	}
	list := textsOf(has, "resources")
	at := slices.Index(list, entry)
	if at < 0 || !slices.Equal(slices.Delete(list, at, at+1), textsOf(had, "resources")) {
		t.Errorf("%q gave the list %q", before, textsOf(has, "resources"))
	}
	checkOthers(t, had, has)
	checkByKustomize(t, before, after)
	_, hadKey := had["resources"]
	if back, err := RemoveEntry(after, testFile, entry); err == nil && hadKey && !bytes.Equal(back, before) {
		t.Errorf("put in and taken out again gives another file:\n%q\n%q", before, back)
	}
}

func checkRemoved(t *testing.T, before, after []byte, entry string) {
	t.Helper()
	had, has := contentOf(t, before), contentOf(t, after)
	same := func(text string) bool { return sameEntry(text, entry) }
	old := textsOf(had, "resources")
	if !slices.ContainsFunc(old, same) && !bytes.Equal(before, after) {
		t.Errorf("%q is not there, and the file was changed:\n%q\n%q", entry, before, after)
	}
	if !slices.Equal(slices.DeleteFunc(old, same), textsOf(has, "resources")) {
		t.Errorf("%q gave the list %q", before, textsOf(has, "resources"))
	}
	checkOthers(t, had, has)
}

// checkByKustomize wants a file that kustomize reads to be read after the edit too.
func checkByKustomize(t *testing.T, before, after []byte) {
	t.Helper()
	var had, has types.Kustomization
	if had.Unmarshal(before) != nil {
		return
	}
	if err := has.Unmarshal(after); err != nil || len(has.Resources) != len(had.Resources)+1 {
		t.Errorf("kustomize reads %q of %q: %v", has.Resources, after, err)
	}
}

func checkOthers(t *testing.T, had, has map[string]any) {
	t.Helper()
	had, has = maps.Clone(had), maps.Clone(has)
	delete(had, "resources")
	delete(has, "resources")
	if len(had)+len(has) > 0 && !reflect.DeepEqual(had, has) {
		t.Errorf("other content changed:\n%v\n%v", had, has)
	}
}

func contentOf(t *testing.T, file []byte) map[string]any {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal(file, &content); err != nil {
		t.Fatalf("%q was accepted: %v", file, err)
	}
	return content
}

func textsOf(content map[string]any, key string) []string {
	var texts []string
	listed, _ := content[key].([]any)
	for _, element := range listed {
		text, _ := element.(string)
		texts = append(texts, text)
	}
	return texts
}

// onePieceMore says whether after is before with one piece of text put in.
func onePieceMore(before, after []byte) bool {
	start := 0
	for start < len(before) && start < len(after) && before[start] == after[start] {
		start++
	}
	return len(after) > len(before) && bytes.HasSuffix(after, before[start:])
}
