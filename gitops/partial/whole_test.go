package partial_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/partial"
	"github.com/clustermanager/cluster-manager/gitops/partial/gitserver"
)

// wholeWays configure servers that send whole branches alone.
var wholeWays = map[partial.Way]func(*gitserver.Server, *gitserver.Repository){
	partial.WayShallow: func(_ *gitserver.Server, repository *gitserver.Repository) {
		repository.Git("config", "uploadpack.allowFilter", "false")
	},
	partial.WayVersion0: func(server *gitserver.Server, repository *gitserver.Repository) {
		server.Age()
		// By version 0 the setting matters, and by default a commit that no branch is at is not given.
		repository.Git("config", "uploadpack.allowAnySHA1InWant", "false")
	},
}

// inWholeWays runs a test with each way.
func inWholeWays(t *testing.T, test func(t *testing.T, server *gitserver.Server, repository *gitserver.Repository, way partial.Way)) {
	for way, configure := range wholeWays {
		t.Run(string(way), func(t *testing.T) {
			server := gitserver.New(t)
			repository := server.Repository("acme/fleet")
			configure(server, repository)
			test(t, server, repository, way)
		})
	}
}

// random is content that does not pack.
func random(size int) string {
	content := make([]byte, size)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(content)
	return string(content)
}

func TestWholeBranch(t *testing.T) {
	inWholeWays(t, func(t *testing.T, server *gitserver.Server, repository *gitserver.Repository, way partial.Way) {
		old := repository.Commit("main", "", "first", gitserver.Change{"a/large": random(20_000), "a/b/c": "2", "gone": random(30_000)})
		head := repository.Commit("main", "", "second", gitserver.Change{"a/b/d": "3", "gone": gitserver.Removed})
		remote := dial(t, repository.URL)
		has := func(revision string) bool { return remote.Objects.Has(hash(t, repository.Git("rev-parse", revision))) }
		if _, err := remote.Branch(t.Context(), "main"); err != nil {
			t.Fatal(err)
		}
		if err := remote.FetchCommit(t.Context(), hash(t, head)); err != nil {
			t.Fatal(err)
		}
		if !has("main^{tree}") || !has("main:a/b/c") || !has("main:a/large") || has("main~1") || has("main~1:gone") {
			t.Error("a commit must bring all that it holds, and nothing of its history")
		}
		want := partial.Stats{Way: way, Requests: 3}
		if way == partial.WayVersion0 {
			want.Requests = 2
		}
		got := remote.Stats()
		if got.BytesDown < 20_000 || got.BytesDown > 22_000 {
			t.Errorf("%d bytes, want the branch's 20 KB", got.BytesDown)
		}
		got.BytesDown, got.BytesUp = 0, 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		tree, blob := hash(t, repository.Git("rev-parse", "main:a")), hash(t, repository.Git("rev-parse", "main:a/b/c"))
		for doing, err := range map[string]error{
			"commit":  remote.FetchCommit(t.Context(), hash(t, head)),
			"commits": remote.FetchCommits(t.Context(), hash(t, head)),
			"trees":   remote.FetchTrees(t.Context(), tree),
			"subtree": remote.FetchSubtree(t.Context(), tree),
			"blobs":   remote.FetchBlobs(t.Context(), blob),
		} {
			if err != nil {
				t.Errorf("%s: %v", doing, err)
			}
		}
		err := remote.FetchBlobs(t.Context(), hash(t, repository.Git("rev-parse", "main~1:gone")))
		if err == nil || !strings.Contains(err.Error(), "fetching files: the server left out 1 objects") {
			t.Errorf("got %v", err)
		}
		if requests := remote.Stats().Requests; requests != want.Requests {
			t.Errorf("%d requests, want nothing after the branch", requests)
		}
		// Another branch, from an older commit, costs its difference.
		repository.Commit("topic", old, "topic", gitserver.Change{"a/large": random(20_000) + "appended", "gone": gitserver.Removed})
		tip, _, err := remote.Find(t.Context(), "topic")
		if err != nil {
			t.Fatal(err)
		}
		before := remote.Stats()
		if err := remote.FetchCommits(t.Context(), tip); err != nil {
			t.Fatal(err)
		}
		if !has("topic:a/large") || has("topic~1") {
			t.Error("a later commit must bring what it holds, and nothing of its history")
		}
		if bytes := remote.Stats().BytesDown - before.BytesDown; bytes > 1<<10 {
			t.Errorf("%d bytes for a few that were appended", bytes)
		}
		if err := remote.FetchCommit(t.Context(), hash(t, old)); err != nil {
			t.Fatal(err)
		}
		after := remote.Stats()
		if bytes := after.BytesDown - before.BytesDown; !has("topic~1:gone") || bytes < 30_000 || bytes > 32_000 || after.Requests != before.Requests+2 {
			t.Errorf("%d bytes in %d requests, want the 30 KB that are not in main", bytes, after.Requests-before.Requests)
		}
		if count := server.Count("git-receive-pack"); count != 0 {
			t.Errorf("%d pushes", count)
		}
	})
}

