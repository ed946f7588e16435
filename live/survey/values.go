package survey

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	installationValues = "cluster-app-installation-values"
)

// Priorities of an App's layers; an entry of extraConfigs may have its own.
const (
	priorityExtra      = 25
	priorityConfig     = 50
	priorityUserConfig = 100
)

// layer is a ConfigMap that holds values.
type layer struct {
	namespace, name string
	// key is the key that holds the values; "": the only one.
	key string
	// optional lets the ConfigMap or the key be absent.
	optional bool
	priority int64
}

// values are the cluster's effective values: the installation's in the cluster's namespace, below the cluster's own.
func (r *Reader) values(ctx context.Context, cluster clustermanager.Cluster) (clustermanager.EffectiveValues, error) {
	var own clustermanager.EffectiveValues
	var below map[string]any
	var reads errgroup.Group
	reads.Go(func() (err error) {
		own, err = r.ownValues(ctx, cluster)
		return err
	})
	reads.Go(func() (err error) {
		below, err = r.readLayer(ctx, layer{
			namespace: cluster.Namespace, name: installationValues, key: clustermanager.ValuesKey, optional: true,
		})
		return err
	})
	if err := reads.Wait(); err != nil {
		return clustermanager.EffectiveValues{}, err
	}
	own.Values = clustermanager.NewValues(runtime.DeepCopyJSON(merge(below, own.Values.Reveal())))
	return own, nil
}

// ownValues are those of the HelmRelease of the cluster's name, else of the App of that name.
func (r *Reader) ownValues(ctx context.Context, cluster clustermanager.Cluster) (clustermanager.EffectiveValues, error) {
	object, err := r.get(ctx, helmReleaseNoun, cluster.Namespace, cluster.Name)
	if err == nil {
		return r.helmReleaseValues(ctx, object)
	}
	if !apierrors.IsNotFound(err) {
		return clustermanager.EffectiveValues{}, err
	}
	object, err = r.get(ctx, appNoun, cluster.Namespace, cluster.Name)
	if apierrors.IsNotFound(err) {
		return clustermanager.EffectiveValues{}, fmt.Errorf(
			"Cluster %s/%s: reading its values: neither a HelmRelease nor an App of its name exists", cluster.Namespace, cluster.Name)
	}
	if err != nil {
		return clustermanager.EffectiveValues{}, err
	}
	return r.appValues(ctx, object)
}

// helmReleaseValues merges the ConfigMaps of valuesFrom in their order, and the inline values on top. Secrets are left
// out.
func (r *Reader) helmReleaseValues(ctx context.Context, object *unstructured.Unstructured) (clustermanager.EffectiveValues, error) {
	found := clustermanager.EffectiveValues{Owner: clustermanager.ReferenceTo(object).String()}
	var layers []layer
	for _, from := range mapsAt(object.Object, "spec", "valuesFrom") {
		if textAt(from, "kind") != configMapNoun.kind {
			continue
		}
		if path := textAt(from, "targetPath"); path != "" {
			return found, fmt.Errorf("%s: reading its values: spec.valuesFrom names the targetPath %s, which is not read here", found.Owner, path)
		}
		key := textAt(from, "valuesKey")
		if key == "" {
			key = clustermanager.ValuesKey
		}
		layers = append(layers, layer{
			namespace: object.GetNamespace(), name: textAt(from, "name"), key: key, optional: isTrueAt(from, "optional"),
		})
	}
	merged, err := r.readLayers(ctx, layers)
	if err != nil {
		return found, fmt.Errorf("%s: %w", found.Owner, err)
	}
	found.Values = clustermanager.NewValues(merge(merged, mapAt(object.Object, "spec", "values")))
	return found, nil
}

// appValues merges an App's ConfigMaps, the ones of lower priority first. Secrets are left out.
func (r *Reader) appValues(ctx context.Context, object *unstructured.Unstructured) (clustermanager.EffectiveValues, error) {
	reference := clustermanager.ReferenceTo(object).String()
	layers, secrets := appLayers(object)
	owner := ownerOfApp(object, layers)
	found := clustermanager.EffectiveValues{Owner: fmt.Sprintf("ConfigMap %s, which %s names", owner, reference)}
	switch {
	case len(layers) == 0 && secrets:
		return found, fmt.Errorf("%s: reading its values: they come from Secrets alone, which are not read", reference)
	case len(layers) == 0:
		return found, fmt.Errorf("%s: reading its values: it names no configuration", reference)
	}
	slices.SortStableFunc(layers, func(a, b layer) int { return int(a.priority - b.priority) })
	merged, err := r.readLayers(ctx, layers)
	if err != nil {
		return found, fmt.Errorf("%s: %w", reference, err)
	}
	found.Values = clustermanager.NewValues(merged)
	return found, nil
}

