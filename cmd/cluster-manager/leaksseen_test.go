package main

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clustermanager/cluster-manager/mcptools"
)

// The search is worth what it finds: a credential is put into each place, in one form each, and must be found there.
func TestTheSearchFindsALeakEverywhere(t *testing.T) {
	s := newScene(t, oddCredentials)
	password := s.needles()["a registry's password"]
	forms := formsOf(password)
	request := func(change func(*sent)) func() {
		return func() {
			one := sent{method: http.MethodPost, url: s.forge.URL() + "/x", header: http.Header{}}
			change(&one)
			s.git.mutex.Lock()
			s.git.requests = append(s.git.requests, one)
			s.git.mutex.Unlock()
		}
	}
	state := filepath.Join(s.kept, "forge.json")
	temporary := filepath.Join(os.Getenv("TMPDIR"), "x")
	for _, test := range []struct {
		name  string
		leak  func()
		where string
		mend  func()
	}{
		{"log", func() { _, _ = s.log.Write([]byte("level=DEBUG value=" + forms["hex"])) }, "the log", nil},
		{"answer", func() { _, _ = s.answers.Write([]byte("x" + forms["base64 at 1"])) }, "the answers on the wire", nil},
		{"progress", func() { s.progress = append(s.progress, password) }, "a progress notification", func() { s.progress = nil }},
		{"body", request(func(r *sent) { r.body = []byte("{" + forms["JSON"]) }), "the body", nil},
		{"address", request(func(r *sent) { r.url += "?q=" + forms["URL's query"] }), "the address", nil},
		{"header", request(func(r *sent) { r.header.Set("X-Debug", password) }), "the header", nil},
		{"the right header", request(func(r *sent) { r.header.Set("Authorization", "Bearer "+s.forgeToken) }), "", nil},
		{"wrong host", request(func(r *sent) {
			r.url = "http://127.0.0.1:9/x"
			r.header.Set("Authorization", "Bearer "+s.forgeToken)
		}), "the header", nil},
		{"wrong token", request(func(r *sent) { r.header.Set("Authorization", "Bearer "+s.needles()["the Kubernetes token"]) }), "the header", nil},
		{"pack", request(func(r *sent) { r.url += "/git-receive-pack"; r.body = s.packOf(t, password) }), "a pushed pack", nil},
		{"unreachable object", func() {
			command := exec.Command("git", "--git-dir", s.bare(t)[0], "hash-object", "-w", "--stdin")
			command.Stdin = strings.NewReader(password)
			if out, err := command.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}, "a repository", func() {
			if err := os.RemoveAll(s.bare(t)[0]); err != nil {
				t.Fatal(err)
			}
		}},
		{"pull request", func() { write(t, state, `{"body":"`+forms["URL's base64 at 0"]+`"}`) }, "a pull request", func() { write(t, state, "{}") }},
		{"temporary file", func() {
			write(t, temporary, password)
			s.temporary.settle(t)
			if err := os.Remove(temporary); err != nil {
				t.Fatal(err)
			}
		}, "a temporary file", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.leak()
			found := s.leaks(t)
			if want := test.where != ""; want != (len(found) == 1) || want && !strings.HasPrefix(found[0], test.where) {
				t.Errorf("found %q, want one in %q", found, test.where)
			}
			if test.mend != nil {
				test.mend()
			}
			if again := s.leaks(t); len(again) > 0 {
				t.Errorf("found again: %q", again)
			}
		})
	}
	for _, result := range []mcptools.Result{{Texts: []string{"", password}}, {Structured: map[string]any{"x": []string{password}}}} {
		if found := s.leaks(t, result); len(found) != 1 {
			t.Errorf("an answer: found %q", found)
		}
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// packOf is a push's body whose pack holds a file of the content.
func (s *scene) packOf(t *testing.T, content string) []byte {
	t.Helper()
	packed := newPacks(t, s.root)
	run := func(input string, arguments ...string) []byte {
		command := exec.Command("git", append([]string{"--git-dir", packed.repository}, arguments...)...)
		command.Stdin = strings.NewReader(input)
		out, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	hash := run(content, "hash-object", "-w", "--stdin")
	pack := run(string(hash), "pack-objects", "--stdout", "-q")
	if bytes.Contains(pack, []byte(content)) {
		t.Fatal("the pack holds the content without inflating it")
	}
	return append([]byte("0000"), pack...)
}

// Whatever stands around a text, its forms are found in what encoders make of the whole.
func TestEveryFormOfANeedleIsFound(t *testing.T) {
	for _, plain := range []string{"made-for-the-test-0123456789", oddPassword} {
		needle := needles{"it": plain}
		for form, text := range formsOf(plain) {
			if found := needle.find("here", []byte("…"+text+"…")); len(found) != 1 {
				t.Errorf("%s: %q", form, found)
			}
		}
		for before := range 7 {
			for after := range 4 {
				whole := strings.Repeat("a", before) + plain + strings.Repeat("z", after)
				for name, encoded := range encodings(whole) {
					if found := needle.find("here", []byte(encoded)); len(found) != 1 {
						t.Errorf("%d before, %d after: not found in %s: %s", before, after, name, encoded)
					}
				}
			}
		}
	}
	if found := (needles{"it": "made-for-the-test"}).find("here", []byte("made-for-another-test")); !slices.Equal(found, nil) {
		t.Errorf("%q", found)
	}
}
