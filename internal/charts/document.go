package charts

import (
	"context"
	"fmt"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Document reads one document of the repository at an OCI address, with or without oci://, of a chart or of anything else:
// its path is manifests/<tag or digest> or blobs/<digest>, accept the media type that is wanted, if any.
func (r *Registry) Document(ctx context.Context, url, path, accept string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	pull, err := r.pull(url)
	if err != nil {
		return nil, err
	}
	body, _, err := pull.get(ctx, pull.page(path), accept)
	if err != nil {
		return nil, fmt.Errorf("%s: reading %s: %s", url, path, clustermanager.OneLine(err.Error(), maxCauseLength))
	}
	return body, nil
}
