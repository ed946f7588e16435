package testbed_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/clustermanager/cluster-manager/internal/testbed"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func TestEveryDefinitionIsEstablished(t *testing.T) {
	bed := testbed.Start(t, testbed.Options{Definitions: testbed.AllSets()})
	admin := client(t, bed.Admin())
	list, err := admin.Resource(definitions).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, definition := range list.Items {
		names = append(names, definition.GetName())
		if err := conditionIs(&definition, "Established", "True", ""); err != nil {
			t.Errorf("%s: %v", definition.GetName(), err)
		}
	}
	t.Logf("%d definitions", len(names))
	for set, name := range map[testbed.Set]string{
		testbed.FluxSource:    "gitrepositories.source.toolkit.fluxcd.io",
		testbed.FluxKustomize: "kustomizations.kustomize.toolkit.fluxcd.io",
		testbed.FluxHelm:      "helmreleases.helm.toolkit.fluxcd.io",
		testbed.ClusterAPI:    "machinepools.cluster.x-k8s.io",
		testbed.Kubeadm:       "kubeadmcontrolplanes.controlplane.cluster.x-k8s.io",
		testbed.AWS:           "awsclusters.infrastructure.cluster.x-k8s.io",
		testbed.Karpenter:     "nodeclaims.karpenter.sh",
		testbed.KServe:        "inferenceservices.serving.kserve.io",
		testbed.Gateway:       "httproutes.gateway.networking.k8s.io",
		testbed.CertManager:   "certificates.cert-manager.io",
		testbed.GPUOperator:   "clusterpolicies.nvidia.com",
		testbed.Apps:          "apps.application.giantswarm.io",
		testbed.Releases:      "releases.release.giantswarm.io",
		testbed.Organizations: "organizations.security.giantswarm.io",
	} {
		if !slices.Contains(names, name) {
			t.Errorf("set %s: there is no %s", set, name)
		}
	}

	repository := object("source.toolkit.fluxcd.io/v1", "GitRepository", "default", "x")
	repository.Object["spec"] = map[string]any{"url": "https://127.0.0.1/x", "interval": "1m", "brunch": "main"}
	if err := admin.Apply(t.Context(), repository); err == nil || !strings.Contains(err.Error(), ".spec.brunch") {
		t.Errorf("applying a field that the kind does not have: %v", err)
	}
	absent(t, admin, repository)
}
