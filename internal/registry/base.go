package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// PushEmptyImage adds an image of no files, for each of the platforms (linux/amd64), tagged latest, and returns its
// reference. It names no user and no entrypoint, so that a build on top that leaves one to its base is found out.
func (r *Registry) PushEmptyImage(ctx context.Context, name string, platforms ...string) (string, error) {
	repository := "http://" + r.address + "/v2/" + name
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	for _, platform := range platforms {
		pushed, err := pushEmpty(ctx, repository, platform)
		if err != nil {
			return "", fmt.Errorf("image %s for %s: pushing: %w", name, platform, err)
		}
		index.Manifests = append(index.Manifests, pushed)
	}
	content, err := json.Marshal(index)
	if err != nil {
		return "", err
	}
	if err := send(ctx, http.MethodPut, repository+"/manifests/latest", string(types.OCIImageIndex), content); err != nil {
		return "", fmt.Errorf("image %s: pushing: %w", name, err)
	}
	return r.address + "/" + name + ":latest", nil
}

func pushEmpty(ctx context.Context, repository, platform string) (v1.Descriptor, error) {
	parsed, err := v1.ParsePlatform(platform)
	if err != nil {
		return v1.Descriptor{}, err
	}
	source, err := json.Marshal(v1.ConfigFile{
		OS: parsed.OS, Architecture: parsed.Architecture, RootFS: v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{}},
	})
	if err != nil {
		return v1.Descriptor{}, err
	}
	config := newBlob(types.OCIConfigJSON, source)
	content, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: config.Descriptor, Layers: []v1.Descriptor{},
	})
	if err != nil {
		return v1.Descriptor{}, err
	}
	manifest := newBlob(types.OCIManifestSchema1, content)
	manifest.Platform = parsed
	err = send(ctx, http.MethodPost, repository+"/blobs/uploads/?digest="+config.Digest.String(), "application/octet-stream", config.bytes)
	if err != nil {
		return v1.Descriptor{}, err
	}
	return manifest.Descriptor, send(ctx, http.MethodPut, repository+"/manifests/"+manifest.Digest.String(), string(types.OCIManifestSchema1), content)
}
