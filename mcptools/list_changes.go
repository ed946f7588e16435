package mcptools

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// mostChanges is how many changes an answer has at most, defaultChanges how many without a limit: each costs the host
// some requests.
const (
	mostChanges    = 50
	defaultChanges = 20
)

// everyState is the state of a request for changes of all states.
const everyState = "all"

// listChangesRequest are the arguments of list_changes.
type listChangesRequest struct {
	Cluster    string `json:"cluster,omitempty" jsonschema:"its changes alone"`
	Namespace  string `json:"namespace,omitempty" jsonschema:"of the cluster, where its name is not unique"`
	Repository string `json:"repository,omitempty" jsonschema:"owner/name; else the cluster's, or all"`
	State      string `json:"state,omitempty" jsonschema:"of the pull requests"`
	Limit      int    `json:"limit,omitempty" jsonschema:"at most 50; none: 20"`
	Cursor     string `json:"cursor,omitempty" jsonschema:"of the answer before"`
}

// ChangeList is the answer of list_changes.
type ChangeList struct {
	Changes []ProposedChange `json:"changes"`
	// Cursor is there while there may be more.
	Cursor string `json:"cursor,omitempty"`
	// Notes say what could not be read or was not looked at.
	Notes []string `json:"notes,omitempty"`
}

const listChangesDescription = `The pull requests that mode commit opened, as get_change tells of one; open ones by branch, others newest first. Notes say what could not be read.`

func (t *Tools) listChanges() (Tool, error) {
	return newTool(Tool{
		Name: "list_changes", Title: "Pull requests of changes", Kind: Reading, Description: listChangesDescription, shallow: true,
	}, map[string]func(*jsonschema.Schema){
		"state": all(withDefault(`"open"`), withEnum(string(clustermanager.PullRequestOpen), string(clustermanager.PullRequestMerged), string(clustermanager.PullRequestClosed), everyState)),
		"limit": func(schema *jsonschema.Schema) { schema.Minimum = jsonschema.Ptr(1.0) },
	}, t.handleListChanges)
}

func (t *Tools) handleListChanges(ctx context.Context, call Call, request listChangesRequest) (ChangeList, error) {
	changes, end, err := t.readChanges(ctx, call)
	if err != nil {
		return ChangeList{}, err
	}
	defer end()
	search, err := changes.search(request)
	if err != nil {
		return ChangeList{}, err
	}
	found, cursor, err := search.run(changes.context)
	if err != nil {
		return ChangeList{}, err
	}
	return ChangeList{Changes: changes.complete(found, request.Namespace), Cursor: cursor, Notes: changes.notes}, nil
}
