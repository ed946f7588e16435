package partial_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/clustermanager/cluster-manager/gitops/partial"
	"github.com/clustermanager/cluster-manager/gitops/partial/gitserver"
)

func TestFetch(t *testing.T) {
	server := gitserver.New(t)
	repository := server.Repository("acme/fleet")
	repository.Commit("main", "", "first", gitserver.Change{"clusters/wc1/a.yaml": "one", "clusters/wc1/deep/b.yaml": strings.Repeat("two\n", 400), "README": "r"})
	head := repository.Commit("main", "", "second", gitserver.Change{"clusters/wc1/c.yaml": strings.Repeat("two\n", 400) + "three"})
	remote := dial(t, repository.URL)
	has := func(revision string) bool { return remote.Objects.Has(hash(t, repository.Git("rev-parse", revision))) }

	if err := remote.FetchCommit(t.Context(), hash(t, head)); err != nil {
		t.Fatal(err)
	}
	if !has("main^{tree}") || has("main:clusters") || has("main~1") || has("main:README") {
		t.Error("a commit must bring itself and its root tree, and nothing else")
	}
	if err := remote.FetchTrees(t.Context(), hash(t, repository.Git("rev-parse", "main:clusters"))); err != nil {
		t.Fatal(err)
	}
	if !has("main:clusters") || has("main:clusters/wc1") {
		t.Error("a tree must come alone")
	}
	if err := remote.FetchSubtree(t.Context(), hash(t, repository.Git("rev-parse", "main:clusters"))); err != nil {
		t.Fatal(err)
	}
	if !has("main:clusters/wc1/deep") || has("main:clusters/wc1/a.yaml") {
		t.Error("a directory must bring all its trees and no file")
	}
	var blobs []partial.Hash
	for _, path := range []string{"a.yaml", "deep/b.yaml", "c.yaml", "a.yaml"} {
		blobs = append(blobs, hash(t, repository.Git("rev-parse", "main:clusters/wc1/"+path)))
	}
	before := remote.Stats()
	for range 2 {
		if err := remote.FetchBlobs(t.Context(), blobs...); err != nil {
			t.Fatal(err)
		}
	}
	after := remote.Stats()
	if after.Requests != before.Requests+1 || after.BytesDown <= before.BytesDown || after.BytesUp <= before.BytesUp {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if content, err := remote.Objects.Blob(blobs[1]); err != nil || string(content) != strings.Repeat("two\n", 400) {
		t.Errorf("%q, %v", content, err)
	}
	commit, err := remote.Objects.Commit(hash(t, head))
	if err != nil || commit.Message != "second" || len(commit.Parents) != 1 || commit.Name != "A Person" {
		t.Errorf("%+v, %v", commit, err)
	}
	if err := remote.FetchCommits(t.Context(), commit.Parents...); err != nil || !has("main~1") || has("main~1^{tree}") {
		t.Errorf("commits must come alone: %v", err)
	}
}

func TestFetchRefusals(t *testing.T) {
	server := gitserver.New(t)
	repository := server.Repository("acme/fleet")
	head := repository.Commit("main", "", "first", gitserver.Change{"a": "1"})
	answers := map[string]struct{ body, want string }{
		"empty":     {"", "the server refused the request without saying why"},
		"cut":       {"000dpackfile\n", "unexpected EOF"},
		"error":     {"0016ERR not our " + plainToken[:3] + "\n\n\n", "the server answered: not our ghu"},
		"band":      {"000dpackfile\n000b\x03dying0000", "the server answered: dying"},
		"no pack":   {"000dpackfile\n000b\x01<html>0000", "malformed pack file signature"},
		"many":      {"000dpackfile\n0011\x01PACK\x00\x00\x00\x02\xff\xff\xff\xff0000", "holds more than any that is expected"},
		"other":     {"000dpackfile\n0025\x01" + emptyPack + "0000", "the server left out 1 objects, " + head},
		"truncated": {"000dpackfile\n0011\x01PACK\x00\x00\x00\x02\x00\x00\x00\x010000", "reading the pack"},
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			server.Before(nil)
			remote := dial(t, repository.URL)
			server.Before(func(w http.ResponseWriter, _ *http.Request) bool {
				_, _ = io.WriteString(w, answer.body)
				return true
			})
			err := remote.FetchCommit(t.Context(), hash(t, head))
			if err == nil || !strings.Contains(err.Error(), answer.want) {
				t.Errorf("got  %v\nwant %s", err, answer.want)
			}
			mustNotLeak(t, err)
		})
	}
	server.Before(nil)
	err := dial(t, repository.URL).FetchCommit(t.Context(), hash(t, strings.Repeat("a", 40)))
	if err == nil || !strings.Contains(err.Error(), "not our ref") {
		t.Errorf("absent commit: %v", err)
	}
}

// emptyPack is a pack of no objects with its sum.
const emptyPack = "PACK\x00\x00\x00\x02\x00\x00\x00\x00\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e"

func TestFetchEndsWithItsContext(t *testing.T) {
	server := gitserver.New(t)
	repository := server.Repository("acme/fleet")
	repository.Commit("main", "", "first", gitserver.Change{"a": "1"})
	remote := dial(t, repository.URL)
	server.Before(func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		return true
	})
	ctx, cancel := contextThatEnds(t)
	defer cancel()
	_, err := remote.Branch(ctx, "main")
	if !errors.Is(err, ctx.Err()) || ctx.Err() == nil {
		t.Errorf("got %v", err)
	}
}
