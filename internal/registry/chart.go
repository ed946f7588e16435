package registry

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"
)

// The media types of a chart, as Helm names them (https://helm.sh/docs/topics/registries/#helm-chart-manifest).
const (
	configType  types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	contentType types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// chart is a packed chart.
type chart struct {
	name, version   string
	config, content blob
	manifest        []byte
}

// blob is what a registry keeps by its digest.
type blob struct {
	v1.Descriptor
	bytes []byte
}

func newBlob(kind types.MediaType, content []byte) blob {
	sum := sha256.Sum256(content)
	digest := v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])}
	return blob{v1.Descriptor{MediaType: kind, Size: int64(len(content)), Digest: digest}, content}
}

// pack reads a chart's folder. The config of a chart is its Chart.yaml as JSON.
func pack(folder string) (*chart, error) {
	source, err := os.ReadFile(filepath.Join(folder, "Chart.yaml"))
	if err != nil {
		return nil, err
	}
	config, err := yaml.YAMLToJSON(source)
	if err != nil {
		return nil, fmt.Errorf("Chart.yaml: %w", err)
	}
	var metadata struct{ Name, Version string }
	if err := json.Unmarshal(config, &metadata); err != nil {
		return nil, fmt.Errorf("Chart.yaml: %w", err)
	}
	if want := metadata.Name + "-" + metadata.Version; filepath.Base(folder) != want || metadata.Name == "" || metadata.Version == "" {
		return nil, fmt.Errorf("by its Chart.yaml, the folder's name should be %q", want)
	}
	content, err := archive(folder, metadata.Name)
	if err != nil {
		return nil, err
	}
	packed := &chart{
		name: metadata.Name, version: metadata.Version,
		config: newBlob(configType, config), content: newBlob(contentType, content),
	}
	packed.manifest, err = json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1,
		Config: packed.config.Descriptor, Layers: []v1.Descriptor{packed.content.Descriptor},
		Annotations: map[string]string{
			"org.opencontainers.image.title": metadata.Name, "org.opencontainers.image.version": metadata.Version,
		},
	})
	return packed, err
}

// archive packs a folder below a name, in the order of the paths. Times and owners are left out, so that the same files
// make the same bytes.
func archive(folder, name string) ([]byte, error) {
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	files := tar.NewWriter(compressed)
	root := os.DirFS(folder)
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name + "/" + path, Mode: 0o644, Size: int64(len(content))}
		if err := files.WriteHeader(header); err != nil {
			return err
		}
		_, err = files.Write(content)
		return err
	})
	if err := errors.Join(err, files.Close(), compressed.Close()); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
