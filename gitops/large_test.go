package gitops_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/partial/gitserver"
)

// TestLargeRepository proposes four files in a repository of 10,000 and counts what that costs.
func TestLargeRepository(t *testing.T) {
	const organizations, clusters = 400, 5
	files := gitserver.Change{}
	random := rand.New(rand.NewPCG(1, 2))
	for organization := range organizations {
		for cluster := range clusters {
			directory := fmt.Sprintf("organizations/org-%03d/wc%d/", organization, cluster)
			for _, name := range []string{"wc.yaml", "values.yaml", "kustomization.yaml", "cluster-manager/kustomization.yaml", "cluster-manager/gpu-a.yaml"} {
				files[directory+name] = fmt.Sprintf("# %s\nvalue: %x\n", name, random.Uint64())
			}
		}
	}
	server, repository := newRepository(t, files)
	var branches strings.Builder
	for number := range 3000 {
		fmt.Fprintf(&branches, "create refs/heads/feature-%d main\n", number)
	}
	repository.Input(branches.String(), "update-ref", "--stdin")
	forge := newForge(repository)
	workspace := open(t, repository)
	const directory = "organizations/org-123/wc3/"
	if err := workspace.LoadFiles(t.Context(), ".sops.yaml", directory+"kustomization.yaml", directory+"cluster-manager/kustomization.yaml", directory+"cluster-manager/gpu-a.yaml"); err != nil {
		t.Fatal(err)
	}
	stage(t, workspace, clustermanager.FileSet{
		directory + "kustomization.yaml":                 text("resources: [wc.yaml, cluster-manager]\n"),
		directory + "cluster-manager/kustomization.yaml": text("resources: [gpu-a.yaml, gpu-b.yaml]\n"),
		directory + "cluster-manager/gpu-b.yaml":         text("kind: HelmRelease\n"),
		directory + "cluster-manager/gpu-b.enc.yaml":     {Content: []byte("sealed"), Sensitive: true},
	})
	outcome, err := workspace.Propose(t.Context(), forge, proposal(branch))
	if err != nil || !outcome.Opened {
		t.Fatal(outcome, err)
	}
	stats := workspace.Stats()
	t.Logf("%d files: %+v", len(files), stats)
	if len(files) != 10_000 || stats.BytesDown > 64<<10 || stats.Requests > 11 || stats.BytesUp > 64<<10 {
		t.Errorf("%d files: %+v, allowed are 64 KB and 11 requests", len(files), stats)
	}
	if count := server.Count("git-receive-pack"); count != 1 {
		t.Errorf("%d pushes", count)
	}
	if got := repository.Git("diff", "--name-only", "main", branch); got != directory+"cluster-manager/gpu-b.enc.yaml\n"+directory+"cluster-manager/gpu-b.yaml\n"+directory+"cluster-manager/kustomization.yaml\n"+directory+"kustomization.yaml" {
		t.Errorf("files: %s", got)
	}
}
