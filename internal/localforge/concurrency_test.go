package localforge_test

import (
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clustermanager/cluster-manager/internal/localforge"
)

func TestPushesAndPullRequestsAtTheSameTime(t *testing.T) {
	forge := newForge(t, localforge.Options{State: t.TempDir() + "/forge.json"})
	const count = 6
	folders := make([]string, count)
	for i := range folders {
		folders[i] = clone(t, forge)
	}
	var group sync.WaitGroup
	for i, folder := range folders {
		group.Go(func() {
			branch := fmt.Sprintf("topic-%d", i)
			if output, err := gitIn(t, folder, writer, "push", "--quiet", "origin", "HEAD:refs/heads/"+branch); err != nil {
				t.Errorf("%s: %v %s", branch, err, output)
			}
			mustGit(t, folder, "commit", "--quiet", "--allow-empty", "-m", branch)
			mustGit(t, folder, "push", "--quiet", "origin", "HEAD:refs/heads/"+branch)
			if status, answer, _ := api(t, forge, writer, http.MethodPost, pulls, map[string]any{"title": branch, "head": branch, "base": "main"}); status != http.StatusCreated {
				t.Errorf("%s: %d %v", branch, status, answer)
			}
		})
	}
	group.Wait()
	seen := map[string]bool{}
	for number := 1; number <= count; number++ {
		p, err := forge.PullRequest("acme", "fleet", number)
		if err != nil || p.Number != number || seen[p.Branch] {
			t.Errorf("pull request %d: %+v, %v", number, p, err)
		}
		seen[p.Branch] = true
	}
	if forge.ReceivePacks() != 2*count {
		t.Errorf("%d pushes, want %d", forge.ReceivePacks(), 2*count)
	}
}

// A push that stops half way keeps no git command and no forge waiting, and leaves no branch.
func TestCloseEndsAHalfPush(t *testing.T) {
	options := localforge.Options{Repositories: t.TempDir()}
	forge := newForge(t, options)
	head := strings.Fields(mustGit(t, t.TempDir(), "ls-remote", forge.CloneURL("acme", "fleet"), "refs/heads/main"))[0]
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(forge.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	line := strings.Repeat("0", 40) + " " + head + " refs/heads/half\x00report-status"
	_, _ = fmt.Fprintf(connection, "POST /acme/fleet.git/git-receive-pack HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/x-git-receive-pack-request\r\nContent-Length: 100000\r\n\r\n%04x%s0000PACK",
		writer.Reveal(), len(line)+4, line)
	for forge.ReceivePacks() == 0 {
		runtime.Gosched()
	}
	closed := make(chan error)
	go func() { closed <- forge.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the forge waits for a push that never comes")
	}
	again := newForge(t, options)
	if refs := mustGit(t, t.TempDir(), "ls-remote", again.CloneURL("acme", "fleet")); strings.Contains(refs, "half") {
		t.Errorf("refs: %s", refs)
	}
}