// appLayers are the App's ConfigMaps, extraConfigs first, and whether it names Secrets besides.
func appLayers(object *unstructured.Unstructured) (layers []layer, secrets bool) {
	add := func(fields map[string]any, priority int64) {
		name := textAt(fields, "name")
		if name == "" {
			return
		}
		in := textAt(fields, "namespace")
		if in == "" {
			in = object.GetNamespace()
		}
		layers = append(layers, layer{namespace: in, name: name, priority: priority})
	}
	for _, extra := range mapsAt(object.Object, "spec", "extraConfigs") {
		if textAt(extra, "kind") == "secret" {
			secrets = true
			continue
		}
		priority, _, _ := unstructured.NestedInt64(extra, "priority")
		if priority == 0 {
			priority = priorityExtra
		}
		add(extra, priority)
	}
	add(mapAt(object.Object, "spec", "config", "configMap"), priorityConfig)
	add(mapAt(object.Object, "spec", "userConfig", "configMap"), priorityUserConfig)
	secrets = secrets || textAt(object.Object, "spec", "config", "secret", "name") != "" ||
		textAt(object.Object, "spec", "userConfig", "secret", "name") != ""
	return layers, secrets
}

// ownerOfApp is the ConfigMap where a person adds values: the user's, else the configuration's, else the one that the
// user's would be called.
func ownerOfApp(object *unstructured.Unstructured, layers []layer) clustermanager.NamespacedName {
	owner := clustermanager.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName() + "-userconfig"}
	for _, layer := range layers {
		if layer.priority == priorityConfig || layer.priority == priorityUserConfig {
			owner = clustermanager.NamespacedName{Namespace: layer.namespace, Name: layer.name}
		}
	}
	return owner
}

// readLayers reads the layers at the same time and merges them in their order.
func (r *Reader) readLayers(ctx context.Context, layers []layer) (map[string]any, error) {
	read := make([]map[string]any, len(layers))
	var reads errgroup.Group
	for index, layer := range layers {
		reads.Go(func() (err error) {
			read[index], err = r.readLayer(ctx, layer)
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	merged := map[string]any{}
	for _, values := range read {
		merged = merge(merged, values)
	}
	return merged, nil
}

// readLayer reads the values of a ConfigMap. Its errors hold nothing of the text, which may be secret.
func (r *Reader) readLayer(ctx context.Context, from layer) (map[string]any, error) {
	object, err := r.get(ctx, configMapNoun, from.namespace, from.name)
	if apierrors.IsNotFound(err) && from.optional {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return from.valuesIn(object)
}

// valuesIn are the values that a ConfigMap holds.
func (l layer) valuesIn(object *unstructured.Unstructured) (map[string]any, error) {
	text, err := l.textIn(mapAt(object.Object, "data"))
	if err != nil {
		return nil, fmt.Errorf("%s: reading values: %w", clustermanager.ReferenceTo(object), err)
	}
	values, err := parseValues(text)
	if err != nil {
		return nil, fmt.Errorf("%s: reading values: %w", clustermanager.ReferenceTo(object), err)
	}
	return values, nil
}

func (l layer) textIn(data map[string]any) (string, error) {
	if l.key != "" {
		if _, there := data[l.key]; !there && !l.optional {
			return "", fmt.Errorf("it has no key %s", l.key)
		}
		return textOf(data, l.key)
	}
	if len(data) > 1 {
		return "", fmt.Errorf("it has several keys (%v), and an App reads one", slices.Sorted(maps.Keys(data)))
	}
	for key := range data {
		return textOf(data, key)
	}
	return "", nil
}

// textOf is the text of a key; none: "".
func textOf(data map[string]any, key string) (string, error) {
	text, is := data[key].(string)
	if !is && data[key] != nil {
		return "", fmt.Errorf("key %s holds no text", key)
	}
	return text, nil
}

// parseValues reads YAML text as values; empty text has none.
func parseValues(text string) (map[string]any, error) {
	converted, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, errors.New("the text is no YAML")
	}
	var values map[string]any
	if err := utiljson.Unmarshal(converted, &values); err != nil {
		return nil, errors.New("the text is no mapping")
	}
	return values, nil
}

// merge lays values above others: mappings are merged key by key, anything else is replaced. Neither is changed.
func merge(below, above map[string]any) map[string]any {
	merged := maps.Clone(below)
	if merged == nil {
		merged = map[string]any{}
	}
	for key, value := range above {
		lower, hasLower := merged[key].(map[string]any)
		upper, hasUpper := value.(map[string]any)
		if hasLower && hasUpper {
			value = merge(lower, upper)
		}
		merged[key] = value
	}
	return merged
}
