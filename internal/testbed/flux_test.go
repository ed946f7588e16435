package testbed_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/localforge"
	"github.com/clustermanager/cluster-manager/internal/testbed"
)

// The repository and the installation that the test takes from the fixtures: wc3 of research.
const (
	fixtures     = "../../fixtures"
	installation = fixtures + "/installations/gazelle/management/flux-giantswarm"
	plain        = "not-a-real-passphrase-made-for-the-fixture"
)

// Made for this test.
var token = clustermanager.NewSecret("forge-token-made-for-this-test")

// Everything that Flux does here, it does as the service account of the Kustomization, which may write in org-research
// alone.
const surroundings = `
{apiVersion: v1, kind: Namespace, metadata: {name: flux-giantswarm}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: org-research}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: automation, namespace: flux-giantswarm}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: automation, namespace: org-research}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: automation, namespace: flux-giantswarm}]
---
apiVersion: v1
kind: Secret
metadata: {name: forge, namespace: flux-giantswarm}
stringData: {username: x-access-token, password: forge-token-made-for-this-test}
`

func TestFluxAppliesWhatIsPushed(t *testing.T) {
	forge, tree := newForge(t)
	bed := testbed.Start(t, testbed.Options{Flux: true, Definitions: []testbed.Set{testbed.FluxHelm}})
	admin := client(t, bed.Admin())
	apply(t, bed, objects(t, surroundings)...)
	apply(t, bed, fromInstallation(t, forge)...)

	kustomization := object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "flux-giantswarm", "wc3")
	for _, test := range []struct{ key, words string }{{"", "sops-age"}, {"acme", "wc3-backup"}} {
		if test.key != "" {
			apply(t, bed, ageKey(t, test.key))
			reconcile(t, admin, kustomization)
		}
		waitFor(t, admin, kustomization, func(found *unstructured.Unstructured) error {
			return conditionIs(found, "Ready", "False", test.words)
		})
	}
	absent(t, admin, object("v1", "ConfigMap", "org-research", "wc3-quotas"))

	apply(t, bed, ageKey(t, "research"))
	reconcile(t, admin, kustomization)
	waitFor(t, admin, kustomization, func(found *unstructured.Unstructured) error { return conditionIs(found, "Ready", "True", "") })
	secret := read(t, admin, object("v1", "Secret", "org-research", "wc3-backup"))
	if got, _, _ := unstructured.NestedString(secret.Object, "data", "passphrase"); got != base64.StdEncoding.EncodeToString([]byte(plain)) {
		t.Errorf("the Secret's passphrase is not what was sealed")
	}
	want := map[string]any{"cluster": "wc3.acme.example.io", "gpus": "8 per rack"}
	if diff := cmp.Diff(want, read(t, admin, object("v1", "ConfigMap", "org-research", "wc3-quotas")).Object["data"]); diff != "" {
		t.Errorf("substituted (-want +got):\n%s", diff)
	}
	entries := []string{
		"org-research_wc3-alerts__ConfigMap", "org-research_wc3-backup__Secret", "org-research_wc3-quotas__ConfigMap",
		"org-research_wc3_helm.toolkit.fluxcd.io_HelmRelease", "org-research_wc3_source.toolkit.fluxcd.io_OCIRepository",
	}
	if diff := cmp.Diff(entries, inventory(read(t, admin, kustomization))); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}

	revision := push(t, forge, tree)
	reconcile(t, admin, object("source.toolkit.fluxcd.io/v1", "GitRepository", "flux-giantswarm", "research"))
	waitFor(t, admin, kustomization, func(found *unstructured.Unstructured) error {
		applied, _, _ := unstructured.NestedString(found.Object, "status", "lastAppliedRevision")
		if applied != "main@sha1:"+revision {
			return fmt.Errorf("applied is %s, not %s", applied, revision)
		}
		return nil
	})
	absent(t, admin, object("v1", "ConfigMap", "org-research", "wc3-alerts"))
	if diff := cmp.Diff(entries[1:], inventory(read(t, admin, kustomization))); diff != "" {
		t.Errorf("inventory after the push (-want +got):\n%s", diff)
	}
	want["racks"] = "2"
	if diff := cmp.Diff(want, read(t, admin, object("v1", "ConfigMap", "org-research", "wc3-quotas")).Object["data"]); diff != "" {
		t.Errorf("after the push (-want +got):\n%s", diff)
	}

	if err := resourceOf(t, admin, kustomization).Delete(t.Context(), kustomization.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	gone := resourceOf(t, admin, kustomization)
	if err := testbed.Eventually(t.Context(), func(ctx context.Context) error { return isAbsent(ctx, gone, kustomization) }); err != nil {
		t.Error(err)
	}
	absent(t, admin, object("v1", "Secret", "org-research", "wc3-backup"))
}

