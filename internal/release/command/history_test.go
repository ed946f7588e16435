package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkout is a repository made for one test.
type checkout struct {
	t      *testing.T
	folder string
}

func newCheckout(t *testing.T) checkout {
	t.Helper()
	made := checkout{t: t, folder: t.TempDir()}
	made.git("init", "--quiet", "--initial-branch=main")
	return made
}

func (c checkout) git(arguments ...string) {
	c.t.Helper()
	who := []string{"-C", c.folder, "-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgSign=false", "-c", "tag.gpgSign=false"}
	command := exec.CommandContext(c.t.Context(), "git", append(who, arguments...)...)
	if out, err := command.CombinedOutput(); err != nil {
		c.t.Fatalf("git %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
}

func (c checkout) commit(messages ...string) {
	c.t.Helper()
	for _, message := range messages {
		c.git("commit", "--quiet", "--allow-empty", "--message", message)
	}
}

func (c checkout) says(verb string, arguments ...string) string {
	c.t.Helper()
	var out bytes.Buffer
	if err := run(c.t.Context(), append([]string{verb, "-folder", c.folder}, arguments...), &out); err != nil {
		c.t.Fatalf("%s: %v", verb, err)
	}
	return strings.TrimSpace(out.String())
}

func (c checkout) next(want string) {
	c.t.Helper()
	if got := c.says("next"); got != want {
		c.t.Errorf("next is %q, want %q", got, want)
	}
}

func TestNextOfAHistory(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.commit("docs: begin")
	c.next("")
	c.commit("feat: a thing\n\nWith a body.")
	c.next("0.1.0")
	c.git("tag", "v0.1.0")
	c.next("0.1.0") // A run that failed after its tag is run again.
	c.commit("docs: nothing")
	c.next("")
	c.commit("fix: the thing")
	c.next("0.1.1")
	c.git("tag", "--annotate", "--message", "x", "v0.1.1")
	c.git("tag", "nightly")
	c.commit("feat: another")
	c.next("0.2.0")
	c.git("checkout", "--quiet", "-b", "side", "v0.1.0")
	c.commit("fix: on a side branch")
	c.git("tag", "v7.0.0") // Of another branch: no part of main's history.
	c.git("checkout", "--quiet", "main")
	c.next("0.2.0")
}

func TestAnOlderCommitIsNotReleasedAfterANewerOne(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.commit("feat: a", "feat: b")
	c.git("tag", "v0.1.0")
	c.git("checkout", "--quiet", "--detach", "HEAD~1")
	c.next("")
}

func TestNotesOfAHistory(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.commit("feat: old")
	c.git("tag", "v0.1.0")
	c.commit("fix: a\n\nBREAKING CHANGE: so it is", "feat: b")
	before := c.says("notes")
	for _, part := range []string{"## 0.2.0\n", "### Breaking\n\n- a (", "): so it is\n", "### Added\n\n- b ("} {
		if !strings.Contains(before, part) {
			t.Errorf("the notes lack %q:\n%s", part, before)
		}
	}
	if strings.Contains(before, "old") {
		t.Errorf("the notes tell of an earlier release:\n%s", before)
	}
	c.git("tag", "v0.2.0")
	if after := c.says("notes", "-version", "0.2.0"); after != before {
		t.Errorf("once tagged, the notes change:\n%s", after)
	}
}

func TestACutOffHistoryIsAnError(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.commit("feat: a", "feat: b")
	shallow := filepath.Join(t.TempDir(), "shallow")
	c.git("clone", "--quiet", "--depth", "1", "file://"+c.folder, shallow)
	err := run(t.Context(), []string{"next", "-folder", shallow}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("error %v", err)
	}
}

func TestTheVerbIsNamed(t *testing.T) {
	t.Parallel()
	for _, arguments := range [][]string{nil, {"publish"}} {
		if err := run(t.Context(), arguments, &bytes.Buffer{}); err == nil {
			t.Errorf("%q: no error", arguments)
		}
	}
}
