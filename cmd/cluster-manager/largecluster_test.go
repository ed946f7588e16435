package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/fixtures/repos"
)

// manyOrganizations is a repository in the layout of gitops-template: organizations of 25 clusters, each with a Flux
// Kustomization and ten files of its own.
func manyOrganizations(t *testing.T, repository string, organizations int) (files int) {
	t.Helper()
	var stream strings.Builder
	write := func(name, content string) {
		files++
		fmt.Fprintf(&stream, "M 100644 inline management-clusters/gazelle/organizations/%s\ndata %d\n%s\n", name, len(content), content)
	}
	stream.WriteString("commit refs/heads/main\ncommitter fixtures <fixtures@acme.example> 1785542400 +0000\ndata 5\nfleet\n")
	for o := range organizations {
		organization := fmt.Sprintf("o%03d", o)
		if o == 0 {
			organization = "acme"
		}
		list := "resources:\n"
		for c := range repos.ClustersPerOrganization {
			name := fmt.Sprintf("c%03d%02d", o, c)
			list += "- " + name + ".yaml\n"
			write(organization+"/workload-clusters/"+name+".yaml", fmt.Sprintf("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: clusters-%s\n  namespace: default\nspec:\n  interval: 1m\n  path: ./management-clusters/gazelle/organizations/%s/workload-clusters/%s\n  prune: true\n", name, organization, name))
			for f := range repos.FilesPerCluster {
				write(fmt.Sprintf("%s/workload-clusters/%s/mapi/%d.yaml", organization, name, f), fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s-%d\ndata:\n  x: %s\n", name, f, strings.Repeat("x", 1800)))
			}
		}
		write(organization+"/workload-clusters/kustomization.yaml", list)
	}
	if err := os.MkdirAll(filepath.Dir(repository), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "init", "--quiet", "--bare", "--initial-branch=main", repository).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	command := exec.Command("git", "--git-dir", repository, "fast-import", "--quiet")
	command.Stdin = strings.NewReader(stream.String())
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git fast-import: %v: %s", err, out)
	}
	return files
}

// The files of an installation's other clusters are neither fetched nor built for a new one: the tree of its
// organization's Kustomization holds their Flux Kustomizations alone.
func TestANewClusterInALargeRepositoryFetchesWhatItNeeds(t *testing.T) {
	keep := t.TempDir()
	files := manyOrganizations(t, filepath.Join(keep, "repos", "acme", "large.git"), 12)
	directory := largeSnapshot(t, "management-clusters/gazelle")
	counted := &meter{}
	opened, err := openSnapshot(t.Context(), snapshotOptions{
		directory: directory, keep: keep, now: time.Now, transport: counted,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()
	client, err := opened.tools.Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	arguments, err := json.Marshal(dev01(nil))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	result, err := client.Call(t.Context(), "create_cluster", arguments, nil)
	if err != nil || result.Reason != "" {
		t.Fatalf("%v %s", err, result.Texts)
	}
	var answer clustermanager.WriteResult
	if err := json.Unmarshal([]byte(result.Texts[0]), &answer); err != nil {
		t.Fatal(err)
	}
	if !answer.Commit.Proof.Built || answer.Commit.Number != 1 {
		t.Errorf("%+v", answer.Commit)
	}
	t.Logf("of %d files fetched %d bytes in %d git requests, %d API calls, %s", files, counted.bytesDown, counted.git, counted.api, time.Since(start))
	const mostDown = 256 << 10
	if counted.bytesDown > mostDown || counted.git > 2*mostGitRequests || counted.api > mostAPICalls {
		t.Errorf("fetched %d bytes (most %d) in %d git requests (most %d), %d API calls (most %d)",
			counted.bytesDown, mostDown, counted.git, 2*mostGitRequests, counted.api, mostAPICalls)
	}
}
