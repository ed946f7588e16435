package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/localforge"
)

// edit changes a scene before its forge starts.
type edit = func(*testing.T, *scene)

// Places of the fixtures, below a scene's root.
const (
	clusterPath   = "clusters/wc3"
	wc3Tree       = "trees/research/clusters/" + clusterPath
	wc3Sops       = "trees/research/clusters/.sops.yaml"
	wc3Flux       = "snapshot/management/flux-giantswarm/kustomization-wc3.yaml"
	wc3Source     = "snapshot/management/flux-giantswarm/gitrepository-research.yaml"
	wc3Values     = "snapshot/management/org-research/configmap-wc3-values.yaml"
	wc3Repository = "research/clusters"
	wc3Branch     = "cluster-manager/gazelle/add-wc3-gpu-l4"
	ownDirectory  = clusterPath + "/cluster-manager"
)

// replacing edits a file, writing makes one.
func replacing(path, old, replacement string) edit {
	return func(t *testing.T, s *scene) {
		t.Helper()
		replace(t, filepath.Join(s.root, path), old, replacement)
	}
}

func writing(path, content string) edit {
	return func(t *testing.T, s *scene) {
		t.Helper()
		whole := filepath.Join(s.root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(whole), 0o755), os.WriteFile(whole, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func removing(path string) edit {
	return func(t *testing.T, s *scene) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(s.root, path)); err != nil {
			t.Fatal(err)
		}
	}
}

func linking(path, target string) edit {
	return func(t *testing.T, s *scene) {
		t.Helper()
		removing(path)(t, s)
		if err := os.Symlink(target, filepath.Join(s.root, path)); err != nil {
			t.Fatal(err)
		}
	}
}

// badInputs are calls that are refused, each with the words that say why and those of the way out.
var badInputs = map[string]struct {
	edits     []edit
	cluster   string
	arguments map[string]any
	reason    clustermanager.Reason
	words     []string
}{
	"a cluster that does not exist": {cluster: "nowhere", reason: clustermanager.ReasonNotFound, words: []string{"cluster nowhere not found", "correct the name"}},
	"a cluster in another namespace": {cluster: "wc1", arguments: map[string]any{"namespace": "org-research"}, reason: clustermanager.ReasonNotFound,
		words: []string{"org-research/wc1 not found"}},
	"an ambiguous cluster":    {cluster: "twin", reason: clustermanager.ReasonRefused, words: []string{"org-acme", "org-research", "namespace"}},
	"a name that is no label": {cluster: "wc1", arguments: map[string]any{"name": "GPU_l4"}, reason: clustermanager.ReasonInvalidArguments, words: []string{`"GPU_l4"`, "5 to 20 lower-case letters"}},
	"a name that is too short": {cluster: "wc1", arguments: map[string]any{"name": "gpu4"}, reason: clustermanager.ReasonInvalidArguments,
		words: []string{`"gpu4"`, "5 to 20"}},
	"a name that climbs":            {cluster: "wc1", arguments: map[string]any{"name": "../../etc"}, reason: clustermanager.ReasonInvalidArguments, words: []string{"argument name"}},
	"a name of two lines":           {cluster: "wc1", arguments: map[string]any{"name": "gpu-l4\n- evil"}, reason: clustermanager.ReasonInvalidArguments, words: []string{`"gpu-l4\n- evil"`}},
	"a cluster's name that climbs":  {cluster: "../secrets/wc1-kubeconfig", reason: clustermanager.ReasonNotFound, words: []string{"not found"}},
	"a namespace that climbs":       {cluster: "wc1", arguments: map[string]any{"namespace": "../../../x"}, reason: clustermanager.ReasonNotFound, words: []string{"not found"}},
	"an unknown accelerator":        {cluster: "wc1", arguments: map[string]any{"accelerator": "nvidia-h100"}, reason: clustermanager.ReasonInvalidArguments, words: []string{`"nvidia-h100"`, "nvidia-l4, nvidia-a10g"}},
	"an unknown size":               {cluster: "wc1", arguments: map[string]any{"sizes": []string{"97xlarge"}}, reason: clustermanager.ReasonRefused, words: []string{"97xlarge", "xlarge, 2xlarge"}},
	"a size that climbs":            {cluster: "wc1", arguments: map[string]any{"sizes": []string{"../xlarge"}}, reason: clustermanager.ReasonRefused, words: []string{"../xlarge"}},
	"a zone that the cluster lacks": {cluster: "wc1", arguments: map[string]any{"zones": []string{"eu-central-1f"}}, reason: clustermanager.ReasonRefused, words: []string{"eu-central-1f", "eu-central-1a, eu-central-1b, eu-central-1c"}},
	"a cluster that nothing owns":   {cluster: "orphan", reason: clustermanager.ReasonRefused, words: []string{"no Kustomization owns it", "let a Flux Kustomization apply"}},
	"a chart version that climbs":   {cluster: "wc1", arguments: map[string]any{"chartVersion": "../1.0.0"}, reason: clustermanager.ReasonRefused, words: []string{"../1.0.0"}},

	"no .sops.yaml": {edits: []edit{removing(wc3Sops)}, reason: clustermanager.ReasonRefused,
		words: []string{"research/clusters has no .sops.yaml", "add one at the root"}},
	"no rule for the path": {edits: []edit{replacing(wc3Sops, "^clusters/", "^elsewhere/")}, reason: clustermanager.ReasonRefused,
		words: []string{".sops.yaml in research/clusters has no rule for " + ownDirectory, "add \"{path_regex: "}},
	"a rule without an age recipient": {edits: []edit{replacing(wc3Sops, "    age: age1cmmc9v7egtqgdm00agash4u07xm00rf9esrwql422mg2s6qnj9sq426ssh\n", "    pgp: 85D77543B3D624B63CEA9E6DBC17301B491B3F21\n")},
		reason: clustermanager.ReasonRefused, words: []string{"rule 1 (line 2) of .sops.yaml", "names no age recipient", "add \"age: <recipient>\""}},
	"a Kustomization that does not decrypt": {edits: []edit{replacing(wc3Flux, "  decryption:\n    provider: sops\n    secretRef:\n      name: sops-age\n", "")}, reason: clustermanager.ReasonRefused,
		words: []string{"Kustomization flux-giantswarm/wc3 does not decrypt", "add \"decryption: {provider: sops"}},
	"a tree that does not build as proposed": {edits: []edit{writing(wc3Tree+"/cluster-manager/kustomization.yaml", "resources:\n- absent.yaml\n")}, reason: clustermanager.ReasonRefused,
		words: []string{"absent.yaml"}},
	"a list that is no list": {edits: []edit{replacing(wc3Tree+"/kustomization.yaml", "resources:\n- cluster.yaml", "resources: cluster.yaml\nx:\n- cluster.yaml")}, reason: clustermanager.ReasonRefused,
		words: []string{clusterPath + "/kustomization.yaml"}},

	"a path that climbs":         {edits: []edit{replacing(wc3Flux, "path: ./clusters/wc3", "path: ../../clusters/wc3")}, reason: clustermanager.ReasonRefused, words: []string{"leaves the repository", "correct it"}},
	"a path that is not there":   {edits: []edit{replacing(wc3Flux, "path: ./clusters/wc3", "path: ./clusters/elsewhere")}, reason: clustermanager.ReasonRefused, words: []string{"its spec.path clusters/elsewhere is no folder of research/clusters", "correct spec.path"}},
	"a path into git's own":      {edits: []edit{replacing(wc3Flux, "path: ./clusters/wc3", "path: ./.git/hooks")}, reason: clustermanager.ReasonRefused, words: []string{".git"}},
	"a link for the directory":   {edits: []edit{linking(wc3Tree+"/cluster-manager", "/etc")}, reason: clustermanager.ReasonRefused, words: []string{ownDirectory + " in research/clusters is a symbolic link"}},
	"a link for the list":        {edits: []edit{linking(wc3Tree+"/kustomization.yaml", "../../../../etc/passwd")}, reason: clustermanager.ReasonRefused, words: []string{clusterPath + "/kustomization.yaml is a symbolic link", "replace it by the file itself"}},
	"a link on the way":          {edits: []edit{linking("trees/research/clusters/clusters", "..")}, reason: clustermanager.ReasonRefused, words: []string{"clusters in research/clusters is a symbolic link"}},
	"a link for .sops.yaml":      {edits: []edit{linking(wc3Sops, "/etc/passwd")}, reason: clustermanager.ReasonRefused, words: []string{".sops.yaml in research/clusters is not a regular file", "make it one"}},
	"a branch that is not there": {edits: []edit{replacing(wc3Source, "branch: main", "branch: production")}, reason: clustermanager.ReasonRefused, words: []string{"branch production of research/clusters does not exist", "GitRepository flux-giantswarm/research", "create the branch"}},
	"a tag beside the branch":    {edits: []edit{replacing(wc3Source, "branch: main", "branch: main\n    tag: v1.0.0")}, reason: clustermanager.ReasonRefused, words: []string{"it follows the tag v1.0.0"}},
}

// Each is one sentence with the way out and its class, nothing is pushed and nothing opened, also on a dry run; and the
// program ends with the status of the class.
func TestBadInput(t *testing.T) {
	for name, test := range badInputs {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, test.edits...)
			cluster, pool := test.cluster, "gpu-l4"
			if cluster == "" {
				cluster = "wc3"
			}
			if given, ok := test.arguments["name"].(string); ok {
				pool = given
			}
			first := s.refused(t, cluster, pool, test.arguments, test.reason, test.words...)
			planned := map[string]any{"dryRun": true}
			for key, value := range test.arguments {
				planned[key] = value
			}
			dry := s.refused(t, cluster, pool, planned, test.reason, test.words...)
			if dry.Texts[0] != first.Texts[0] {
				t.Errorf("the dry run says %q, the call %q", dry.Texts[0], first.Texts[0])
			}
			s.search(t, first, dry)
			s.exits(t, poolArguments(cluster, pool, test.arguments), statuses[test.reason])
		})
	}
}

