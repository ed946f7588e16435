package mcptools

import (
	"context"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/compose"
)

// ListReleasesRequest are the arguments of list_releases.
type ListReleasesRequest struct {
	Provider string `json:"provider,omitempty" jsonschema:"provider line, such as aws; none: all"`
}

func (t *Tools) listReleases() (Tool, error) {
	return newTool(Tool{
		Name: "list_releases", Title: "List releases", Kind: Reading,
		Description: `The installation's releases, newest first in each provider line: state, Kubernetes version, the cluster chart that each pins, and its release chart with published, whether the registry lists that version (left null with a note when the registry cannot be read).
offered says whether create_cluster takes the release: active, published, of a line in providers; note why not.`,
	}, nil, t.handleListReleases)
}

func (t *Tools) handleListReleases(ctx context.Context, call Call, request ListReleasesRequest) (clustermanager.ReleaseList, error) {
	reader, err := t.reader(call)
	if err != nil {
		return clustermanager.ReleaseList{}, err
	}
	survey, err := reader.Releases(ctx)
	if err != nil {
		return clustermanager.ReleaseList{}, err
	}
	return compose.Releases(survey, request.Provider), nil
}