// newForge serves the repository research/clusters, and returns its work tree too.
func newForge(t *testing.T) (*localforge.Forge, string) {
	t.Helper()
	forge, err := localforge.Start(t.Context(), localforge.Options{Repositories: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = forge.Close() })
	forge.AddUser(localforge.User{Login: "flux", ID: 1, Token: token, Push: true})
	tree := filepath.Join(t.TempDir(), "clusters")
	if err := os.CopyFS(tree, os.DirFS(fixtures+"/repos/research/clusters")); err != nil {
		t.Fatal(err)
	}
	edit(t, filepath.Join(tree, "clusters/wc3/cluster.yaml"), "oci://gsoci.azurecr.io/", "oci://127.0.0.1:1/")
	if err := forge.Import("research", "clusters", tree); err != nil {
		t.Fatal(err)
	}
	return forge, tree
}

// push takes a file away from what is applied and changes another, and returns the commit.
func push(t *testing.T, forge *localforge.Forge, tree string) string {
	t.Helper()
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, tree, "clone", "--quiet", forge.CloneURL("research", "clusters"), clone)
	edit(t, filepath.Join(clone, "clusters/wc3/kustomization.yaml"), "- alerts.yaml\n", "")
	edit(t, filepath.Join(clone, "clusters/wc3/quotas.yaml"), "\ndata:\n", "\ndata:\n  racks: \"2\"\n")
	git(t, clone, "commit", "--quiet", "--all", "-m", "feat: two racks, no alerts")
	git(t, clone, "push", "--quiet", "origin", "HEAD:main")
	return git(t, clone, "rev-parse", "HEAD")
}

func git(t *testing.T, folder string, arguments ...string) string {
	t.Helper()
	request := http.Request{Header: http.Header{}}
	request.SetBasicAuth("x-access-token", token.Reveal())
	settings := []string{"-c", "user.name=flux", "-c", "user.email=flux@example.com",
		"-c", "http.extraHeader=Authorization: " + request.Header.Get("Authorization")}
	command := exec.CommandContext(t.Context(), "git", append(settings, arguments...)...)
	command.Dir = folder
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", arguments, err, output)
	}
	return strings.TrimSpace(string(output))
}

// edit replaces the one place in a file.
func edit(t *testing.T, path, old, replacement string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(content), old) != 1 {
		t.Fatalf("%s: it does not have %q once", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(content), old, replacement, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fromInstallation are the objects of the fixture without what a cluster adds; the GitRepository is fetched from the forge.
func fromInstallation(t *testing.T, forge *localforge.Forge) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, name := range []string{"configmap-research-variables", "gitrepository-research", "kustomization-wc3"} {
		content, err := os.ReadFile(filepath.Join(installation, name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		object := objects(t, string(content))[0]
		delete(object.Object, "status")
		object.SetFinalizers(nil)
		if object.GetKind() == "GitRepository" {
			spec := object.Object["spec"].(map[string]any)
			spec["url"], spec["secretRef"] = forge.CloneURL("research", "clusters"), map[string]any{"name": "forge"}
		}
		all = append(all, object)
	}
	return all
}

// ageKey is the Secret with one of the fixtures' keys.
func ageKey(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	key, err := os.ReadFile(fixtures + "/keys/" + name + ".age.key")
	if err != nil {
		t.Fatal(err)
	}
	secret := object("v1", "Secret", "flux-giantswarm", "sops-age")
	secret.Object["stringData"] = map[string]any{"identity.agekey": string(key)}
	return secret
}

func inventory(kustomization *unstructured.Unstructured) []string {
	entries, _, _ := unstructured.NestedSlice(kustomization.Object, "status", "inventory", "entries")
	var ids []string
	for _, entry := range entries {
		ids = append(ids, entry.(map[string]any)["id"].(string))
	}
	slices.Sort(ids)
	return ids
}
