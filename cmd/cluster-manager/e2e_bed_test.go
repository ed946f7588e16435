package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/localforge"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/internal/testbed"
	"github.com/clustermanager/cluster-manager/internal/testbed/script"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// The people of the end-to-end tests: jane is a platform engineer with the rights of docs/permissions.yaml, rita may read
// the installation, olga one organization.
const (
	engineer    = "jane@acme.example"
	guest       = "rita@acme.example"
	oneOrgOnly  = "olga@research.example"
	modelServer = "1.12.0"
)

// endToEnd is an installation of real components: an API server with Flux and the stand-in of helm-controller, the
// repository that Flux applies, and wc1, whose objects come from that repository, with an API server of its own.
type endToEnd struct {
	bed, wc1 *testbed.Bed
	// wc2 is another API server, for the clusters that come and go.
	wc2     *testbed.Bed
	forge   *localforge.Forge
	manager *script.ModelManager
	// admin and there are administrators of the installation and of wc1.
	admin, there *testbed.Client
	// tokens are the people's on the forge.
	tokens map[string]clustermanager.Secret
}

// newEndToEnd brings all of it up, and returns when Flux has made wc1 of its repository.
func newEndToEnd(t *testing.T) *endToEnd {
	t.Helper()
	bed := testbed.Start(t, testbed.Options{
		Users: []testbed.User{
			{Email: engineer, Groups: []string{"acme:platform-engineers"}}, {Email: guest, Groups: []string{"acme:visitors"}},
			{Email: oneOrgOnly, Groups: []string{"research:readers"}},
		},
		Definitions: append([]testbed.Set{testbed.Kubeadm, testbed.Apps}, testbed.PoolPath...),
		Flux:        true, Helm: true, Tenancy: true, Charts: filepath.Join("..", "..", "fixtures", "charts"),
	})
	e := &endToEnd{bed: bed, admin: bedClient(t, bed), tokens: map[string]clustermanager.Secret{}}
	e.startForge(t)
	e.furnish(t)
	e.manager = script.NewModelManager(t, bed.Admin(), "agent-platform", modelServer)
	// Flux is at it while wc1's API server starts.
	e.deliver(t)
	e.wc1 = newWorkload(t, bed)
	e.there = bedClient(t, e.wc1)
	e.kubeconfig(t, e.wc1, "org-acme", "wc1")
	script.MachinePools(t, bed.Admin(), e.wc1.Admin())
	e.until(t, helmRelease("org-acme", "wc1"), isReady)
	return e
}

