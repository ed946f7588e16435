package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/getsops/sops/v3/decrypt"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/localforge"
)

// Each test is a public report of a tool that writes to GitOps repositories and did it badly, done right here from the
// call to the branch. The packages have tests of their own for what is decided there: those of gitops/seal are named
// after sops 892, 894, 966, 1512 and 742, community.sops 226 and flux2 3367.

// oneLineMore proposes a pool over a kustomization file, and wants one more line in it: every other byte as it was.
func oneLineMore(t *testing.T, name, content string) {
	t.Helper()
	s := newScene(t, removing(wc3Tree+"/kustomization.yaml"), writing(wc3Tree+"/"+name, content))
	s.created(t, "wc3", "gpu-l4", nil)
	proposed, err := s.forge.File("research", "clusters", wc3Branch, clusterPath+"/"+name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(proposed), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "- cluster-manager" })
	if at < 0 {
		t.Fatalf("no entry in:\n%s", proposed)
	}
	if before := strings.Join(slices.Delete(lines, at, at+1), ""); before != content {
		t.Errorf("more than one line differs:\n%s\nwas:\n%s", proposed, content)
	}
}

// kubernetes-sigs/kustomize 17: an edit loses the order of fields and comments, and adds zero values.
func TestKustomize17OnlyTheEntryIsAdded(t *testing.T) {
	oneLineMore(t, "kustomization.yaml", `# managed by the platform team
resources:   # everything of wc3
  - cluster.yaml # the cluster

  # limits
  - quotas.yaml
  - alerts.yaml
  - backup.enc.yaml

buildMetadata: [originAnnotations]
kind: Kustomization
apiVersion: kustomize.config.k8s.io/v1beta1
`)
}

// kubernetes-sigs/kustomize 848: keys of generators are reordered and their comments dropped.
func TestKustomize848GeneratorsStay(t *testing.T) {
	oneLineMore(t, "kustomization.yaml", `kind: Kustomization
configMapGenerator:
- options: {disableNameSuffixHash: true}   # a fixed name
  namespace: org-research
  # the name comes last
  literals:
  - b=2
  - "a=1"
  name: generated
resources:
- cluster.yaml
- backup.enc.yaml
- quotas.yaml
- alerts.yaml
commonLabels: {}
`)
}

// go-yaml/yaml 661: the indentation of lists changes, so a whole list shows as a difference.
func TestGoYAML661TheListKeepsItsIndentation(t *testing.T) {
	for _, indent := range []string{"", "  ", "    ", "      "} {
		list := ""
		for _, entry := range []string{"alerts.yaml", "backup.enc.yaml", "cluster.yaml", "quotas.yaml"} {
			list += indent + "- " + entry + "\n"
		}
		oneLineMore(t, "kustomization.yaml", "resources:\n"+list+"images:\n  - name: x\n    newTag: \"1\"\n")
	}
}

// go-yaml/yaml 628: the comment above an item moves behind its dash.
func TestGoYAML628CommentsStayAboveTheirItems(t *testing.T) {
	oneLineMore(t, "kustomization.yaml", "resources:\n# first of all\n- alerts.yaml\n# sealed\n\n- backup.enc.yaml\n# the cluster\n# itself\n- cluster.yaml\n# above quotas\n- quotas.yaml\n# the end\n")
}

// fluxcd/flux2 2148: ${NAME} in a value becomes empty under postBuild. The object carries the annotation that switches
// substitution off, in the clear, and the value arrives whole.
func TestFlux2148PlaceholdersInAValueArrive(t *testing.T) {
	const password = "made-for-${cluster_name}-$${it}-the-test"
	s := newScene(t, replacing(wc3Values, "not-a-real-password-made-for-the-fixture", password),
		replacing(wc3Values, "- endpoint: registry-1.docker.io", "- endpoint: ${cluster_name}.example.com"))
	answer := s.created(t, "wc3", "gpu-l4", nil)
	if !answer.Commit.Proof.Built || len(answer.Warnings) > 1 {
		t.Errorf("%+v %q", answer.Commit.Proof, answer.Warnings)
	}
	sealed, err := s.forge.File("research", "clusters", wc3Branch, ownDirectory+"/wc3-gpu-l4-values-secret.enc.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(sealed), "kustomize.toolkit.fluxcd.io/substitute: disabled") {
		t.Errorf("substitution is on:\n%s", sealed)
	}
	if values := opened(t, sealed); !strings.Contains(values, password) || !strings.Contains(values, "${cluster_name}.example.com") {
		t.Errorf("the sealed values are %s", values)
	}
}

