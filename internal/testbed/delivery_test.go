package testbed_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/localforge"
	"github.com/clustermanager/cluster-manager/internal/testbed"
)

// What a repository says reaches the API server by Flux's own controllers, and its releases are installed.
func TestDelivery(t *testing.T) {
	bed := testbed.Start(t, testbed.Options{Flux: true, Helm: true, Tenancy: true, Charts: charts, Definitions: testbed.PoolPath})
	admin := client(t, bed.Admin())
	tenantOf(t, bed, "org-acme", true)
	pool := ownerless(goldenOf(t, "pool-l4-default"))
	var documents []string
	for _, object := range pool {
		content, err := yaml.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, string(content))
	}
	sealed, err := os.ReadFile(fixtures + "/repos/research/clusters/clusters/wc3/backup.enc.yaml")
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(fixtures + "/keys/research.age.key")
	if err != nil {
		t.Fatal(err)
	}
	forge := forgeWith(t, map[string]string{"pools/pool.yaml": strings.Join(documents, "---\n"), "pools/backup.yaml": string(sealed)})
	apply(t, bed, object("v1", "Namespace", "", "org-research"))
	delivery := testbed.Delivery{
		Namespace: "default", Name: "fleet", URL: forge.CloneURL("acme", "fleet"), Token: token, Path: "./pools",
		AgeKey: clustermanager.NewSecret(string(key)), Prune: true,
	}
	if err := bed.Deliver(t.Context(), delivery); err != nil {
		t.Fatal(err)
	}
	waitFor(t, admin, object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "default", "fleet"), ready("True", "Applied revision: main@sha1:"))
	read(t, admin, object("v1", "Secret", "org-research", "wc3-backup"))
	waitFor(t, admin, pool[1], ready("True", "Helm install succeeded"))
	read(t, admin, object("cluster.x-k8s.io/v1beta1", "MachinePool", "org-acme", "wc1-gpu-l4"))
}

// forgeWith serves the repository acme/fleet with files.
func forgeWith(t *testing.T, files map[string]string) *localforge.Forge {
	t.Helper()
	forge, err := localforge.Start(t.Context(), localforge.Options{Repositories: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = forge.Close() })
	forge.AddUser(localforge.User{Login: "flux", ID: 1, Token: token, Push: true})
	tree := t.TempDir()
	for name, content := range files {
		path := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := forge.Import("acme", "fleet", tree); err != nil {
		t.Fatal(err)
	}
	return forge
}
