package seal

import "testing"

func TestOneDocument(t *testing.T) {
	tests := map[string]bool{
		"a: b\n": true, "": true, "---\na: b\n": true, "--- # first\na: b\n": true, "# why\n  # more\n---\na: b\n": true, "%YAML 1.1\n---\na: b\n": true,
		"\ufeffa: b\n": true, "a: |\n  ---\n  ...\n": true, "a: b\n ---\n": true,
		"a: b\n---\n": false, "a: b\r---\r": false, "---\n---\n": false, "--- a\n--- b\n": false, "a: b\n...\nc: d\n": false,
		"a: b\u0085---\u0085": false, "a: b\u2028--- c": false, "a: b\n\ufeff---\n": false, "a: \xff\n": false, "\xff\xfea\x00": false,
	}
	for text, want := range tests {
		if got := isOneDocument([]byte(text)); got != want {
			t.Errorf("%q is one document: %t", text, got)
		}
	}
}

func TestDifference(t *testing.T) {
	same := leaves{"\x00a": 1, "\x00b\x00c.d": "x", "\x00e": nil}
	for name, test := range map[string]struct {
		one, other leaves
		want       string
		differs    bool
	}{
		"none":       {same, leaves{"\x00a": 1, "\x00b\x00c.d": "x", "\x00e": nil}, "", false},
		"a value":    {same, leaves{"\x00a": "1", "\x00b\x00c.d": "x", "\x00e": nil}, "a", true},
		"one less":   {same, leaves{"\x00a": 1, "\x00b\x00c.d": "x"}, "e", true},
		"one more":   {leaves{}, leaves{"\x00b\x00c.d": sealed{}}, "b.c.d", true},
		"in order":   {same, leaves{"\x00b\x00c.d": sealed{}}, "a", true},
		"both empty": {leaves{}, leaves{}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			path, differs := difference(test.one, test.other)
			if differs != test.differs || differs && shown(path) != test.want {
				t.Errorf("%q %t", path, differs)
			}
		})
	}
}
