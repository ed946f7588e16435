package charts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"
)

// The files of a chart that its readers ask for.
const (
	metadataFile = "Chart.yaml"
	valuesFile   = "values.yaml"
	schemaFile   = "values.schema.json"
)

// contentType is the media type of a chart's archive (https://helm.sh/docs/topics/registries).
const contentType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// readingArchive is a step after which a 404 is no unpublished version: the manifest names what the registry lacks.
const readingArchive = "reading its archive"

// Chart is a chart at one version. It must not be changed: readers share it.
type Chart struct {
	// URL is the chart's OCI address without a tag, as it was asked for.
	URL string
	// Name and Version are those of Chart.yaml.
	Name, Version string
	// Digest is the manifest's, sha256:….
	Digest string
	// Files are the chart's files by their path in the chart's folder, those of its dependencies included
	// (charts/<dependency>/…).
	Files map[string][]byte

	size int64
}

// Values are the chart's own values.yaml, a new mapping each time; false: it has none.
func (c *Chart) Values() (map[string]any, bool, error) {
	source, there := c.Files[valuesFile]
	if !there {
		return nil, false, nil
	}
	values := map[string]any{}
	if err := yaml.Unmarshal(source, &values); err != nil {
		return nil, true, fmt.Errorf("chart %s %s: reading its %s: no mapping of YAML", c.URL, c.Version, valuesFile)
	}
	return values, true, nil
}

// Schema is the chart's values.schema.json; nil: it has none.
func (c *Chart) Schema() json.RawMessage { return c.Files[schemaFile] }

// fetch reads the chart that a manifest describes.
func (r *Registry) fetch(ctx context.Context, pull *pull, manifest *v1.Manifest, read *reading) (*Chart, error) {
	position := slices.IndexFunc(manifest.Layers, func(layer v1.Descriptor) bool { return layer.MediaType == contentType })
	if position < 0 {
		return nil, errors.New("it has no archive of a Helm chart")
	}
	read.step = readingArchive
	if size := manifest.Layers[position].Size; size > r.limits.Layer {
		return nil, fmt.Errorf("it has %d bytes, more than the %d that are read", size, r.limits.Layer)
	}
	archive, err := pull.blob(ctx, manifest.Layers[position].Digest)
	if err != nil {
		return nil, err
	}
	read.step = "unpacking its archive"
	return unpack(archive, r.limits)
}
