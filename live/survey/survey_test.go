package survey_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var poolRequest = clustermanager.CreateNodePoolRequest{Cluster: "wc1", Name: "gpu-l4", Serving: new(false)}

func nodePool(t *testing.T, f files, over *wire) clustermanager.Survey {
	t.Helper()
	made, err := f.reader(t, over).NodePool(t.Context(), poolRequest)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestNodePoolGolden(t *testing.T) {
	const golden = "testdata/nodepool.json"
	got, err := json.MarshalIndent(nodePool(t, snapshot(t), nil), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
	var back clustermanager.Survey
	if err := json.Unmarshal(got, &back); err != nil {
		t.Error(err)
	}
}

func TestEachObjectIsAskedForOnce(t *testing.T) {
	over := &wire{}
	reader := snapshot(t).reader(t, over)
	made, err := reader.NodePool(t.Context(), poolRequest)
	if err != nil {
		t.Fatal(err)
	}
	first := slices.Clone(over.requested())
	slices.Sort(first)
	if diff := cmp.Diff(first, slices.Compact(slices.Clone(first))); diff != "" {
		t.Errorf("asked for twice: %s", diff)
	}
	want := []string{
		"GET /api/v1/namespaces/flux/configmaps/absent",
		"GET /api/v1/namespaces/flux/configmaps/missing",
		"GET /api/v1/namespaces/flux/configmaps/variables",
		"GET /api/v1/namespaces/flux/secrets/more-variables",
		"GET /api/v1/namespaces/org-acme/configmaps/cluster-app-installation-values",
		"GET /api/v1/namespaces/org-acme/configmaps/wc1-absent",
		"GET /api/v1/namespaces/org-acme/configmaps/wc1-more",
		"GET /api/v1/namespaces/org-acme/configmaps/wc1-values",
		"GET /api/v1/namespaces/org-acme/secrets/wc1-gpu-l4-values",
		"GET /api/v1/namespaces/org-acme/secrets/wc1-kubeconfig",
		"GET /apis/cluster.x-k8s.io/v1beta1/clusters?fieldSelector=metadata.name%3Dwc1",
		"GET /apis/cluster.x-k8s.io/v1beta1/namespaces/org-acme/machinepools/wc1-gpu-l4",
		"GET /apis/cluster.x-k8s.io/v1beta1?timeout=32s",
		"GET /apis/controlplane.cluster.x-k8s.io/v1beta1/namespaces/org-acme/kubeadmcontrolplanes/wc1",
		"GET /apis/helm.toolkit.fluxcd.io/v2/namespaces/org-acme/helmreleases/wc1",
		"GET /apis/helm.toolkit.fluxcd.io/v2/namespaces/org-acme/helmreleases/wc1-agent-platform",
		"GET /apis/helm.toolkit.fluxcd.io/v2/namespaces/org-acme/helmreleases/wc1-gpu-l4",
		"GET /apis/helm.toolkit.fluxcd.io/v2/namespaces/org-acme/helmreleases/wc1-gpu-operator",
		"GET /apis/helm.toolkit.fluxcd.io/v2/namespaces/org-acme/helmreleases?labelSelector=app.kubernetes.io%2Fname%3Dgpu-node-pool%2Cgiantswarm.io%2Fcluster%3Dwc1",
		"GET /apis/helm.toolkit.fluxcd.io/v2/namespaces/org-acme/helmreleases?labelSelector=giantswarm.io%2Fcluster%3Dwc1",
		"GET /apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/org-acme/awsclusters/wc1",
		"GET /apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux/kustomizations/wc1",
		"GET /apis/release.giantswarm.io/v1alpha1/releases",
		"GET /apis/source.toolkit.fluxcd.io/v1/namespaces/flux/gitrepositories/fleet",
		"GET /apis/source.toolkit.fluxcd.io/v1/namespaces/org-acme/ocirepositories/wc1-gpu-l4",
		"GET /apis/source.toolkit.fluxcd.io/v1/namespaces/org-acme/ocirepositories/wc1-gpu-operator",
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}
	again, err := reader.NodePool(t.Context(), poolRequest)
	if err != nil || len(over.requested()) != len(first) {
		t.Errorf("%d requests after a second survey, %v", len(over.requested()), err)
	}
	one, _ := json.Marshal(made)
	two, _ := json.Marshal(again)
	if diff := cmp.Diff(string(one), string(two)); diff != "" {
		t.Error(diff)
	}
}

func TestAFailedReadIsUnknown(t *testing.T) {
	over := &wire{fail: []string{
		"/helmreleases/wc1$", "/releases$", "/kubeadmcontrolplanes/", "/awsclusters/", "labelSelector", "/ocirepositories/",
	}}
	made := nodePool(t, snapshot(t), over)
	for name, reason := range map[string]string{
		"values": made.Values.Reason(), "pins": made.Pins.Reason(), "control plane": made.ControlPlaneVersion.Reason(),
		"network": made.Network.Reason(), "pools": made.Pools.Reason(),
		"live":   made.Live["org-acme_wc1-gpu-l4_source.toolkit.fluxcd.io_OCIRepository"].Reason(),
		"target": made.Target.Reason(),
	} {
		if !strings.Contains(reason, "reading: internalerror by the test") {
			t.Errorf("%s: %q", name, reason)
		}
	}
	if reason := clustermanager.ReasonOf(made.Target.Err()); reason != clustermanager.ReasonError {
		t.Errorf("the target that could not be read is %s", reason)
	}
	made = nodePool(t, snapshot(t), &wire{forbid: []string{"/kustomizations/"}})
	if reason := clustermanager.ReasonOf(made.Target.Err()); reason != clustermanager.ReasonRefused {
		t.Errorf("the target that may not be read is %s", reason)
	}
}

func TestNoSecretStandsInAReason(t *testing.T) {
	broken := snapshot(t).
		replace(t, wc1, "      port: 443\n", "      port: made-for-the-test: {\n").
		replace(t, flux, "stringData: {both: made-for-the-test}", "data: {both: made-for-the-test}")
	made := nodePool(t, broken, nil)
	if want := "HelmRelease org-acme/wc1: ConfigMap org-acme/wc1-values: reading values: the text is no YAML"; made.Values.Reason() != want {
		t.Errorf("%q, want %q", made.Values.Reason(), want)
	}
	text, err := json.Marshal(made)
	if err != nil || strings.Contains(string(text), "made-for-the-test") {
		t.Errorf("the survey holds the text: %v", err)
	}
	want := []string{"Secret more-variables: the value of key both is not base64", "ConfigMap missing: it does not exist"}
	target, _ := made.Target.Get()
	if diff := cmp.Diff(want, target.UnreadSubstitutes); diff != "" {
		t.Error(diff)
	}
}

func TestNodePoolOfAnEndedContext(t *testing.T) {
	reader := snapshot(t).reader(t, nil)
	if _, err := reader.FindCluster(t.Context(), "", "wc1"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := reader.NodePool(ctx, poolRequest); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
