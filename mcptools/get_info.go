package mcptools

import (
	"context"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/session"
	"github.com/clustermanager/cluster-manager/live/survey"
)

// Info is the answer of get_info.
type Info struct {
	Version string `json:"version"`
	Modes   Modes  `json:"modes"`
	// Tools are the names of the tools of this server.
	Tools      []string                `json:"tools"`
	ClusterAPI clustermanager.APIState `json:"clusterApi"`
	// Notes say what this build leaves out, and what a caller should know of the server.
	Notes []string `json:"notes"`
}

// Modes says which doors a write may leave through.
type Modes struct {
	Apply       bool     `json:"apply"`
	Commit      bool     `json:"commit"`
	CommitTools []string `json:"commitTools"`
}

func (t *Tools) getInfo() (Tool, error) {
	return newTool(Tool{
		Name: "get_info", Title: "Server information", Kind: Reading,
		Description: "Version of the server, the modes and tools it offers, whether the installation serves the Cluster API, and what this build leaves out.",
	}, nil, func(ctx context.Context, call Call, _ struct{}) (Info, error) {
		info := Info{
			Version: t.options.Version,
			Modes:   t.modes(),
			Tools:   toolNames(t.list), Notes: append([]string{}, t.options.Notes...),
		}
		reader, err := t.reader(call)
		if err != nil {
			info.ClusterAPI = clustermanager.APIState{
				Group: clustermanager.ClusterAPI.Group, Version: clustermanager.ClusterAPI.Version, State: clustermanager.APIUnknown, Note: err.Error(),
			}
			return info, nil
		}
		info.ClusterAPI = reader.ClusterAPI(ctx)
		return info, nil
	})
}

// modes are the doors that this server opens: none where it only reads.
func (t *Tools) modes() Modes {
	modes := Modes{Apply: !t.options.ReadOnly, Commit: t.options.CommitOffered && !t.options.ReadOnly, CommitTools: []string{}}
	for _, tool := range t.list {
		if tool.Commits && modes.Commit {
			modes.CommitTools = append(modes.CommitTools, tool.Name)
		}
	}
	return modes
}

// reader makes the survey's reader for one call, as its caller.
func (t *Tools) reader(call Call) (*survey.Reader, error) {
	client, err := t.options.Sessions.Installation(call.Caller)
	if err != nil {
		return nil, err
	}
	return survey.New(surveyClient(client), survey.Options{
		Settings: t.options.Settings, Now: call.Now, Resolve: t.options.Resolve, Charts: t.options.Charts, Resolver: t.options.Resolver,
		Workload: func(cluster clustermanager.Cluster, endpoint clustermanager.Endpoint) (survey.Client, error) {
			client, err := t.options.Sessions.Workload(call.Caller, cluster, endpoint)
			if err != nil {
				return survey.Client{}, err
			}
			call.hear(client)
			return surveyClient(client), nil
		},
	}), nil
}

func surveyClient(client *session.Client) survey.Client {
	return survey.Client{Dynamic: client.Dynamic, Discovery: client.Discovery, Metadata: client.Metadata}
}