func bedClient(t *testing.T, bed *testbed.Bed) *testbed.Client {
	t.Helper()
	client, err := testbed.NewClient(bed.Admin())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// newWorkload starts a workload cluster with three nodes and what the cluster's own charts bring, where the GPU operator
// and KServe are played once they are installed.
func newWorkload(t *testing.T, bed *testbed.Bed) *testbed.Bed {
	t.Helper()
	workload := bed.Workload(t, testbed.GPUOperator, testbed.KServe, testbed.Gateway, testbed.CertManager, testbed.Karpenter)
	client := bedClient(t, workload)
	for _, file := range []string{
		"clusterissuer-letsencrypt-giantswarm", "storageclass-gp3", "clusterrolebinding-customer-admins",
		"node-ip-10-2-0-10", "node-ip-10-2-1-10", "node-ip-10-2-2-10",
	} {
		object := fixtureObject(t, "clusters", "wc1", "cluster-scoped", file+".yaml")
		// There is no pool of that name here.
		object.SetLabels(without(object.GetLabels(), "giantswarm.io/machine-pool"))
		place(t, client, object)
	}
	grant(t, client, "cluster-manager-workload", "", "acme:platform-engineers")
	script.GPUOperator(t, workload.Admin(), "kube-system")
	script.KServe(t, workload.Admin())
	return workload
}

// startForge serves the repository acme/fleet of the fixtures, without the clusters that this installation does not have.
func (e *endToEnd) startForge(t *testing.T) {
	t.Helper()
	var err error
	if e.forge, err = localforge.Start(t.Context(), localforge.Options{Repositories: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.forge.Close() })
	for index, login := range []string{"flux", "jane", "rita", "olga"} {
		e.tokens[login] = clustermanager.NewSecret("ghu_" + "madeForTheTest" + login)
		e.forge.AddUser(localforge.User{Login: login, Email: login + "@acme.example", ID: int64(index) + 1, Token: e.tokens[login], Push: true})
	}
	tree := t.TempDir()
	copyFixture(t, tree, "repos", "acme", "fleet")
	clusters := filepath.Join(tree, filepath.FromSlash(acmeClusters))
	for _, gone := range []string{filepath.Join(clusters, "wc2"), filepath.Join(clusters, "wc2.yaml"), filepath.Join(filepath.Dir(filepath.Dir(clusters)), "giantswarm")} {
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
	}
	replace(t, filepath.Join(clusters, "kustomization.yaml"), "  - wc2.yaml\n", "")
	replace(t, filepath.Join(clusters, "wc1", "mapi", "cluster", "wc1.yaml"), "tag: 31.0.0", "tag: 36.0.0")
	replace(t, filepath.Join(clusters, "wc1", "mapi", "cluster", "wc1-values.yaml"), "- endpoint: gsoci.azurecr.io\n", credentials)
	replace(t, filepath.Join(clusters, "wc1", "mapi", "cluster", "wc1-values.yaml"), "      metadata:\n", "      release:\n        version: 36.0.0\n      metadata:\n")
	if err := e.forge.Import("acme", "fleet", tree); err != nil {
		t.Fatal(err)
	}
}

// credentials open nothing: they were made for this test.
const (
	registryPassword = "not-a-real-password-made-for-the-test"
	credentials      = `- endpoint: gsoci.azurecr.io
                credentials:
                  username: fixture-user
                  password: ` + registryPassword + "\n"
)

// furnish makes what an installation has before anybody calls: organizations, a release, the platform's own release with
// model-manager, and people's rights.
func (e *endToEnd) furnish(t *testing.T) {
	t.Helper()
	for _, file := range []string{
		"cluster-scoped/namespace-org-acme", "cluster-scoped/namespace-org-research", "cluster-scoped/namespace-flux-giantswarm",
		"cluster-scoped/namespace-agent-platform", "cluster-scoped/organization-research",
		"cluster-scoped/release-aws-36.0.0",
		"org-acme/configmap-cluster-app-installation-values", "org-acme/rolebinding-write-all-customer-sa",
		"org-research/configmap-cluster-app-installation-values", "org-research/rolebinding-write-all-customer-sa",
		"flux-giantswarm/configmap-agent-platform-values", "flux-giantswarm/secret-agent-platform-secret-values",
		"flux-giantswarm/ocirepository-agent-platform", "flux-giantswarm/helmrelease-agent-platform",
		"flux-giantswarm/ocirepository-model-manager", "flux-giantswarm/helmrelease-model-manager",
	} {
		object := fixtureObject(t, "management", filepath.FromSlash(file)+".yaml")
		e.suit(t, object)
		place(t, e.admin, object)
	}
	e.apply(t, accounts)
	for namespace, role := range map[string]string{
		"": "cluster-manager-read", "org-acme": "cluster-manager-organization", "agent-platform": "cluster-manager-backends",
		"flux-giantswarm": "cluster-manager-platform",
	} {
		grant(t, e.admin, role, namespace, "acme:platform-engineers")
	}
	grant(t, e.admin, "cluster-manager-read", "", "acme:visitors")
	grant(t, e.admin, "cluster-manager-organization", "org-research", "acme:platform-engineers")
}

// accounts are who Flux and the stand-in of helm-controller act as.
const accounts = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: write-all-customer}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: automation, namespace: org-acme}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: automation, namespace: org-research}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: automation, namespace: default}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: automation}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: automation, namespace: default}]
`

// suit changes what of the fixtures does not suit a bed: Flux is kept from the releases of the platform, which have no
// charts here and whose status the fixtures tell, and the Release has the Kubernetes of its chart.
func (e *endToEnd) suit(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	switch object.GetKind() {
	case "HelmRelease", "OCIRepository":
		_ = unstructured.SetNestedField(object.Object, true, "spec", "suspend")
	case "Release":
		components, _, _ := unstructured.NestedSlice(object.Object, "spec", "components")
		for _, one := range components {
			if fields := one.(map[string]any); fields["name"] == "kubernetes" {
				fields["version"] = "1.34.2"
			}
		}
		_ = unstructured.SetNestedSlice(object.Object, components, "spec", "components")
	}
}

// deliver lets Flux apply the repository.
func (e *endToEnd) deliver(t *testing.T) {
	t.Helper()
	key, err := os.ReadFile(filepath.Join("..", "..", "fixtures", "keys", "acme.age.key"))
	if err != nil {
		t.Fatal(err)
	}
	e.apply(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: sops-age, namespace: default}\nstringData:\n  identity.agekey: "+string(ageSecretKey(t, key)))
	err = e.bed.Deliver(t.Context(), testbed.Delivery{
		Namespace: "default", Name: "fleet", URL: e.forge.CloneURL("acme", "fleet"), Token: e.tokens["flux"],
		Path: "./management-clusters/gazelle", ServiceAccount: "automation", Prune: true, AgeKey: clustermanager.NewSecret(string(key)),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ageSecretKey is the line of the key in a file as age-keygen writes it.
func ageSecretKey(t *testing.T, content []byte) []byte {
	t.Helper()
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "AGE-SECRET-KEY-") {
			return []byte(line)
		}
	}
	t.Fatal("there is no key")
	return nil
}

// kubeconfig makes the Secret by which the installation knows where a cluster's API server is.
func (e *endToEnd) kubeconfig(t *testing.T, workload *testbed.Bed, namespace, cluster string) {
	t.Helper()
	secret, err := workload.KubeconfigSecret(namespace, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.admin.Apply(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// as is a client of a live server that runs with a person's kubeconfig, and with a GitHub token of theirs.
func (e *endToEnd) as(t *testing.T, email string) *mcptools.Client {
	t.Helper()
	return dialed(t, e.open(t, email))
}

func (e *endToEnd) open(t *testing.T, email string) *installation {
	t.Helper()
	github := e.github(email)
	resolved, err := settings.Resolve(settings.Flags(map[string]string{
		"installation": "gazelle", "kubeconfig": filepath.Join(filepath.Dir(e.bed.Logs()), "kubeconfig"), "kube-context": email,
		"git-hosts": github.host + "=" + e.forge.APIURL(),
	}))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := openLive(liveOptions{
		Resolved: resolved, github: github, now: time.Now, log: slog.New(slog.DiscardHandler),
		registry: func(string) string { return e.bed.Registry().Address() },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return opened
}

// github is a person's token.
func (e *endToEnd) github(email string) githubToken {
	login, _, _ := strings.Cut(email, "@")
	return githubToken{e.tokens[login], strings.TrimPrefix(e.forge.URL(), "http://")}
}
