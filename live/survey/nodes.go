package survey

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	nvidiaPrefix = "nvidia.com/"
	gpuResource  = "nvidia.com/gpu"
)

// nodes are the cluster's nodes.
func (r *Reader) nodes(ctx context.Context, cluster clustermanager.Cluster) ([]clustermanager.Node, error) {
	listed, err := r.listTarget(ctx, cluster, nodeNoun, "", nil)
	if err != nil {
		return nil, err
	}
	found := []clustermanager.Node{}
	for index := range listed {
		found = append(found, nodeOf(&listed[index]))
	}
	slices.SortFunc(found, func(a, b clustermanager.Node) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

func nodeOf(object *unstructured.Unstructured) clustermanager.Node {
	node := clustermanager.Node{
		Name: object.GetName(), OSImage: textAt(object.Object, "status", "nodeInfo", "osImage"),
		GPUs: int(quantity(mapAt(object.Object, "status", "allocatable")[gpuResource])),
	}
	for key, value := range object.GetLabels() {
		if !strings.HasPrefix(key, nvidiaPrefix) && key != clustermanager.LabelMachinePool {
			continue
		}
		if node.Labels == nil {
			node.Labels = map[string]string{}
		}
		node.Labels[key] = value
	}
	return node
}

// prepullImages are the images of the init containers of the one DaemonSet that pulls ahead for model serving.
func (r *Reader) prepullImages(ctx context.Context, cluster clustermanager.Cluster) ([]string, error) {
	found, err := r.listTarget(ctx, cluster, daemonSetNoun, "", labels.Set{labelPrepull: isTrueLabel})
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("every DaemonSet with the label %s=%s: choosing the one that pulls images ahead: there are %d",
			labelPrepull, isTrueLabel, len(found))
	}
	images := []string{}
	for _, container := range mapsAt(found[0].Object, "spec", "template", "spec", "initContainers") {
		images = append(images, textAt(container, "image"))
	}
	return images, nil
}
