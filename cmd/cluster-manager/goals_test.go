package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/localforge"
)

// Each test is a promise of mode commit, from the call to the branch.

// apiCalls are the requests to the forge's API so far, and forgets them.
func (s *scene) apiCalls() []string {
	var calls []string
	for _, request := range s.git.take() {
		if strings.Contains(request.url, "/api/v3/") {
			calls = append(calls, request.method+" "+request.url)
		}
	}
	return calls
}

// Five calls of the forge's API open a pull request, and never are more than one more needed.
func TestCallsAreFew(t *testing.T) {
	s := newScene(t)
	few := func(what string, most int) {
		t.Helper()
		calls := s.apiCalls()
		if len(calls) > most {
			t.Errorf("%s: %d calls, want %d:\n%s", what, len(calls), most, strings.Join(calls, "\n"))
		}
		for _, call := range calls {
			if strings.Contains(call, "/contents/") || strings.Contains(call, "/git/trees") || strings.Contains(call, "/git/blobs") {
				t.Errorf("%s: a file is read by the API: %s", what, call)
			}
		}
	}
	s.created(t, "wc3", "gpu-l4", map[string]any{"dryRun": true})
	few("a dry run", 4)
	first := s.created(t, "wc3", "gpu-l4", nil)
	few("a new pull request", mostAPICalls)
	s.created(t, "wc3", "gpu-l4", nil)
	few("the same again", mostAPICalls)
	s.created(t, "wc3", "gpu-l4", map[string]any{"maxGpus": 8})
	few("another plan", mostAPICalls+1)
	if err := s.forge.Merge("research", "clusters", first.Commit.Number); err != nil {
		t.Fatal(err)
	}
	s.created(t, "wc3", "gpu-l4", map[string]any{"maxGpus": 8})
	few("after the merge", 1)
	s.created(t, "wc3", "gpu-l4", map[string]any{"maxGpus": 2})
	few("the next after the merge", mostAPICalls)
}

// What is proven, object by object, stands in the answer and in the pull request's body.
func TestProofIsInTheAnswerAndInTheBody(t *testing.T) {
	s := newScene(t)
	answer := s.created(t, "wc3", "gpu-l4", nil)
	var got []string
	body := s.pullRequests(t)[wc3Repository][0].Body
	for _, object := range answer.Commit.Objects {
		got = append(got, fmt.Sprintf("%s %s %s/%s", object.Action, object.Kind, object.Namespace, object.Name))
		if line := fmt.Sprintf("| %s | `%s %s/%s` |", object.Action, object.Kind, object.Namespace, object.Name); !strings.Contains(body, line) {
			t.Errorf("the body lacks %s:\n%s", line, body)
		}
	}
	slices.Sort(got)
	want := []string{
		"add HelmRelease org-research/wc3-gpu-l4", "add HelmRelease org-research/wc3-gpu-operator",
		"add OCIRepository org-research/wc3-gpu-l4", "add OCIRepository org-research/wc3-gpu-operator", "add Secret org-research/wc3-gpu-l4-values",
	}
	if diff := cmp.Diff(want, got); diff != "" || !answer.Commit.Proof.Built || answer.Commit.Proof.Note != "" {
		t.Errorf("%s%+v", diff, answer.Commit.Proof)
	}
}

// A base that does not build today is said so, and the proposal passes, as it makes nothing worse.
func TestProofOverABaseThatDoesNotBuild(t *testing.T) {
	s := newScene(t, replacing(wc3Tree+"/kustomization.yaml", "- quotas.yaml", "- missing.yaml"))
	answer := s.created(t, "wc3", "gpu-l4", nil)
	if answer.Commit.Proof.Built || !strings.Contains(answer.Commit.Proof.Note, "the tree does not build today") || !strings.Contains(answer.Commit.Proof.Note, "missing.yaml") {
		t.Errorf("%+v", answer.Commit.Proof)
	}
	if body := s.pullRequests(t)[wc3Repository][0].Body; !strings.Contains(body, "missing.yaml") {
		t.Errorf("the body does not say so:\n%s", body)
	}
}

