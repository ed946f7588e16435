package survey

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	// labelGPUPresent is what the operator's feature discovery puts on a node with a GPU.
	labelGPUPresent = "nvidia.com/gpu.present"
	// mostNodesNamed is how many nodes a piece of evidence names.
	mostNodesNamed = 3
)

// operatorFacts are what the GPU operator is detected from.
type operatorFacts struct {
	cluster clustermanager.Cluster
	// installation are the HelmReleases that the installation has for the cluster.
	installation list
	// releases, apps, policies and nodes are the target's; each has the same cause where the target cannot be read.
	releases, apps, policies, nodes list
}

// gpuOperator says whether something runs GPU nodes on the cluster, and who put it there.
func (r *Reader) gpuOperator(ctx context.Context, cluster clustermanager.Cluster) clustermanager.Component {
	return r.operatorFacts(ctx, cluster).component()
}

func (r *Reader) operatorFacts(ctx context.Context, cluster clustermanager.Cluster) operatorFacts {
	facts := operatorFacts{cluster: cluster}
	var reads errgroup.Group
	reads.Go(func() error { facts.installation = r.releasesFor(ctx, cluster); return nil })
	for _, part := range []struct {
		of   noun
		into *list
	}{
		{helmReleaseNoun, &facts.releases}, {appNoun, &facts.apps}, {clusterPolicyNoun, &facts.policies}, {nodeNoun, &facts.nodes},
	} {
		reads.Go(func() error { *part.into = r.onTarget(ctx, cluster, part.of, ""); return nil })
	}
	_ = reads.Wait()
	return facts
}

// releasesFor are the HelmReleases that the installation has for a cluster.
func (r *Reader) releasesFor(ctx context.Context, cluster clustermanager.Cluster) list {
	return clustermanager.Read(r.list(ctx, helmReleaseNoun, cluster.Namespace, metav1.ListOptions{
		LabelSelector: labels.SelectorFromSet(labels.Set{clustermanager.LabelCluster: cluster.Name}).String(),
	}))
}

// onTarget lists, over all namespaces of the cluster's own API server, the objects that a label selector chooses.
func (r *Reader) onTarget(ctx context.Context, cluster clustermanager.Cluster, of noun, selector string) list {
	target, err := r.target(ctx, cluster)
	if err != nil {
		return clustermanager.Read[[]unstructured.Unstructured](nil, err)
	}
	return clustermanager.Read(target.list(ctx, of, "", metav1.ListOptions{LabelSelector: selector}))
}

// findings are the traces of the operator.
func (f operatorFacts) findings() []finding {
	found := releasesOf(f.installation.Or(nil), f.cluster, onInstallation(f.cluster), clustermanager.ChartGPUOperator)
	found = append(found, releasesOf(f.releases.Or(nil), f.cluster, "", clustermanager.ChartGPUOperator)...)
	manual := func(text string) { found = append(found, finding{provider: clustermanager.ProviderManual, text: text}) }
	for _, app := range f.apps.Or(nil) {
		if textAt(app.Object, "spec", "name") == clustermanager.ChartGPUOperator && !appInstallsElsewhere(&app, f.cluster) {
			manual(clustermanager.ReferenceTo(&app).String())
		}
	}
	for _, policy := range f.policies.Or(nil) {
		manual(clustermanager.ReferenceTo(&policy).String())
	}
	if text := gpuNodes(f.nodes.Or(nil)); text != "" {
		manual(text)
	}
	return found
}

func (f operatorFacts) component() clustermanager.Component {
	component := componentOf(f.findings(), nil, f.releases.Err(), f.apps.Err(), f.policies.Err(), f.nodes.Err())
	if component.Provider == clustermanager.ProviderChart {
		return component
	}
	return undecided(component, f.installation.Err())
}

// appInstallsElsewhere says whether an App installs on another cluster than the one given.
func appInstallsElsewhere(app *unstructured.Unstructured, cluster clustermanager.Cluster) bool {
	config := mapAt(app.Object, "spec", "kubeConfig")
	return config != nil && !isTrueAt(config, "inCluster") && textAt(config, "secret", "name") != clustermanager.KubeconfigSecretName(cluster)
}

// gpuNodes is the evidence that nodes give: their label, else what they can allocate; "" when there is none.
func gpuNodes(nodes []unstructured.Unstructured) string {
	var labelled, allocating []string
	for _, node := range nodes {
		allocatable, _, _ := unstructured.NestedFieldNoCopy(node.Object, "status", "allocatable", gpuResource)
		switch quantity := fmt.Sprint(allocatable); {
		case node.GetLabels()[labelGPUPresent] == "true":
			labelled = append(labelled, node.GetName())
		case allocatable != nil && quantity != "" && quantity != "0":
			allocating = append(allocating, node.GetName())
		}
	}
	switch {
	case len(labelled) > 0:
		return named(labelled) + " labelled " + labelGPUPresent + "=true"
	case len(allocating) > 0:
		return named(allocating) + " with allocatable " + gpuResource
	}
	return ""
}

// named names the first few nodes of a list.
func named(nodes []string) string {
	text := "Node " + strings.Join(nodes[:min(len(nodes), mostNodesNamed)], ", ")
	if more := len(nodes) - mostNodesNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
