package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"

	"github.com/clustermanager/cluster-manager/internal/charts"
)

// What every image of a release is; the Dockerfile gives the same.
const (
	entrypoint = "/ko-app/cluster-manager"
	user       = "65532:65532"
	chartName  = "cluster-manager"
)

var platforms = []string{"linux/amd64", "linux/arm64"}

// check reads what was published as anybody would, without a login, and says what is not as it has to be.
func check(ctx context.Context, asked options, out io.Writer) error {
	if asked.version == "" || asked.names.image == "" || asked.names.charts == "" {
		return errors.New("check: it needs -version, -image and -chart-repository")
	}
	registry := charts.New(charts.Options{Timeout: time.Minute})
	digest, err := checkImage(ctx, registry, asked.names.image, asked.version)
	if err != nil {
		return fmt.Errorf("image %s:%s: %w", asked.names.image, asked.version, err)
	}
	if err := checkChart(ctx, registry, asked.names, asked.version); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "image %s:%s is %s, for %s, entrypoint %s, user %s\nchart %s/%s %s has that version, that appVersion and that image\n",
		asked.names.image, asked.version, digest, strings.Join(platforms, " and "), entrypoint, user, asked.names.charts, chartName, asked.version)
	return err
}

// checkImage returns the digest of the image's index.
func checkImage(ctx context.Context, registry *charts.Registry, image, version string) (v1.Hash, error) {
	repository := repository{registry: registry, address: image}
	var index v1.IndexManifest
	digest, err := repository.read(ctx, "manifests/"+version, types.OCIImageIndex, &index)
	if err != nil {
		return v1.Hash{}, err
	}
	var found []string
	for _, one := range index.Manifests {
		var manifest v1.Manifest
		if _, err := repository.read(ctx, "manifests/"+one.Digest.String(), one.MediaType, &manifest); err != nil {
			return v1.Hash{}, err
		}
		var config v1.ConfigFile
		if _, err := repository.read(ctx, "blobs/"+manifest.Config.Digest.String(), "", &config); err != nil {
			return v1.Hash{}, err
		}
		platform := config.OS + "/" + config.Architecture
		if err := checkConfig(config, version); err != nil {
			return v1.Hash{}, fmt.Errorf("for %s: %w", platform, err)
		}
		found = append(found, platform)
	}
	if slices.Sort(found); !slices.Equal(found, platforms) {
		return v1.Hash{}, fmt.Errorf("it is for %q, not for %q", found, platforms)
	}
	// Where ko, as cosign, puts the SBOM of a digest.
	_, err = repository.read(ctx, "manifests/"+strings.ReplaceAll(digest.String(), ":", "-")+".sbom", types.OCIManifestSchema1, &v1.Manifest{})
	return digest, err
}

// repository is a repository of a registry.
type repository struct {
	registry *charts.Registry
	address  string
}

// read reads a document of JSON, and returns the digest of what was read.
func (r repository) read(ctx context.Context, path string, accept types.MediaType, into any) (v1.Hash, error) {
	body, err := r.registry.Document(ctx, r.address, path, string(accept))
	if err != nil {
		return v1.Hash{}, err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return v1.Hash{}, fmt.Errorf("%s: %w", path, err)
	}
	digest, _, err := v1.SHA256(bytes.NewReader(body))
	return digest, err
}

func checkConfig(config v1.ConfigFile, version string) error {
	const versionLabel = "org.opencontainers.image.version"
	switch got := config.Config; {
	case !slices.Equal(got.Entrypoint, []string{entrypoint}) || len(got.Cmd) > 0:
		return fmt.Errorf("it runs %q %q, not %s alone", got.Entrypoint, got.Cmd, entrypoint)
	case got.User != user:
		return fmt.Errorf("its user is %q, not %s", got.User, user)
	case got.Labels[versionLabel] != version:
		return fmt.Errorf("its label %s is %q", versionLabel, got.Labels[versionLabel])
	}
	return nil
}

// checkChart holds the chart against the image, which its values name.
func checkChart(ctx context.Context, registry *charts.Registry, published names, version string) error {
	url := published.charts + "/" + chartName
	chart, err := registry.Chart(ctx, url, version)
	if err != nil {
		return err
	}
	var metadata struct{ AppVersion string }
	if err := yaml.Unmarshal(chart.Files["Chart.yaml"], &metadata); err != nil {
		return fmt.Errorf("chart %s %s: its Chart.yaml: %w", url, version, err)
	}
	var values struct {
		Image struct{ Registry, Repository, Tag string }
	}
	if err := yaml.Unmarshal(chart.Files["values.yaml"], &values); err != nil {
		return fmt.Errorf("chart %s %s: its values.yaml: %w", url, version, err)
	}
	image := values.Image
	switch {
	case chart.Version != version || metadata.AppVersion != version:
		return fmt.Errorf("chart %s %s: its version is %q and its appVersion %q", url, version, chart.Version, metadata.AppVersion)
	case image.Registry+"/"+image.Repository != published.image || image.Tag != "":
		return fmt.Errorf("chart %s %s: its image is %s/%s:%s, not %s with the chart's appVersion", url, version, image.Registry, image.Repository, image.Tag, published.image)
	}
	return nil
}
