package mcptools

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/survey"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// ListClustersRequest are the arguments of list_clusters.
type ListClustersRequest struct {
	Limit  int    `json:"limit,omitempty" jsonschema:"how many clusters one answer has; none: all"`
	Cursor string `json:"cursor,omitempty" jsonschema:"nextCursor of the answer before"`
}

const listClustersDescription = `The clusters of the installation with what runs on each: organization, release version, whether it is the installation's own (ownCluster), the zones that a pool may be pinned to, GPU operator and model serving, GPU pool releases, the repository that owns it (commitTarget), and its admins where create_cluster made it.
gpuOperator and serving have a status (present, absent, unknown with its reason), a provider (chart: the platform's; cluster-manager: composed here; manual: somebody else's), the evidence, and readiness part by part, down to certificate, webhook and the model cache's claims.
A part that is left out is not there, unless a reason or a note beside it says why it could not be read. limit and cursor page through a large installation.`

func (t *Tools) listClusters() (Tool, error) {
	return newTool(Tool{
		Name: "list_clusters", Title: "List clusters", Kind: Reading, Description: listClustersDescription,
	}, map[string]func(*jsonschema.Schema){
		"limit": func(schema *jsonschema.Schema) { schema.Minimum = jsonschema.Ptr(1.0) },
	}, t.handleListClusters)
}

func (t *Tools) handleListClusters(ctx context.Context, call Call, request ListClustersRequest) (ClusterList, error) {
	page := survey.Page{Limit: request.Limit}
	if request.Cursor != "" {
		after, err := readCursor(request.Cursor)
		if err != nil {
			return ClusterList{}, err
		}
		page.After = &after
	}
	reader, err := t.reader(call)
	if err != nil {
		return ClusterList{}, err
	}
	fleet, err := reader.Clusters(ctx, page)
	if err != nil {
		return ClusterList{}, err
	}
	return clusterList(fleet, catalog.PriceClaim), nil
}

// cursorAt makes the cursor of the page that follows a cluster.
func cursorAt(cluster clustermanager.Cluster) string {
	return base64.RawURLEncoding.EncodeToString([]byte(cluster.Namespace + "/" + cluster.Name))
}

// readCursor is the cluster that a cursor follows.
func readCursor(cursor string) (clustermanager.NamespacedName, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	namespace, name, is := strings.Cut(string(text), "/")
	if err != nil || !is || namespace == "" || name == "" {
		return clustermanager.NamespacedName{}, &clustermanager.InvalidArguments{
			Message: "list_clusters: argument cursor is " + short(cursor) + ", which no answer gave: leave it out for the first page",
		}
	}
	return clustermanager.NamespacedName{Namespace: namespace, Name: name}, nil
}
