package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"

	"github.com/Masterminds/semver/v3"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/opencontainers/go-digest"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

func sourceKey(release *helmv2.HelmRelease) types.NamespacedName {
	key := types.NamespacedName{Namespace: release.Namespace, Name: release.Spec.ChartRef.Name}
	if namespace := release.Spec.ChartRef.Namespace; namespace != "" {
		key.Namespace = namespace
	}
	return key
}

// source is the OCIRepository of a HelmRelease, or why it is not ready yet.
func (r *reconciler) source(ctx context.Context, release *helmv2.HelmRelease) (_ *sourcev1.OCIRepository, why string, _ error) {
	source, key := &sourcev1.OCIRepository{}, sourceKey(release)
	if err := r.Get(ctx, key, source); apierrors.IsNotFound(err) {
		return nil, fmt.Sprintf("could not get Source object: OCIRepository '%s' is not there", key), nil
	} else if err != nil {
		return nil, "", err
	}
	if source.Generation != source.Status.ObservedGeneration || source.Status.Artifact == nil ||
		!apimeta.IsStatusConditionTrue(source.Status.Conditions, meta.ReadyCondition) {
		return nil, fmt.Sprintf("OCIRepository '%s' is not ready", key), nil
	}
	return source, "", nil
}

// fetch reads the chart out of a source's artifact. The chart's version gains the beginning of the manifest's digest as
// build metadata, which tells two charts of one version apart.
func fetch(ctx context.Context, source *sourcev1.OCIRepository) (*chart.Chart, string, error) {
	artifact := source.Status.Artifact
	content, err := download(ctx, artifact.URL)
	if err != nil {
		return nil, "", err
	}
	if got := digest.FromBytes(content).String(); got != artifact.Digest {
		return nil, "", fmt.Errorf("%s: it is %s, not %s", artifact.URL, got, artifact.Digest)
	}
	loaded, err := loader.LoadArchive(bytes.NewReader(content))
	if err != nil {
		return nil, "", fmt.Errorf("loading the chart: %w", err)
	}
	_, manifest, found := strings.Cut(artifact.Revision, "@")
	if !found {
		return nil, "", fmt.Errorf("revision %s: it has no digest", artifact.Revision)
	}
	version, err := semver.NewVersion(loaded.Metadata.Version)
	if err != nil {
		return nil, "", fmt.Errorf("chart %s: version %q: %w", loaded.Name(), loaded.Metadata.Version, err)
	}
	_, hex, _ := strings.Cut(manifest, ":")
	told, err := version.SetMetadata(hex[:min(12, len(hex))])
	if err != nil {
		return nil, "", fmt.Errorf("revision %s: %w", artifact.Revision, err)
	}
	loaded.Metadata.Version = told.String()
	return loaded, manifest, nil
}

func download(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}

// values merges what valuesFrom names, in order, with the inline values on top. The digest is that of the result.
func (r *reconciler) values(ctx context.Context, release *helmv2.HelmRelease) (map[string]any, string, error) {
	values := map[string]any{}
	for _, from := range release.Spec.ValuesFrom {
		content, err := r.valuesOf(ctx, release.Namespace, from)
		if err != nil {
			return nil, "", err
		}
		layer := map[string]any{}
		if err := yaml.Unmarshal(content, &layer); err != nil {
			return nil, "", fmt.Errorf("unable to read values from key in %s '%s/%s'", from.Kind, release.Namespace, from.Name)
		}
		values = merge(values, layer)
	}
	values = merge(values, release.GetValues())
	content, err := json.Marshal(values)
	if err != nil {
		return nil, "", err
	}
	return values, digest.FromBytes(content).String(), nil
}

func (r *reconciler) valuesOf(ctx context.Context, namespace string, from helmv2.ValuesReference) ([]byte, error) {
	key, name := types.NamespacedName{Namespace: namespace, Name: from.Name}, from.ValuesKey
	if name == "" {
		name = "values.yaml"
	}
	var content []byte
	var found bool
	var err error
	switch from.Kind {
	case "ConfigMap":
		object := &corev1.ConfigMap{}
		err = r.reader.Get(ctx, key, object)
		text := ""
		text, found = object.Data[name]
		content = []byte(text)
	case "Secret":
		object := &corev1.Secret{}
		err = r.reader.Get(ctx, key, object)
		content, found = object.Data[name]
	}
	switch {
	case from.Optional && apierrors.IsNotFound(err):
		return nil, nil
	case client.IgnoreNotFound(err) != nil:
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("could not resolve %s chart values reference '%s' with key '%s': it is not there", from.Kind, key, name)
	case !found:
		return nil, fmt.Errorf("could not resolve %s chart values reference '%s' with key '%s': missing key", from.Kind, key, name)
	}
	return content, nil
}

// merge lays values on others: maps by key, anything else whole.
func merge(base, top map[string]any) map[string]any {
	merged := maps.Clone(base)
	for key, value := range top {
		upper, isMap := value.(map[string]any)
		lower, wasMap := merged[key].(map[string]any)
		if isMap && wasMap {
			value = merge(lower, upper)
		}
		merged[key] = value
	}
	return merged
}
