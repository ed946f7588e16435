package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/mcptools"
)

const (
	fleet         = "acme/fleet"
	acmeClusters  = "management-clusters/gazelle/organizations/acme/workload-clusters"
	dev01Branch   = "cluster-manager/gazelle/create-cluster-dev01"
	dev01Removal  = "cluster-manager/gazelle/remove-cluster-dev01"
	dev01InFleet  = acmeClusters + "/dev01"
	fleetTree     = "trees/" + fleet + "/"
	dev01Applier  = "gazelle-clusters-dev01"
	acmeNamespace = "org-acme"
)

// call calls a tool in mode commit.
func (s *scene) call(t *testing.T, tool string, arguments map[string]any) mcptools.Result {
	t.Helper()
	data, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.client.Call(t.Context(), tool, data, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (s *scene) done(t *testing.T, tool string, arguments map[string]any) clustermanager.WriteResult {
	t.Helper()
	result := s.call(t, tool, arguments)
	if result.Reason != "" {
		t.Fatalf("%s: %s: %s", tool, result.Reason, result.Texts)
	}
	return readAnswer(t, result)
}

// noCall calls a tool and wants a no of the class that holds the words, with nothing written.
func (s *scene) noCall(t *testing.T, tool string, arguments map[string]any, reason clustermanager.Reason, words ...string) mcptools.Result {
	t.Helper()
	before := s.written(t)
	result := s.call(t, tool, arguments)
	if result.Reason != reason {
		t.Errorf("%s %v: class %q, want %q: %s", tool, arguments, result.Reason, reason, result.Texts)
	}
	for _, word := range words {
		if !strings.Contains(result.Texts[0], word) {
			t.Errorf("%s %v: the sentence lacks %q:\n%s", tool, arguments, word, result.Texts[0])
		}
	}
	if after := s.written(t); after != before {
		t.Errorf("something was written:\n%s\nbefore:\n%s", after, before)
	}
	return result
}

// dev01 are the arguments of a cluster, and what else is given.
func dev01(more map[string]any) map[string]any {
	arguments := map[string]any{
		"organization": "acme", "name": "dev01", "provider": "aws", "mode": "commit",
		"identity": "acme-dev", "description": "Acme's development cluster",
		"values": map[string]any{"global": map[string]any{"controlPlane": map[string]any{"instanceType": "m6i.xlarge"}}},
	}
	maps.Copy(arguments, more)
	return arguments
}

func removal(more map[string]any) map[string]any {
	arguments := map[string]any{"organization": "acme", "name": "dev01", "mode": "commit"}
	maps.Copy(arguments, more)
	return arguments
}

func actions(files []clustermanager.FileChange) []string {
	var all []string
	for _, file := range files {
		all = append(all, string(file.Action)+" "+strings.TrimPrefix(file.Path, acmeClusters+"/"))
	}
	return all
}

func differences(objects []clustermanager.ObjectDiff) []string {
	var all []string
	for _, object := range objects {
		all = append(all, fmt.Sprintf("%s %s", object.Action, object.ObjectReference))
	}
	slices.Sort(all)
	return all
}

// applied makes the files of a merged proposal live, labelled and in inventories as Flux would.
func (s *scene) applied(t *testing.T, branch string) {
	t.Helper()
	folder := filepath.Join(s.snapshot, "management", acmeNamespace)
	inventory := ""
	for _, name := range []string{"dev01/dev01.yaml", "dev01/dev01-values.yaml"} {
		for document := range strings.SplitSeq(s.gitIn(t, fleet, "show", branch+":"+acmeClusters+"/"+name), "---\n") {
			object := parsed(t, document)
			metadata := object["metadata"].(map[string]any)
			labels := metadata["labels"].(map[string]any)
			labels[clustermanager.LabelKustomizationName], labels[clustermanager.LabelKustomizationNamespace] = dev01Applier, "default"
			metadata["finalizers"] = []any{"finalizers.fluxcd.io"}
			group, _, _ := strings.Cut(object["apiVersion"].(string), "/")
			if group == "v1" {
				group = ""
			}
			inventory += fmt.Sprintf("    - {id: %s_%s_%s_%s, v: v1}\n", acmeNamespace, metadata["name"], group, object["kind"])
			write(t, filepath.Join(folder, "made-"+object["kind"].(string)+".yaml"), rendered(t, object))
		}
	}
	applier := parsed(t, s.gitIn(t, fleet, "show", branch+":"+acmeClusters+"/dev01.yaml"))
	applier["metadata"].(map[string]any)["labels"] = map[string]any{
		clustermanager.LabelKustomizationName: "gazelle-gitops", clustermanager.LabelKustomizationNamespace: "default",
	}
	write(t, filepath.Join(s.snapshot, "management", "default", "kustomization-dev01.yaml"), rendered(t, applier)+"status:\n  inventory:\n    entries:\n"+inventory)
	replace(t, filepath.Join(s.snapshot, "management", "default", "kustomization-gazelle-gitops.yaml"), "    entries:\n",
		"    entries:\n      - {id: default_"+dev01Applier+"_kustomize.toolkit.fluxcd.io_Kustomization, v: v1}\n")
	write(t, filepath.Join(folder, "cluster-dev01.yaml"), "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: dev01\n  namespace: org-acme\n  uid: 6f1c0c1e-8a4a-4c1e-9c3a-00000000d001\n  labels:\n    giantswarm.io/organization: acme\n    release.giantswarm.io/version: 36.0.0\nspec:\n  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSCluster, name: dev01, namespace: org-acme}\n")
	secret, err := os.ReadFile(filepath.Join(folder, "secret-twin-kubeconfig.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "secret-dev01-kubeconfig.yaml"), strings.Replace(string(secret), "name: twin-kubeconfig", "name: dev01-kubeconfig", 1))
	copyFixture(t, filepath.Join(s.snapshot, "clusters", "dev01"), "installations", "gazelle", "clusters", "twin")
	s.open(t)
}

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func rendered(t *testing.T, object map[string]any) string {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A cluster from the dry run to its removal: what a dry run shows is what is proposed, byte for byte; a re-run pushes
// nothing; a merge and Flux make a re-run say that there is nothing to commit; the removal takes out what was put in.
func TestAClustersLife(t *testing.T) {
	s := newScene(t)
	before := s.written(t)
	shown := s.done(t, "create_cluster", dev01(map[string]any{"dryRun": true}))
	if s.written(t) != before {
		t.Fatal("a dry run wrote something")
	}
	wantFiles := []string{
		"add dev01.yaml", "add dev01/dev01-values.yaml", "add dev01/dev01.yaml", "add dev01/kustomization.yaml", "update kustomization.yaml",
	}
	if diff := cmp.Diff(wantFiles, actions(shown.Commit.Files)); diff != "" {
		t.Error(diff)
	}
	if shown.Release != "aws-36.0.0" || shown.ChartVersion != "36.0.0" || shown.KubernetesVersion != "1.36.1" || !shown.Commit.Proof.Built || shown.Commit.Proof.Note != "" {
		t.Errorf("%+v %+v", shown, shown.Commit.Proof)
	}
	wantObjects := []string{
		"add ConfigMap org-acme/dev01-values", "add HelmRelease org-acme/dev01", "add Kustomization default/" + dev01Applier, "add OCIRepository org-acme/dev01",
	}
	if diff := cmp.Diff(wantObjects, differences(shown.Commit.Objects)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&clustermanager.ClusterRBAC{
		Source: "composed", Role: "cluster-admin", Groups: []string{"customer:acme:Admins"},
		Note: "you are not bound: the cluster's values do not say from which claim it takes usernames",
	}, shown.RBAC); diff != "" || shown.OIDC.Source != "none" {
		t.Errorf("%s%+v", diff, shown.OIDC)
	}

	opened := s.done(t, "create_cluster", dev01(nil))
	for _, file := range shown.Commit.Files {
		if got := s.gitIn(t, fleet, "show", dev01Branch+":"+file.Path) + "\n"; got != file.Content {
			t.Errorf("%s differs from the dry run:\n%s", file.Path, cmp.Diff(file.Content, got))
		}
	}
	request := s.pullRequests(t)[fleet][0]
	if request.Title != "feat(acme): add workload cluster dev01" || opened.Commit.Branch != dev01Branch || opened.Commit.Kustomization != "default/gazelle-gitops" || opened.Commit.Directory != dev01InFleet {
		t.Errorf("%q %+v", request.Title, opened.Commit)
	}
	if message := s.gitIn(t, fleet, "log", "-1", "--format=%B", dev01Branch); !strings.Contains(message, "Cluster-Manager: create_cluster gazelle/dev01") {
		t.Error(message)
	}
	list := s.gitIn(t, fleet, "show", dev01Branch+":"+acmeClusters+"/kustomization.yaml")
	if diff := cmp.Diff(s.gitIn(t, fleet, "show", "main:"+acmeClusters+"/kustomization.yaml")+"\n  - dev01.yaml", list); diff != "" {
		t.Error(diff)
	}

	pushes := s.forge.ReceivePacks()
	if again := s.done(t, "create_cluster", dev01(nil)); s.forge.ReceivePacks() != pushes || again.Commit.Number != opened.Commit.Number {
		t.Errorf("the re-run pushed, or opened another one: %+v", again.Commit)
	}
	s.noCall(t, "delete_cluster", removal(nil), clustermanager.ReasonNotFound, "cluster org-acme/dev01 not found", "list_clusters")

	if err := s.forge.Merge("acme", "fleet", opened.Commit.Number); err != nil {
		t.Fatal(err)
	}
	s.applied(t, "main")
	if merged := s.done(t, "create_cluster", dev01(nil)); !strings.HasPrefix(merged.NextStep, "nothing to commit") {
		t.Errorf("%s", merged.NextStep)
	}
	s.remove(t)
}

// remove is the end of the cluster's life.
func (s *scene) remove(t *testing.T) {
	t.Helper()
	pool := s.created(t, "dev01", "gpu-l4", nil)
	if pool.Commit.Directory != dev01InFleet+"/cluster-manager" {
		t.Errorf("the pool goes to %s", pool.Commit.Directory)
	}
	if err := s.forge.Merge("acme", "fleet", pool.Commit.Number); err != nil {
		t.Fatal(err)
	}
	shown := s.done(t, "delete_cluster", removal(map[string]any{"dryRun": true}))
	wantFiles := []string{
		"remove dev01.yaml", "remove dev01/cluster-manager/dev01-gpu-l4.yaml", "remove dev01/cluster-manager/dev01-gpu-operator.yaml", "remove dev01/cluster-manager/kustomization.yaml",
		"remove dev01/dev01-values.yaml", "remove dev01/dev01.yaml", "remove dev01/kustomization.yaml", "update kustomization.yaml",
	}
	if diff := cmp.Diff(wantFiles, actions(shown.Commit.Files)); diff != "" {
		t.Error(diff)
	}
	if got := differences(shown.Commit.Objects); len(got) != 8 || !slices.Contains(got, "remove HelmRelease org-acme/dev01-gpu-l4") || !slices.Contains(got, "remove Kustomization default/"+dev01Applier) {
		t.Errorf("%q", got)
	}
	if len(shown.Commit.LiveSteps) != 1 || !strings.Contains(shown.Commit.LiveSteps[0], "does not remove the cluster's Kustomization default/"+dev01Applier) || !shown.Commit.Proof.Built {
		t.Errorf("%q %+v", shown.Commit.LiveSteps, shown.Commit.Proof)
	}
	opened := s.done(t, "delete_cluster", removal(nil))
	requests := s.pullRequests(t)[fleet]
	if last := requests[len(requests)-1]; opened.Commit.Branch != dev01Removal || last.Title != "feat(acme): remove workload cluster dev01" || !strings.Contains(last.Body, "delete_cluster in mode apply") {
		t.Errorf("%s %+v", opened.Commit.Branch, last)
	}
	pushes := s.forge.ReceivePacks()
	s.done(t, "delete_cluster", removal(nil))
	if s.forge.ReceivePacks() != pushes {
		t.Error("the re-run pushed")
	}
	if err := s.forge.Merge("acme", "fleet", opened.Commit.Number); err != nil {
		t.Fatal(err)
	}
	if left := s.gitIn(t, fleet, "ls-tree", "-r", "--name-only", "main", acmeClusters); strings.Contains(left, "dev01") {
		t.Errorf("left in git:\n%s", left)
	}
	if diff := cmp.Diff("  - wc1.yaml\n  - wc2.yaml", s.gitIn(t, fleet, "show", "main:"+acmeClusters+"/kustomization.yaml")[len("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\ncommonLabels:\n  giantswarm.io/managed-by: flux\nresources:\n"):]); diff != "" {
		t.Error(diff)
	}
	s.noCall(t, "delete_cluster", removal(nil), clustermanager.ReasonRefused, "carries none of it", "mode apply")
}

// A list that is missing is written with all that Flux generates there today: nothing is lost.
func TestAMissingListLosesNothing(t *testing.T) {
	s := newScene(t, func(t *testing.T, s *scene) {
		if err := os.Remove(filepath.Join(s.root, fleetTree, acmeClusters, "kustomization.yaml")); err != nil {
			t.Fatal(err)
		}
	})
	answer := s.done(t, "create_cluster", dev01(nil))
	want := "resources:\n- wc1/mapi/apps/quotas.yaml\n- wc1/mapi/cluster/wc1-values.yaml\n- wc1/mapi/cluster/wc1.yaml\n- wc1.yaml\n- wc2\n- wc2.yaml\n- dev01.yaml"
	if list := s.gitIn(t, fleet, "show", dev01Branch+":"+acmeClusters+"/kustomization.yaml"); !strings.HasSuffix(list, want) {
		t.Errorf("%s", list)
	}
	for _, object := range differences(answer.Commit.Objects) {
		if !strings.HasPrefix(object, "add ") {
			t.Errorf("%s", object)
		}
	}
	if !answer.Commit.Proof.Built {
		t.Errorf("%+v", answer.Commit.Proof)
	}
}

// A server that knows its identity provider makes the cluster trust it, and binds who calls. What the installation's
// values hold of credentials is nowhere to be seen, and a change of values is titled as one.
func TestANewClusterTrustsTheInstallation(t *testing.T) {
	const password = "not-a-real-password-made-for-the-test"
	s := newScene(t, func(t *testing.T, s *scene) {
		replace(t, filepath.Join(s.snapshot, "cluster-manager.yaml"), "installation: gazelle\n", "installation: gazelle\ndex-issuer-url: https://dex.gazelle.example.io\ncluster-oidc-client-id: dex-k8s-authenticator\n")
		replace(t, filepath.Join(s.snapshot, "management", acmeNamespace, "configmap-cluster-app-installation-values.yaml"), "      managementCluster: gazelle\n",
			"      managementCluster: gazelle\n      components: {containerd: {containerRegistries: {gsoci.azurecr.io: [{endpoint: x, credentials: {password: "+password+"}}]}}}\n")
	})
	opened := s.done(t, "create_cluster", dev01(nil))
	if diff := cmp.Diff(&clustermanager.ClusterOIDC{
		Source: "installation", IssuerURL: "https://dex.gazelle.example.io", ClientID: "dex-k8s-authenticator", UsernameClaim: "email", GroupsClaim: "groups",
	}, opened.OIDC) + cmp.Diff(&clustermanager.ClusterRBAC{
		Source: "composed", Role: "cluster-admin", Users: []string{"jane@acme.example"}, Groups: []string{"customer:acme:Admins"},
	}, opened.RBAC); diff != "" {
		t.Error(diff)
	}
	wrong := dev01(map[string]any{"values": map[string]any{"global": map[string]any{"components": map[string]any{"containerd": map[string]any{"containerRegistries": map[string]any{"a": 7}}}}}})
	s.noCall(t, "create_cluster", wrong, clustermanager.ReasonRefused, "/global/components/containerd/containerRegistries/a: must be array")
	for _, text := range []string{string(s.answers.take()), string(s.log.take()), s.pullRequests(t)[fleet][0].Body, s.gitIn(t, fleet, "show", dev01Branch)} {
		if strings.Contains(text, password) {
			t.Errorf("a credential of the installation's values is shown: %.200s", text)
		}
	}
	if err := s.forge.Merge("acme", "fleet", opened.Commit.Number); err != nil {
		t.Fatal(err)
	}
	s.applied(t, "main")
	changed := s.done(t, "create_cluster", dev01(map[string]any{"description": "Another one"}))
	if diff := cmp.Diff([]string{"change ConfigMap org-acme/dev01-values"}, differences(changed.Commit.Objects)); diff != "" {
		t.Error(diff)
	}
	if last := s.pullRequests(t)[fleet][1]; last.Title != "feat(acme): change workload cluster dev01" {
		t.Error(last.Title)
	}
}

// Each no of a new cluster has its own sentence, and nothing is written.
func TestNewClustersThatAreRefused(t *testing.T) {
	s := newScene(t)
	values := func(global map[string]any) map[string]any {
		return map[string]any{"values": map[string]any{"global": global}}
	}
	for name, test := range map[string]struct {
		more   map[string]any
		reason clustermanager.Reason
		words  []string
	}{
		"a long name":             {map[string]any{"name": "a-name-of-23-characters"}, clustermanager.ReasonRefused, []string{"at most 20"}},
		"a name in use":           {map[string]any{"name": "wc1"}, clustermanager.ReasonRefused, []string{"in use", "org-acme/wc1"}},
		"in another organization": {map[string]any{"name": "wc3"}, clustermanager.ReasonRefused, []string{"in use", "org-research/wc3"}},
		"vsphere":                 {map[string]any{"provider": "vsphere"}, clustermanager.ReasonInvalidArguments, []string{"aws, azure, eks"}},
		"a preview":               {map[string]any{"release": "v37.0.0"}, clustermanager.ReasonRefused, []string{"preview", "36.0.0, 35.1.1"}},
		"a deprecated one":        {map[string]any{"release": "34.0.0"}, clustermanager.ReasonRefused, []string{"aws-34.0.0 is deprecated"}},
		"an unknown one":          {map[string]any{"release": "99.0.0"}, clustermanager.ReasonRefused, []string{"aws-99.0.0 does not exist"}},
		"an unpublished one":      {map[string]any{"provider": "azure"}, clustermanager.ReasonRefused, []string{"azure-36.0.0 is not published"}},
		"no values there":         {map[string]any{"organization": "nobody"}, clustermanager.ReasonRefused, []string{"no values of the installation"}},
		"against the schema":      {values(map[string]any{"metadata": map[string]any{"servicePriority": "urgent"}}), clustermanager.ReasonRefused, []string{"/global/metadata/servicePriority: must be one of", "release-aws:36.0.0"}},
		"a contradiction":         {values(map[string]any{"metadata": map[string]any{"organization": "other"}}), clustermanager.ReasonRefused, []string{"global.metadata.organization", `"other"`, `"acme"`}},
		"values that are none":    {map[string]any{"values": "text"}, clustermanager.ReasonInvalidArguments, []string{"no object"}},
		"no Kustomization":        {map[string]any{"organization": "research"}, clustermanager.ReasonRefused, []string{"Organization research: no Kustomization reconciles it"}},
	} {
		t.Run(name, func(t *testing.T) { s.noCall(t, "create_cluster", dev01(test.more), test.reason, test.words...) })
	}
	for name, test := range map[string]struct {
		more  map[string]any
		words []string
	}{
		"the own cluster": {map[string]any{"organization": "giantswarm", "name": "gazelle"}, []string{"own cluster gazelle"}},
		"a foreign one":   {map[string]any{"name": "wc1"}, []string{"HelmRelease org-acme/wc1: create_cluster did not make it", "default/clusters-wc1"}},
	} {
		t.Run("removing "+name, func(t *testing.T) {
			s.noCall(t, "delete_cluster", removal(test.more), clustermanager.ReasonRefused, test.words...)
		})
	}
	result := s.noCall(t, "delete_cluster", removal(map[string]any{"name": "never"}), clustermanager.ReasonNotFound, "not found")
	if want := `{"notFound":{"cluster":"never","namespace":"org-acme","nothingLeft":true}}`; len(result.Texts) != 2 || result.Texts[1] != want {
		t.Errorf("%q", result.Texts)
	}
}

// A root without the organization's directory is not laid out for its clusters.
func TestARootWithoutTheOrganization(t *testing.T) {
	s := newScene(t, func(t *testing.T, s *scene) {
		if err := os.RemoveAll(filepath.Join(s.root, fleetTree, "management-clusters/gazelle/organizations/acme")); err != nil {
			t.Fatal(err)
		}
	})
	s.noCall(t, "create_cluster", dev01(nil), clustermanager.ReasonRefused, "has no directory management-clusters/gazelle/organizations/acme at branch main")
}

// Releases are listed newest first in each line, and what is not offered says why.
func TestListReleases(t *testing.T) {
	s := newScene(t)
	var list clustermanager.ReleaseList
	if err := json.Unmarshal([]byte(s.call(t, "list_releases", map[string]any{}).Texts[0]), &list); err != nil {
		t.Fatal(err)
	}
	var all, offered []string
	for _, release := range list.Releases {
		all = append(all, release.Name)
		if release.Offered {
			offered = append(offered, release.Name)
		} else if release.Note == "" {
			t.Errorf("%s is not offered and does not say why", release.Name)
		}
	}
	want := []string{"aws-37.0.0", "aws-36.0.0", "aws-35.1.1", "aws-34.0.0", "aws-31.0.0", "aws-30.1.0", "aws-29.1.0", "azure-36.0.0", "eks-34.0.1", "vsphere-36.0.0"}
	if diff := cmp.Diff(want, all) + cmp.Diff([]string{"aws-36.0.0", "aws-35.1.1", "eks-34.0.1"}, offered); diff != "" {
		t.Error(diff)
	}
	if last := list.Releases[len(list.Releases)-1].ReleaseChart; last.Published != nil || last.Note == "" {
		t.Errorf("%+v", last)
	}
}