// TestVersion0StaysVersion0: what drops the header of the first request, a proxy perhaps, may let it pass later.
func TestVersion0StaysVersion0(t *testing.T) {
	server := gitserver.New(t)
	repository := server.Repository("acme/fleet")
	head := repository.Commit("main", "", "first", gitserver.Change{"a": "1"})
	server.Before(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			r.Header.Del("Git-Protocol")
		}
		return false
	})
	remote := dial(t, repository.URL)
	if err := remote.FetchCommit(t.Context(), hash(t, head)); err != nil || remote.Stats().Way != partial.WayVersion0 {
		t.Errorf("way %s: %v", remote.Stats().Way, err)
	}
}

// TestWholeBranchPush: go-git issues 2367, 305 and 1443, the push from a shallow commit.
func TestWholeBranchPush(t *testing.T) {
	inWholeWays(t, func(t *testing.T, server *gitserver.Server, repository *gitserver.Repository, _ partial.Way) {
		repository.Commit("main", "", "first", gitserver.Change{"a": "1"})
		base := hash(t, repository.Commit("main", "", "second", gitserver.Change{"b/c": "2"}))
		remote := dial(t, repository.URL)
		if err := remote.FetchCommit(t.Context(), base); err != nil {
			t.Fatal(err)
		}
		b := bench{server: server, repository: repository, remote: remote, base: base}
		b.next, b.objects = b.commit(t, "new content")
		if err := b.push(t, "topic", partial.Hash{}); err != nil {
			t.Fatal(err)
		}
		if b.at("topic") != b.next.String() || repository.Git("rev-list", "--count", "topic") != "3" {
			t.Errorf("topic at %q", b.at("topic"))
		}
		if err := b.push(t, "main", base); err != nil || b.at("main") != b.next.String() {
			t.Errorf("fast-forward: %v", err)
		}
		repository.Git("fsck", "--strict", "--full")
		moved := repository.Commit("main", "", "meanwhile", gitserver.Change{"z": "1"})
		if err := b.push(t, "main", base); !errors.Is(err, partial.ErrStale) || b.at("main") != moved {
			t.Errorf("got %v", err)
		}
	})
}

