package mcptools

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/forge"
)

// getChangeRequest are the arguments of get_change.
type getChangeRequest struct {
	Repository string `json:"repository" jsonschema:"owner/name"`
	Number     int    `json:"number" jsonschema:"its number"`
}

const getChangeDescription = `One pull request that mode commit opened: its checks while open, when it was merged, the revision at which Flux has applied the merge, the pool's phase, and the live steps left. Call it after the merge until applied is there.`

func (t *Tools) getChange() (Tool, error) {
	return newTool(Tool{
		Name: "get_change", Title: "One pull request", Kind: Reading, Description: getChangeDescription,
	}, map[string]func(*jsonschema.Schema){
		"number": func(schema *jsonschema.Schema) { schema.Minimum = jsonschema.Ptr(1.0) },
	}, t.handleGetChange)
}

func (t *Tools) handleGetChange(ctx context.Context, call Call, request getChangeRequest) (ProposedChange, error) {
	changes, end, err := t.readChanges(ctx, call)
	if err != nil {
		return ProposedChange{}, err
	}
	defer end()
	repository, err := changes.named(request.Repository)
	if err != nil {
		return ProposedChange{}, err
	}
	client, err := changes.client(repository)
	if err != nil {
		return ProposedChange{}, err
	}
	pull, err := client.Change(changes.context, request.Number)
	if forge.IsNotFound(err) {
		return ProposedChange{}, &clustermanager.NotFound{
			What: "pull request " + changeName(repository.FullName(), request.Number), Suffix: "list_changes shows those of this server; else the GitHub App is not installed there",
		}
	}
	if err != nil {
		return ProposedChange{}, err
	}
	found := foundChange{repository: repository, client: client, pull: pull}
	ours, err := found.readSubject(changes.context, t.options.Settings.Installation)
	switch {
	case err != nil:
		return ProposedChange{}, err
	case !ours:
		return ProposedChange{}, clustermanager.Refuse("%s: no commit of it carries the trailer of this installation, so it is none of this server's changes: list_changes shows those", changeName(repository.FullName(), request.Number))
	}
	return changes.complete([]foundChange{found}, "")[0], nil
}