// Two installations in one repository have branches of their own, the prefix is a setting, and a name that git cannot
// have beside another is named.
func TestBranchNamesDoNotCollide(t *testing.T) {
	s := newScene(t)
	first := s.created(t, "wc3", "gpu-l4", nil)
	replace(t, filepath.Join(s.snapshot, "cluster-manager.yaml"), "installation: gazelle\n", "installation: giraffe\n")
	s.open(t)
	second := s.created(t, "wc3", "gpu-l4", nil)
	if first.Commit.Branch != wc3Branch || second.Commit.Branch != "cluster-manager/giraffe/add-wc3-gpu-l4" || second.Commit.Number == first.Commit.Number {
		t.Errorf("%s and %s", first.Commit.Branch, second.Commit.Branch)
	}

	for _, taken := range []string{"cluster-manager", "cluster-manager/gazelle", wc3Branch + "/by-hand"} {
		s := newScene(t)
		s.gitIn(t, wc3Repository, "branch", taken, "main")
		s.refused(t, "wc3", "gpu-l4", nil, clustermanager.ReasonRefused, wc3Branch, "its branch "+taken+",", "delete "+taken)
	}
}

// Rules are read as sops reads them: the nearest configuration and its first match, and a rule that cannot be used is
// refused for its own paths alone.
func TestRulesOfTheNearestConfiguration(t *testing.T) {
	const recipient = "age1cmmc9v7egtqgdm00agash4u07xm00rf9esrwql422mg2s6qnj9sq426ssh"
	good := func(pattern string) string {
		return "- path_regex: " + pattern + "\n  encrypted_regex: ^(data|stringData)$\n  key_groups:\n  - age: [" + recipient + "]\n"
	}
	without := func(pattern string) string {
		return "- path_regex: " + pattern + "\n  pgp: 85D77543B3D624B63CEA9E6DBC17301B491B3F21\n"
	}
	nested := "trees/research/clusters/clusters/.sops.yaml"
	for name, test := range map[string]struct {
		edit    edit
		refused string
	}{
		"without age, for another path": {writing(wc3Sops, "creation_rules:\n"+without("^elsewhere/")+good("^clusters/")), ""},
		"without age, first":            {writing(wc3Sops, "creation_rules:\n"+without("^clusters/")+good("^clusters/")), "rule 1 (line 2) of .sops.yaml in research/clusters"},
		"nearest":                       {writing(nested, "creation_rules:\n"+good("^wc3/cluster-manager/")), ""},
		"nearest, without age":          {writing(nested, "creation_rules:\n"+good("^elsewhere/")+without("^wc3/")), "rule 2 (line 6) of clusters/.sops.yaml in research/clusters"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, test.edit)
			if test.refused != "" {
				s.refused(t, "wc3", "gpu-l4", nil, clustermanager.ReasonRefused, test.refused, "names no age recipient")
				return
			}
			s.created(t, "wc3", "gpu-l4", nil)
			sealed := s.gitIn(t, wc3Repository, "show", wc3Branch+":"+ownDirectory+"/wc3-gpu-l4-values-secret.enc.yaml")
			if strings.Count(sealed, "recipient: ") != 1 || !strings.Contains(sealed, "recipient: "+recipient) {
				t.Errorf("sealed for others:\n%s", sealed)
			}
		})
	}
}

// Kinds decide what is sealed, not names: a pool called my-secret stands in a plain file.
func TestKindsDecideWhatIsSealed(t *testing.T) {
	s := newScene(t)
	for _, cluster := range []string{"wc1", "wc3"} {
		answer := s.created(t, cluster, "my-secret", nil)
		name := answer.Commit.Directory + "/" + cluster + "-my-secret.yaml"
		content := s.gitIn(t, answer.Commit.Repository, "show", answer.Commit.Branch+":"+name)
		if strings.Contains(content, "ENC[") || strings.Contains(content, "sops:") || !strings.Contains(content, "kind: HelmRelease") {
			t.Errorf("%s:\n%s", name, content)
		}
		for _, file := range answer.Commit.Files {
			plain := s.gitIn(t, answer.Commit.Repository, "show", answer.Commit.Branch+":"+file.Path)
			secret := strings.Contains("\n"+plain, "\nkind: Secret\n")
			if sealed := strings.Contains(plain, "ENC[AES256_GCM"); secret != sealed || secret != strings.HasSuffix(file.Path, "-secret.enc.yaml") {
				t.Errorf("%s: a Secret %t, sealed %t", file.Path, secret, sealed)
			}
		}
	}
}

// A sealed file under a Kustomization that does not decrypt is refused with the lines to add; a pool without credentials
// needs no decryption.
func TestDecryptionIsWantedForSealedFilesAlone(t *testing.T) {
	noDecryption := replacing(wc3Flux, "  decryption:\n    provider: sops\n    secretRef:\n      name: sops-age\n", "")
	s := newScene(t, noDecryption)
	s.refused(t, "wc3", "gpu-l4", nil, clustermanager.ReasonRefused,
		"Kustomization flux-giantswarm/wc3 does not decrypt", `add "decryption: {provider: sops, secretRef: {name: <Secret with the age identity>}}" to its spec`)
	s = newScene(t, noDecryption,
		replacing(wc3Values, "                credentials:\n                  username: fixture-user\n                  password: not-a-real-password-made-for-the-fixture\n", ""),
		replacing(wc3Values, "                credentials:\n                  auth: bm90LWEtcmVhbC1hdXRoLW1hZGUtZm9yLXRoZS1maXh0dXJl\n", ""))
	for _, file := range s.created(t, "wc3", "gpu-l4", nil).Commit.Files {
		if strings.Contains(file.Path, "secret") {
			t.Errorf("%s is sealed, and nothing is secret", file.Path)
		}
	}
}