func TestWholeBranchBranches(t *testing.T) {
	inWholeWays(t, func(t *testing.T, _ *gitserver.Server, repository *gitserver.Repository, way partial.Way) {
		main := repository.Commit("main", "", "first", gitserver.Change{"a": "1"})
		repository.Git("branch", "deep/er/one", "main")
		repository.Git("branch", "top", "main")
		packed := "# pack-refs with: peeled fully-peeled sorted \n"
		for number := range 10_000 {
			packed += fmt.Sprintf("%s refs/tags/v%05d\n", main, number)
		}
		if err := os.WriteFile(filepath.Join(repository.Directory, "packed-refs"), []byte(packed), 0o644); err != nil {
			t.Fatal(err)
		}
		remote := dial(t, repository.URL)
		// By version 0 the list that came first serves the first name, and each later name has a fresh one.
		for name, want := range map[string]string{"main": main, "deep": "deep/er/one", "top/a": "top", "deep/er/two": ""} {
			found, clash, err := remote.Find(t.Context(), name)
			if err != nil || found.IsZero() && clash != want || !found.IsZero() && found.String() != want {
				t.Errorf("%s: found %s, clash %q, %v", name, found, clash, err)
			}
		}
		if _, err := remote.Branch(t.Context(), "absent"); !errors.Is(err, partial.ErrBranchNotFound) {
			t.Errorf("got %v", err)
		}
		moved := repository.Commit("main", "", "second", gitserver.Change{"a": "2"})
		if got, err := remote.Branch(t.Context(), "main"); err != nil || got.String() != moved {
			t.Errorf("main at %s, %v: it moved to %s", got, err, moved)
		}
		stats := remote.Stats()
		if way == partial.WayShallow && stats.BytesDown > 4<<10 || way == partial.WayVersion0 && (stats.Requests != 6 || stats.BytesDown > 6<<20) {
			t.Errorf("%+v", stats)
		}
	})
}

func TestWholeBranchTooLarge(t *testing.T) {
	const sentence = "the git server sends whole branches alone, and this one is over the limit of 32 MiB for one file that is taken into memory: "
	wants := map[partial.Way]string{
		partial.WayShallow:  sentence + "set uploadpack.allowFilter on the git server",
		partial.WayVersion0: sentence + "let the git server speak protocol version 2, and set uploadpack.allowFilter there",
	}
	inWholeWays(t, func(t *testing.T, _ *gitserver.Server, repository *gitserver.Repository, way partial.Way) {
		head := repository.Commit("main", "", "first", gitserver.Change{"large": string(make([]byte, 32<<20+1))})
		err := dial(t, repository.URL).FetchCommit(t.Context(), hash(t, head))
		if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || !strings.HasSuffix(err.Error(), "/acme/fleet: "+wants[way]) {
			t.Errorf("got  %v\nwant %s", err, wants[way])
		}
		mustNotLeak(t, err)
	})
}

// TestWholeBranchHostile has servers that lie about a branch.
func TestWholeBranchHostile(t *testing.T) {
	before := map[partial.Way]string{partial.WayShallow: "000dpackfile\n", partial.WayVersion0: "0008NAK\n"}
	packet := func(band byte, content string) string { return fmt.Sprintf("%04x%c%s", len(content)+5, band, content) }
	answers := map[string]struct {
		body   func(w io.Writer)
		want   string
		reason clustermanager.Reason
	}{
		"empty pack":    {func(w io.Writer) { _, _ = io.WriteString(w, packet(1, emptyPack)+"0000") }, "the server left out 1 objects", clustermanager.ReasonError},
		"cut":           {func(w io.Writer) { _, _ = io.WriteString(w, packet(1, emptyPack[:12])) }, "unexpected EOF", clustermanager.ReasonError},
		"wrong sum":     {func(w io.Writer) { _, _ = io.WriteString(w, packet(1, emptyPack[:31]+"x")+"0000") }, "checksum", clustermanager.ReasonError},
		"many":          {func(w io.Writer) { _, _ = io.WriteString(w, packet(1, "PACK\x00\x00\x00\x02\xff\xff\xff\xff")) }, "over the limit of 200000 objects that", clustermanager.ReasonRefused},
		"endless pack":  {func(w io.Writer) { endlessPack(w, packet) }, "over the limit of 64 MiB packed that", clustermanager.ReasonRefused},
		"endless words": {func(w io.Writer) { repeat(w, packet(2, strings.Repeat("words ", 10_000))) }, "over the limit of 64 MiB packed that", clustermanager.ReasonRefused},
		"foreign base": {func(w io.Writer) {
			_, _ = io.WriteString(w, packet(1, "PACK\x00\x00\x00\x02\x00\x00\x00\x01\x74"+strings.Repeat("b", 20)+"x\x9c\x03\x00\x00\x00\x00\x01")+"0000")
		}, "reading the pack", clustermanager.ReasonError},
	}
	inWholeWays(t, func(t *testing.T, server *gitserver.Server, repository *gitserver.Repository, way partial.Way) {
		head := repository.Commit("main", "", "first", gitserver.Change{"a": "1"})
		for name, answer := range answers {
			server.Before(nil)
			remote := dial(t, repository.URL)
			start := remote.Stats().BytesDown
			server.Before(func(w http.ResponseWriter, _ *http.Request) bool {
				_, _ = io.WriteString(w, before[way])
				answer.body(w)
				return true
			})
			err := remote.FetchCommit(t.Context(), hash(t, head))
			if err == nil || !strings.Contains(err.Error(), answer.want) || clustermanager.ReasonOf(err) != answer.reason {
				t.Errorf("%s: got  %v\nwant %s", name, err, answer.want)
			}
			if bytes := remote.Stats().BytesDown - start; bytes > 65<<20 {
				t.Errorf("%s: %d bytes were read", name, bytes)
			}
		}
		server.Before(nil)
		remote := dial(t, repository.URL)
		server.Before(func(http.ResponseWriter, *http.Request) bool { return true })
		if err := remote.FetchCommit(t.Context(), hash(t, head)); err == nil || !strings.Contains(err.Error(), "without saying why (an empty answer)") {
			t.Errorf("empty answer: %v", err)
		}
	})
}