// exits runs the program on the scene's snapshot and wants its exit status, and the same repositories afterwards.
func (s *scene) exits(t *testing.T, arguments map[string]any, want int) {
	t.Helper()
	data, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(s.root, "kept-by-call")
	command := exec.Command("cluster-manager", "call", "create_node_pool", "--snapshot", s.snapshot, "--keep", kept, "--args", string(data))
	var errorText strings.Builder
	command.Stderr = &errorText
	err = command.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != want {
		t.Errorf("the program ended with %v, want status %d: %s", err, want, errorText.String())
	}
	if lines := strings.Count(strings.TrimSpace(errorText.String()), "\n"); lines > 0 {
		t.Errorf("%d lines: %s", lines+1, errorText.String())
	}
	if _, err := os.Stat(filepath.Join(kept, "forge.json")); err == nil {
		t.Error("the program opened a pull request")
	}
	if refs := gitAt(t, filepath.Join(kept, "repos", wc3Repository+".git"), "for-each-ref", "--format=%(refname)"); refs != "refs/heads/main" {
		t.Errorf("the program pushed: %s", refs)
	}
}

// submodule puts a submodule into a repository's main branch.
func (s *scene) submodule(t *testing.T, repository, path string) {
	t.Helper()
	t.Setenv("GIT_INDEX_FILE", filepath.Join(s.root, "index"))
	s.gitIn(t, repository, "read-tree", "main")
	s.gitIn(t, repository, "rm", "-r", "-q", "--cached", "--ignore-unmatch", "--", path)
	s.gitIn(t, repository, "update-index", "--add", "--cacheinfo", "160000,"+s.gitIn(t, repository, "rev-parse", "main")+","+path)
	tree := s.gitIn(t, repository, "write-tree")
	commit := s.gitIn(t, repository, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit-tree", "-p", "main", "-m", "a submodule", tree)
	s.gitIn(t, repository, "update-ref", "refs/heads/main", commit)
}

func TestBadInputSubmoduleOnThePath(t *testing.T) {
	for _, path := range []string{ownDirectory, clusterPath, "clusters"} {
		s := newScene(t)
		s.submodule(t, wc3Repository, path)
		s.refused(t, "wc3", "gpu-l4", nil, clustermanager.ReasonRefused, path+" in research/clusters is a submodule")
	}
}

// A token that GitHub refuses, and an App that is not installed.
func TestBadInputTokenRefused(t *testing.T) {
	s := newScene(t)
	s.forge.AddUser(localforge.User{Login: "jane", ID: 1, Token: clustermanager.NewSecret("ghu_another"), Push: true})
	s.search(t, s.refused(t, "wc3", "gpu-l4", nil, clustermanager.ReasonRefused, "does not accept", "connect"))
	s.forge.AddUser(localforge.User{Login: "jane", ID: 1, Token: clustermanager.NewSecret(s.forgeToken), Push: true})
	s.forge.SetInstalled("research", "clusters", false)
	s.search(t, s.refused(t, "wc3", "gpu-l4", nil, clustermanager.ReasonRefused, "the GitHub App must be installed"))
}

// Rules that forbid the branch, known before the push.
func TestBadInputBranchRule(t *testing.T) {
	s := newScene(t)
	for words, rule := range map[string]localforge.Rule{
		"forbids creating branch " + wc3Branch:           {Pattern: "cluster-manager/**", Type: "creation"},
		`wants branch names that start with "renovate/"`: {Type: "branch_name_pattern", Parameters: map[string]any{"operator": "starts_with", "pattern": "renovate/"}},
		"wants signed commits on branch main":            {Pattern: "main", Type: "required_signatures"},
	} {
		s.forge.SetRules("research", "clusters", []localforge.Rule{rule})
		for _, dryRun := range []bool{true, false} {
			s.search(t, s.refused(t, "wc3", "gpu-l4", map[string]any{"dryRun": dryRun}, clustermanager.ReasonRefused, words))
		}
	}
}