// postBuild: an object with ${ in a value carries the annotation that switches substitution off, and is built as it was
// composed; one without carries none.
func TestPostBuildLeavesValuesAlone(t *testing.T) {
	const annotation = "kustomize.toolkit.fluxcd.io/substitute: disabled"
	for endpoint, marked := range map[string]bool{"registry-1.docker.io": false, "${cluster_name}.example.com": true, "$${x}.example.com": true} {
		s := newScene(t, replacing(wc3Values, "endpoint: registry-1.docker.io", "endpoint: "+endpoint))
		answer := s.created(t, "wc3", "gpu-l4", nil)
		content := s.gitIn(t, wc3Repository, "show", wc3Branch+":"+ownDirectory+"/wc3-gpu-l4-values-secret.enc.yaml")
		if got := strings.Contains(content, annotation); got != marked || !answer.Commit.Proof.Built {
			t.Errorf("%s: annotated %t, want %t; %+v", endpoint, got, marked, answer.Commit.Proof)
		}
		for _, warning := range answer.Warnings {
			if strings.Contains(warning, "built other than it was composed") {
				t.Errorf("%s: %s", endpoint, warning)
			}
		}
	}
}

// The textual edit takes all three names of the file, and line ends as they are.
func TestTextualEditOfEveryName(t *testing.T) {
	list := "# by hand\nresources:\n- alerts.yaml\n- backup.enc.yaml\n- cluster.yaml # the cluster\n- quotas.yaml\n"
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		oneLineMore(t, name, list)
		oneLineMore(t, name, strings.ReplaceAll(list, "\n", "\r\n"))
		oneLineMore(t, name, strings.TrimSuffix(list, "# the cluster\n- quotas.yaml\n")+"# the cluster\n- quotas.yaml\nbuildMetadata:\n- originAnnotations")
	}
}

// Commits of a person on the branch stay: the proposal is refused naming them.
func TestAPersonsCommitsStay(t *testing.T) {
	s := newScene(t)
	s.created(t, "wc3", "gpu-l4", nil)
	commit := s.gitIn(t, wc3Repository, "-c", "user.name=A Person", "-c", "user.email=person@example.com", "commit-tree", "-p", wc3Branch, "-m", "by hand", wc3Branch+"^{tree}")
	s.gitIn(t, wc3Repository, "update-ref", "refs/heads/"+wc3Branch, commit)
	s.refused(t, "wc3", "gpu-l4", map[string]any{"maxGpus": 8}, clustermanager.ReasonRefused, commit[:7], "merge or close that pull request")
	if at := s.gitIn(t, wc3Repository, "rev-parse", wc3Branch); at != commit {
		t.Errorf("the branch moved to %s", at)
	}
}

// A branch that a merged pull request left is history: the next proposal starts from the base.
func TestABranchOfAMergedPullRequestIsHistory(t *testing.T) {
	s := newScene(t)
	first := s.created(t, "wc3", "gpu-l4", nil)
	if err := s.forge.Merge("research", "clusters", first.Commit.Number); err != nil {
		t.Fatal(err)
	}
	second := s.created(t, "wc3", "gpu-l4", map[string]any{"maxGpus": 8})
	if second.Commit.Number == first.Commit.Number || s.gitIn(t, wc3Repository, "rev-list", "--count", "main.."+wc3Branch) != "1" {
		t.Errorf("pull request %d after %d", second.Commit.Number, first.Commit.Number)
	}
}

// The App is not installed, the rules want signatures: each has its own sentence, on a dry run too.
func TestAForgesNoIsTold(t *testing.T) {
	s := newScene(t)
	s.forge.SetRules("research", "clusters", []localforge.Rule{{Pattern: "main", Type: "required_signatures"}})
	s.refused(t, "wc3", "gpu-l4", map[string]any{"dryRun": true}, clustermanager.ReasonRefused, "wants signed commits on branch main")
	s.forge.SetInstalled("research", "clusters", false)
	s.refused(t, "wc3", "gpu-l4", map[string]any{"dryRun": true}, clustermanager.ReasonRefused, "the GitHub App must be installed")
}