// endlessPack sends blobs of a megabyte that do not pack, of which there are said to be 100,000.
func endlessPack(w io.Writer, packet func(byte, string) string) {
	var entry bytes.Buffer
	entry.WriteString("\xb0\x80\x80\x04x\x01") // a blob of 1 MiB, and zlib's header.
	content := random(1 << 20)
	sum := adler(content)
	for len(content) > 0 {
		part := content[:min(len(content), 1<<15)]
		content = content[len(part):]
		final := byte(0)
		if content == "" {
			final = 1
		}
		size := uint16(len(part))
		entry.Write([]byte{final, byte(size), byte(size >> 8), ^byte(size), ^byte(size >> 8)})
		entry.WriteString(part)
	}
	entry.Write(sum)
	if _, err := io.WriteString(w, packet(1, "PACK\x00\x00\x00\x02\x00\x01\x86\xa0")); err != nil {
		return
	}
	var packets strings.Builder
	for rest := entry.Bytes(); len(rest) > 0; {
		part := rest[:min(len(rest), 60_000)]
		rest = rest[len(part):]
		packets.WriteString(packet(1, string(part)))
	}
	repeat(w, packets.String())
}

// adler is the sum at the end of zlib's data.
func adler(content string) []byte {
	return binary.BigEndian.AppendUint32(nil, adler32.Checksum([]byte(content)))
}

func TestSHA256IsRefused(t *testing.T) {
	for way, configure := range wholeWays {
		t.Run(string(way), func(t *testing.T) {
			server := gitserver.New(t)
			repository := server.Repository("acme/fleet")
			repository.Git("init", "--quiet", "--bare", "--object-format=sha256", "--initial-branch=main", "../other.git")
			other := *repository
			other.URL, other.Directory = server.URL+"/acme/other.git", filepath.Join(repository.Directory, "..", "other.git")
			other.Commit("main", "", "first", gitserver.Change{"a": "1"})
			configure(server, &other)
			_, err := partial.Dial(t.Context(), partial.Options{URL: other.URL})
			if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || !strings.HasSuffix(err.Error(), "its object format is sha256, this build knows sha1 alone: use a repository with sha1 objects") {
				t.Errorf("got %v", err)
			}
			if count := server.Count("git-upload-pack"); count != 0 {
				t.Errorf("%d requests after the first", count)
			}
		})
	}
}
