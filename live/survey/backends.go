package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// backendKey and presetKey are the keys of a ConfigMap that hold a document.
const (
	backendKey = "backend.yaml"
	presetKey  = "preset.yaml"
)

// backends are the backend documents that stand for a cluster, of every cluster. One that cannot be read makes them
// unknown to the cluster that its label names, and is left out for the others.
func (r *Reader) backends(ctx context.Context, cluster clustermanager.Cluster) ([]clustermanager.Backend, error) {
	documents, err := r.list(ctx, configMapNoun, r.options.Settings.ModelManagerNamespace, metav1.ListOptions{
		LabelSelector: labels.SelectorFromSet(labels.Set{clustermanager.LabelModelBackend: isTrueLabel}).String() + "," + clustermanager.LabelCluster,
	})
	if err != nil {
		return nil, err
	}
	found := []clustermanager.Backend{}
	for index := range documents {
		backend, err := backendOf(&documents[index])
		if err != nil && documents[index].GetLabels()[clustermanager.LabelCluster] != cluster.Name {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: reading its backend: %w", clustermanager.ReferenceTo(&documents[index]), err)
		}
		found = append(found, backend)
	}
	slices.SortFunc(found, func(a, b clustermanager.Backend) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ConfigMap.Name, b.ConfigMap.Name))
	})
	return found, nil
}

func backendOf(object *unstructured.Unstructured) (clustermanager.Backend, error) {
	var document map[string]any
	if err := yaml.Unmarshal([]byte(textAt(mapAt(object.Object, "data"), backendKey)), &document); err != nil || document == nil {
		return clustermanager.Backend{}, errors.New("key " + backendKey + " holds no YAML mapping")
	}
	found := clustermanager.Backend{
		ConfigMap: nameOf(object), Name: textAt(document, "metadata", "name"),
		Cluster: object.GetLabels()[clustermanager.LabelCluster], Owned: owned(object),
		Organization: textAt(document, "spec", "kserve", "target", "organization"),
		Document:     textAt(mapAt(object.Object, "data"), backendKey),
	}
	if found.Name == "" {
		return clustermanager.Backend{}, errors.New("it has no metadata.name")
	}
	return found, nil
}

// presets are the serving presets that the cluster publishes.
func (r *Reader) presets(ctx context.Context, cluster clustermanager.Cluster) ([]clustermanager.Preset, error) {
	documents, err := r.listTarget(ctx, cluster, configMapNoun, "", labels.Set{labelPreset: isTrueLabel})
	if err != nil {
		return nil, err
	}
	found := []clustermanager.Preset{}
	for index := range documents {
		preset, err := clustermanager.ParsePreset([]byte(textAt(mapAt(documents[index].Object, "data"), presetKey)))
		if err != nil {
			return nil, fmt.Errorf("%s: reading its preset: %w", clustermanager.ReferenceTo(&documents[index]), err)
		}
		found = append(found, preset)
	}
	slices.SortStableFunc(found, func(a, b clustermanager.Preset) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

// listTarget lists on the cluster's own API server.
func (r *Reader) listTarget(ctx context.Context, cluster clustermanager.Cluster, of noun, namespace string, selector labels.Set) ([]unstructured.Unstructured, error) {
	target, err := r.target(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return target.list(ctx, of, namespace, metav1.ListOptions{LabelSelector: selector.String()})
}
