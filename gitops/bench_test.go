package gitops_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/fixtures/repos"
	"github.com/clustermanager/cluster-manager/gitops"
	"github.com/clustermanager/cluster-manager/gitops/partial/gitserver"
	"github.com/clustermanager/cluster-manager/internal/bench"
)

// largestOfGoGit is the largest repository that go-git checks out here: beyond it a round takes minutes.
const largestOfGoGit = 10_000

// BenchmarkTreeEdit stages four files, six directories deep, in repositories of several sizes.
func BenchmarkTreeEdit(b *testing.B) {
	for _, count := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("files=%d", count), func(b *testing.B) {
			if testing.Short() && count > 1000 {
				b.Skip("the large repositories are left out with -short")
			}
			repository, edits := generated(b, count)
			ways := []bench.Way{editOurs(b, repository, edits), editGit(b, repository, edits)}
			if count <= largestOfGoGit {
				ways = append(ways, editGoGit(b, repository, edits))
			}
			bench.Interleave(b, ways...)
		})
	}
}

// generated is a repository of so many files, and two edits of a cluster in it that take turns, so that each changes
// something.
func generated(tb testing.TB, count int) (*gitserver.Repository, [2]clustermanager.FileSet) {
	tb.Helper()
	repository := gitserver.New(tb).Repository("acme/large")
	options := repos.Options{Files: count, Seed: 1}
	command := exec.CommandContext(context.WithoutCancel(tb.Context()), "git", "--git-dir", repository.Directory, "fast-import", "--quiet")
	input, err := command.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := command.Start(); err != nil {
		tb.Fatal(err)
	}
	if err := repos.Generate(input, options); err != nil {
		tb.Fatal(err)
	}
	if err := input.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		tb.Fatal(err)
	}
	var edits [2]clustermanager.FileSet
	directory := repos.ClusterPath(options.Clusters() / 2)
	for turn := range edits {
		edits[turn] = clustermanager.FileSet{}
		for _, name := range []string{"kustomization.yaml", "gpu-a.yaml", "gpu-b.yaml", "gpu-c.yaml"} {
			edits[turn][path.Join(directory, name)] = text(fmt.Sprintf("# edit %d of %s\n%s", turn, name, strings.Repeat("key: value\n", 180)))
		}
	}
	return repository, edits
}

// editOurs stages in a workspace that has the trees on the way, as a call has them when it stages.
func editOurs(tb testing.TB, repository *gitserver.Repository, edits [2]clustermanager.FileSet) bench.Way {
	tb.Helper()
	workspace, err := gitops.Open(context.WithoutCancel(tb.Context()), options(repository))
	if err != nil {
		tb.Fatal(err)
	}
	if err := workspace.LoadFiles(tb.Context(), edits[0].Paths()...); err != nil {
		tb.Fatal(err)
	}
	turn := 0
	return bench.Ours(func() error {
		turn++
		return workspace.Stage(edits[turn%2])
	})
}

// editGit makes the same tree with an index of its own, in the bare repository.
func editGit(tb testing.TB, repository *gitserver.Repository, edits [2]clustermanager.FileSet) bench.Way {
	tb.Helper()
	folder := tb.TempDir()
	var written [2][]string
	var staged [2]string
	for turn, edit := range edits {
		for _, name := range edit.Paths() {
			file := filepath.Join(folder, fmt.Sprintf("%d-%s", turn, path.Base(name)))
			if err := os.WriteFile(file, edit[name].Content, 0o600); err != nil {
				tb.Fatal(err)
			}
			written[turn] = append(written[turn], file)
			staged[turn] += fmt.Sprintf("100644 %s\t%s\n", repository.Git("hash-object", "-w", file), name)
		}
	}
	turn := 0
	return bench.Commands(tb, "git", func() []*exec.Cmd {
		turn++
		var commands []*exec.Cmd
		for _, arguments := range [][]string{
			{"read-tree", "main"}, append([]string{"hash-object", "-w"}, written[turn%2]...), {"update-index", "--index-info"}, {"write-tree"},
		} {
			command := exec.CommandContext(context.WithoutCancel(tb.Context()), "git", arguments...)
			command.Dir = repository.Directory
			command.Env = append(os.Environ(), "GIT_INDEX_FILE="+filepath.Join(folder, "index"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
			commands = append(commands, command)
		}
		commands[2].Stdin = strings.NewReader(staged[turn%2])
		return commands
	})
}

// editGoGit adds the files to the worktree of a clone in memory, in a process of its own. It makes no tree yet.
func editGoGit(tb testing.TB, repository *gitserver.Repository, edits [2]clustermanager.FileSet) bench.Way {
	tb.Helper()
	command := exec.CommandContext(context.WithoutCancel(tb.Context()), bench.Tool(tb, "gogit"), repository.URL)
	bench.NewMeter(tb).Start(command, os.DevNull)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := command.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = input.Close()
		if err := command.Wait(); err != nil {
			tb.Error(err)
		}
	})
	turn := 0
	stage := func() (cpu, peak int64) {
		turn++
		contents := map[string]string{}
		for name, file := range edits[turn%2] {
			contents[name] = string(file.Content)
		}
		err := json.NewEncoder(input).Encode(contents)
		if err == nil {
			_, err = fmt.Fscanln(output, &cpu, &peak)
		}
		if err != nil {
			tb.Fatal(err)
		}
		return cpu, peak
	}
	// The clone is no part of the edit.
	before, peak := stage()
	return bench.Way{Name: "go-git", Run: func(b *testing.B) {
		start := before
		for b.Loop() {
			before, peak = stage()
		}
		b.ReportMetric(float64(before-start)/float64(b.N), bench.CPU)
		b.ReportMetric(float64(peak), bench.Peak)
	}}
}

// mostAllocations is half as much again as staging four files took when it was written.
const mostAllocations = 900

// Staging takes the trees on the way and no more, whatever the size of the repository, and asks the server for nothing.
func TestStagingTakesTheTreesOnTheWay(t *testing.T) {
	repository, edits := generated(t, 1_000)
	workspace := open(t, repository)
	if err := workspace.LoadFiles(t.Context(), edits[0].Paths()...); err != nil {
		t.Fatal(err)
	}
	before := workspace.Stats()
	turn := 0
	allocations := testing.AllocsPerRun(50, func() {
		turn++
		stage(t, workspace, edits[turn%2])
	})
	t.Logf("%.0f allocations", allocations)
	if allocations > mostAllocations {
		t.Errorf("%.0f allocations, most %d", allocations, mostAllocations)
	}
	if after := workspace.Stats(); after != before {
		t.Errorf("staging asked the server: %+v, then %+v", before, after)
	}
	for name, file := range edits[turn%2] {
		if content, err := fs.ReadFile(workspace.Proposed(), name); err != nil || string(content) != string(file.Content) {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
}
