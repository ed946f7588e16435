package testbed_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/testbed"
	"github.com/clustermanager/cluster-manager/render/compose"
)

// composedSets are the sets of definitions that composed objects are of.
var composedSets = []testbed.Set{testbed.FluxSource, testbed.FluxKustomize, testbed.FluxHelm}

const fluxForEditors = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: flux-edit, labels: {rbac.authorization.k8s.io/aggregate-to-edit: "true"}}
rules: [{apiGroups: [source.toolkit.fluxcd.io, helm.toolkit.fluxcd.io, kustomize.toolkit.fluxcd.io], resources: ["*"], verbs: ["*"]}]
`

// Every object is written by a person who may edit in its namespace and no more, under the rule of multi-tenancy. A field
// that the real definition does not have is an error.
func TestComposedManifestsAreAccepted(t *testing.T) {
	const tenant, group = "tenant@example.com", "acme:admins"
	bed := testbed.Start(t, testbed.Options{
		Users: []testbed.User{{Email: tenant, Groups: []string{group}}}, Definitions: composedSets, Tenancy: true,
	})
	apply(t, bed, objects(t, fluxForEditors)...)
	all := slices.Concat(goldens(t), withSecret(t))
	namespaces := map[string]bool{}
	for _, one := range all {
		if namespace := one.object.GetNamespace(); namespace != "" && !namespaces[namespace] {
			namespaces[namespace] = true
			role := binding("tenant", "edit", group)
			role.SetNamespace(namespace)
			apply(t, bed, object("v1", "Namespace", "", namespace), role)
		}
	}
	caller := client(t, bed.Config(tenant))
	releases := resourceOf(t, caller, object("helm.toolkit.fluxcd.io/v2", "HelmRelease", all[0].object.GetNamespace(), ""))
	err := testbed.Eventually(t.Context(), func(ctx context.Context) error {
		_, err := releases.List(ctx, metav1.ListOptions{})
		return err
	})
	if err != nil {
		t.Fatalf("waiting until the role holds Flux's kinds: %v", err)
	}
	kinds := map[string]int{}
	for _, one := range all {
		t.Run(one.name, func(t *testing.T) {
			if err := caller.Apply(t.Context(), one.object); err != nil {
				t.Error(err)
			}
		})
		kinds[one.object.GetKind()]++
	}
	t.Logf("%v", kinds)
	if kinds["Secret"] == 0 {
		t.Error("no Secret is among them")
	}
}

// withSecret are the objects of a pool whose cluster has credentials: the goldens have no Secret.
func withSecret(t *testing.T) []golden {
	t.Helper()
	content, err := os.ReadFile(composed + "/surveys/wc3.json")
	if err != nil {
		t.Fatal(err)
	}
	var survey clustermanager.Survey
	if err := json.Unmarshal(content, &survey); err != nil {
		t.Fatal(err)
	}
	pool, err := compose.NodePool(clustermanager.CreateNodePoolRequest{
		Cluster: "wc3", Name: "gpu-l4", Serving: new(false), Mode: clustermanager.ModeCommit,
	}, survey)
	if err != nil {
		t.Fatal(err)
	}
	var all []golden
	for _, step := range pool.Plan.Steps {
		if step.Verb == clustermanager.Ensure {
			all = append(all, golden{"wc3/" + step.Object.GetKind() + "/" + step.Object.GetName(), step.Object})
		}
	}
	return all
}
