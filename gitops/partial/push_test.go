package partial_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/partial"
	"github.com/clustermanager/cluster-manager/gitops/partial/gitserver"
)

func contextThatEnds(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), 50*time.Millisecond)
}

// bench is a repository with one commit, a Remote that knows it, and a second commit that is ready to be pushed.
type bench struct {
	server     *gitserver.Server
	repository *gitserver.Repository
	remote     *partial.Remote
	base, next partial.Hash
	objects    []partial.Hash
}

func newBench(t *testing.T) bench {
	t.Helper()
	server := gitserver.New(t)
	repository := server.Repository("acme/fleet")
	base := hash(t, repository.Commit("main", "", "first", gitserver.Change{"a": "1", "b/c": "2"}))
	remote := dial(t, repository.URL)
	if err := remote.FetchCommit(t.Context(), base); err != nil {
		t.Fatal(err)
	}
	b := bench{server: server, repository: repository, remote: remote, base: base}
	b.next, b.objects = b.commit(t, "new content")
	return b
}

func (b bench) commit(t *testing.T, content string) (partial.Hash, []partial.Hash) {
	t.Helper()
	read, err := b.remote.Objects.Commit(b.base)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := b.remote.Objects.Tree(read.Tree)
	if err != nil {
		t.Fatal(err)
	}
	blob := b.remote.Objects.AddBlob([]byte(content))
	tree, err := b.remote.Objects.AddTree(append([]partial.Entry{{Name: "b.c", Mode: partial.Regular, Hash: blob}}, entries...))
	if err != nil {
		t.Fatal(err)
	}
	commit, err := b.remote.Objects.AddCommit(partial.Commit{
		Tree: tree, Parents: []partial.Hash{b.base}, Name: " Jane <Doe>\n", Email: "jane@example.com", Time: time.Unix(1750000000, 0), Message: "feat: a\n\nb\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	return commit, []partial.Hash{blob, tree, commit}
}

func (b bench) push(t *testing.T, branch string, old partial.Hash) error {
	t.Helper()
	return b.remote.Push(t.Context(), branch, old, b.next, b.objects...)
}

// at says where a branch is on the server; "" where it is not.
func (b bench) at(branch string) string {
	return b.repository.Try("rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
}

func TestPush(t *testing.T) {
	b := newBench(t)
	before := b.remote.Stats().Requests
	if err := b.push(t, "topic/one", partial.Hash{}); err != nil {
		t.Fatal(err)
	}
	if requests := b.remote.Stats().Requests - before; requests != 1 {
		t.Errorf("%d requests, want 1", requests)
	}
	b.repository.Git("fsck", "--strict", "--full")
	if got, want := b.repository.Git("log", "-1", "--format=%an|%ae|%cn|%ct|%B", "topic/one"), "Jane Doe|jane@example.com|Jane Doe|1750000000|feat: a\n\nb\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := b.push(t, "main", b.base); err != nil || b.at("main") != b.next.String() {
		t.Errorf("fast-forward: %v, main at %s", err, b.at("main"))
	}
	if err := b.remote.Push(t.Context(), "main", b.next, b.base); err != nil || b.at("main") != b.base.String() {
		t.Errorf("replacing: %v, main at %s", err, b.at("main"))
	}
}

func TestPushStale(t *testing.T) {
	b := newBench(t)
	moved := b.repository.Commit("main", "", "meanwhile", gitserver.Change{"z": "1"})
	b.repository.Git("branch", "other", "main")
	for name, old := range map[string]partial.Hash{"main": b.base, "other": {}, "absent": b.base} {
		if err := b.push(t, name, old); !errors.Is(err, partial.ErrStale) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b.at("main") != moved || b.at("other") != moved || b.at("absent") != "" {
		t.Error("a stale push changed a branch")
	}
}

func TestPushRejected(t *testing.T) {
	tests := []struct{ name, hook, script, want string }{
		{"ruleset", "pre-receive", "printf 'error: GH013: Repository rule violations found for refs/heads/topic.\\n\\n- Cannot create ref \\033[1mdue\\033[0m to " + plainToken + "\\n' >&2; exit 1",
			"pushing branch topic: the server refused it: GH013: Repository rule violations found for refs/heads/topic. - Cannot create ref due to <redacted> pre-receive hook declined"},
		{"update hook", "update", "echo no topics here >&2; exit 1", "pushing branch topic: the server refused it: no topics here hook declined to update refs/heads/topic hook declined"},
		{"silent", "pre-receive", "exit 1", "pushing branch topic: the server refused it: pre-receive hook declined"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.repository.Hook(test.hook, test.script)
			err := b.push(t, "topic", partial.Hash{})
			var rejected *partial.Rejected
			if !errors.As(err, &rejected) || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
			if b.at("topic") != "" {
				t.Error("the branch was made")
			}
			mustNotLeak(t, err)
		})
	}
}

func TestPushNameClash(t *testing.T) {
	b := newBench(t)
	b.repository.Git("branch", "topic", "main")
	err := b.push(t, "topic/one", partial.Hash{})
	var rejected *partial.Rejected
	if !errors.As(err, &rejected) || !strings.Contains(rejected.Words, "'refs/heads/topic' exists") {
		t.Errorf("got %v", err)
	}
}

func TestPushIncompletePack(t *testing.T) {
	b := newBench(t)
	err := b.remote.Push(t.Context(), "topic", partial.Hash{}, b.next, b.objects[2])
	var rejected *partial.Rejected
	if !errors.As(err, &rejected) || b.at("topic") != "" {
		t.Errorf("got %v", err)
	}
}

func TestPushWithoutWriteAccess(t *testing.T) {
	b := newBench(t)
	b.repository.Git("config", "http.receivepack", "false")
	err := b.push(t, "topic", partial.Hash{})
	if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || !strings.Contains(err.Error(), "needs write access") || b.at("topic") != "" {
		t.Errorf("got %v", err)
	}
}

// TestPushCut breaks the connection after the push was taken, and before.
func TestPushCut(t *testing.T) {
	for name, taken := range map[string]bool{"taken": true, "not taken": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.server.Before(func(_ http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
					return false
				}
				if taken {
					b.server.Serve(httptest.NewRecorder(), r)
				}
				panic(http.ErrAbortHandler)
			})
			err := b.push(t, "topic", partial.Hash{})
			if taken && err != nil || !taken && (err == nil || errors.Is(err, partial.ErrStale)) {
				t.Errorf("got %v", err)
			}
			if pushed := b.at("topic") == b.next.String(); pushed != taken {
				t.Errorf("branch at %q", b.at("topic"))
			}
			if count := b.server.Count("git-receive-pack"); count != 1 {
				t.Errorf("%d pushes, want 1", count)
			}
		})
	}
}