// opened opens a sealed Secret with the fixture's key and returns its values.
func opened(t *testing.T, sealed []byte) string {
	t.Helper()
	key, err := os.ReadFile(filepath.Join("..", "..", "fixtures", "keys", "research.age.key"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOPS_AGE_KEY", string(key))
	plain, err := decrypt.Data(sealed, "yaml")
	if err != nil {
		t.Fatal(err)
	}
	var secret struct{ StringData map[string]string }
	if err := yaml.Unmarshal(plain, &secret); err != nil {
		t.Fatal(err)
	}
	return secret.StringData["values.yaml"]
}

// fluxcd/kustomize-controller 1664: a commit in between does not build. Every commit of a branch has each file that its
// lists name, and no file that they do not.
func TestKustomizeController1664EveryCommitIsWhole(t *testing.T) {
	s := newScene(t)
	first := s.created(t, "wc3", "gpu-l4", nil)
	s.whole(t)
	s.created(t, "wc3", "gpu-l4", map[string]any{"maxGpus": 8})
	s.whole(t)
	if err := s.forge.Merge("research", "clusters", first.Commit.Number); err != nil {
		t.Fatal(err)
	}
	s.created(t, "wc3", "gpu-a10g", map[string]any{"accelerator": "nvidia-a10g"})
	s.whole(t)
}

// whole looks at every commit of every branch.
func (s *scene) whole(t *testing.T) {
	t.Helper()
	for commit := range strings.FieldsSeq(s.gitIn(t, wc3Repository, "rev-list", "--all")) {
		files := strings.Fields(s.gitIn(t, wc3Repository, "ls-tree", "--name-only", commit, clusterPath+"/", ownDirectory+"/"))
		for _, directory := range []string{clusterPath, ownDirectory} {
			name := directory + "/kustomization.yaml"
			if !slices.Contains(files, name) {
				continue
			}
			var list struct{ Resources []string }
			if err := yaml.Unmarshal([]byte(s.gitIn(t, wc3Repository, "show", commit+":"+name)), &list); err != nil {
				t.Fatal(err)
			}
			for _, entry := range list.Resources {
				there := func(file string) bool {
					return file == directory+"/"+entry || strings.HasPrefix(file, directory+"/"+entry+"/")
				}
				if !slices.ContainsFunc(files, there) {
					t.Errorf("%s at %s lists %s, which is not there", name, commit, entry)
				}
			}
			for _, file := range files {
				if entry, under := strings.CutPrefix(file, directory+"/"); under && !strings.Contains(entry, "/") && entry != "kustomization.yaml" && !slices.Contains(list.Resources, entry) {
					t.Errorf("%s at %s does not list %s", name, commit, entry)
				}
			}
		}
	}
}

// fluxcd/source-controller 441: ssh URLs with a port are read, and the form with a colon for a slash is refused plainly.
func TestSourceController441SSHAddresses(t *testing.T) {
	for _, address := range []string{"ssh://git@github.com:22/research/clusters", "ssh://git@ssh.github.com:443/research/clusters.git", "https://github.com/research/clusters.git"} {
		s := newScene(t, replacing(wc3Source, "ssh://git@github.com/research/clusters", address))
		if answer := s.created(t, "wc3", "gpu-l4", nil); answer.Commit.Repository != wc3Repository {
			t.Errorf("%s: %s", address, answer.Commit.Repository)
		}
	}
	s := newScene(t, replacing(wc3Source, "ssh://git@github.com/", "ssh://git@github.com:"))
	s.refused(t, "wc3", "gpu-l4", nil, clustermanager.ReasonRefused, "the URL mixes two forms", "write ssh://git@github.com/owner/name")
}

// weaveworks/weave-gitops 920: spec.path is found with and without "./", as Flux finds it.
func TestWeaveGitOps920PathsAsFluxTakesThem(t *testing.T) {
	for _, path := range []string{"clusters/wc3", "./clusters/wc3/", "/clusters/wc3", "clusters/./wc3//"} {
		s := newScene(t, replacing(wc3Flux, "path: ./clusters/wc3", "path: "+path))
		if answer := s.created(t, "wc3", "gpu-l4", nil); answer.Commit.Directory != ownDirectory || !answer.Commit.Proof.Built {
			t.Errorf("%s: %s, built %t", path, answer.Commit.Directory, answer.Commit.Proof.Built)
		}
	}
}

// dailymotion-oss/octopilot 134: a base branch that is missing is named, with the object that follows it.
func TestOctopilot134TheMissingBaseIsNamed(t *testing.T) {
	s := newScene(t, replacing(wc3Source, "branch: main", "branch: release/1.x"))
	s.refused(t, "wc3", "gpu-l4", nil, clustermanager.ReasonRefused,
		"branch release/1.x of research/clusters does not exist", "GitRepository flux-giantswarm/research", "create the branch or correct spec.ref")
}

// Financial-Times/nori 65: a pull request that is open already becomes a 422. It is answered, also when the host's list
// did not show it yet.
func TestNori65TheOpenPullRequestIsAnswered(t *testing.T) {
	s := newScene(t)
	first := s.created(t, "wc3", "gpu-l4", nil)
	lists := 0
	s.git.answers(func(request *http.Request) (int, http.Header, string, bool) {
		late := request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/pulls") && lists == 0
		if late {
			lists++
		}
		return http.StatusOK, http.Header{"Content-Type": {"application/json"}}, "[]", late
	})
	again := s.created(t, "wc3", "gpu-l4", nil)
	if lists != 1 || again.Commit.PullRequest != first.Commit.PullRequest || again.Commit.Number != first.Commit.Number {
		t.Errorf("after %d empty lists: %s, want %s", lists, again.Commit.PullRequest, first.Commit.PullRequest)
	}
	if got := len(s.pullRequests(t)[wc3Repository]); got != 1 || s.forge.ReceivePacks() != 1 {
		t.Errorf("%d pull requests, %d pushes", got, s.forge.ReceivePacks())
	}
}

// github/github-mcp-server 3080: a ruleset refuses the branch's name, and nobody learns why. GitHub's own words are
// passed on, also where the rules did not show before, and another prefix is the way out.
func TestGitHubMCPServer3080TheRulesWordsArePassedOn(t *testing.T) {
	rule := localforge.Rule{Type: "branch_name_pattern", Parameters: map[string]any{"operator": "starts_with", "pattern": "bots/"}}
	s := newScene(t)
	s.forge.SetRules("research", "clusters", []localforge.Rule{rule})
	s.git.answers(func(request *http.Request) (int, http.Header, string, bool) {
		return http.StatusOK, http.Header{"Content-Type": {"application/json"}}, "[]", strings.Contains(request.URL.Path, "/rules/branches/")
	})
	before := s.written(t)
	result := s.pool(t, "wc3", "gpu-l4", nil)
	for _, words := range []string{"GH013: Repository rule violations found for refs/heads/" + wc3Branch, "Branch name must start with bots/", "the setting branch-prefix"} {
		if !strings.Contains(result.Texts[0], words) {
			t.Errorf("%q is not passed on: %s", words, result.Texts[0])
		}
	}
	if result.Reason != clustermanager.ReasonRefused || s.written(t) != before {
		t.Errorf("class %q, written:\n%s", result.Reason, s.written(t))
	}

	s = newScene(t, replacing("snapshot/cluster-manager.yaml", "installation: gazelle\n", "installation: gazelle\nbranch-prefix: bots/cluster-manager\n"))
	s.forge.SetRules("research", "clusters", []localforge.Rule{rule})
	if answer := s.created(t, "wc3", "gpu-l4", nil); answer.Commit.Branch != "bots/cluster-manager/gazelle/add-wc3-gpu-l4" {
		t.Errorf("branch %s", answer.Commit.Branch)
	}
}

// go-git 2367, 305 and 1443: a push out of a shallow clone is refused, or misses objects. The branch grows out of the
// base's own history, and everything is there.
func TestGoGit2367ThePushNeedsNoClone(t *testing.T) {
	s := newScene(t)
	for i := range 3 {
		if err := s.forge.Merge("research", "clusters", s.created(t, "wc3", "gpu-l4", map[string]any{"maxGpus": i + 1}).Commit.Number); err != nil {
			t.Fatal(err)
		}
	}
	s.created(t, "wc3", "gpu-l4", map[string]any{"maxGpus": 9})
	if base, main := s.gitIn(t, wc3Repository, "merge-base", "main", wc3Branch), s.gitIn(t, wc3Repository, "rev-parse", "main"); base != main {
		t.Errorf("the branch grows out of %s, main is at %s", base, main)
	}
	if count := s.gitIn(t, wc3Repository, "rev-list", "--count", "main.."+wc3Branch); count != "1" {
		t.Errorf("%s commits", count)
	}
	s.gitIn(t, wc3Repository, "fsck", "--full", "--strict")
	if _, err := os.Stat(filepath.Join(s.kept, "repos", wc3Repository+".git", "shallow")); err == nil {
		t.Error("the repository became a shallow one")
	}
}
