package mcptools

import (
	"context"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/compose"
)

const listNodePoolsDescription = `The node pools of one cluster, GPU pool releases without a MachinePool included: Kubernetes versions of nodes and control plane, replicas, instance types, for a GPU pool accelerator and priced sizes, the release behind it.
phase is creating, ready (readyReplicas may be 0), scaling, removing (pending lists what is still there) or failed. steps (release, machinePool, nodes, prewarm) are each pending, inProgress, done or failed; the nodes step names terminating and idle nodes, and for a node that could not be launched what was refused where, Karpenter's own words, and the way around it.
backend is the cluster's registration with model-manager. What you may not read is absent, with a note.`

// listNodePoolsRequest are the arguments of list_node_pools.
type listNodePoolsRequest struct {
	Cluster   string `json:"cluster" jsonschema:"name of the cluster"`
	Namespace string `json:"namespace,omitempty" jsonschema:"namespace of the cluster; needed only when several clusters have the name"`
}

func (t *Tools) listNodePools() (Tool, error) {
	return newTool(Tool{
		Name: "list_node_pools", Title: "Node pools of a cluster", Kind: Reading, Description: listNodePoolsDescription,
	}, nil, func(ctx context.Context, call Call, request listNodePoolsRequest) (clustermanager.NodePools, error) {
		if request.Cluster == "" {
			return clustermanager.NodePools{}, clustermanager.Refuse("cluster is missing: name the cluster whose pools you want")
		}
		reader, err := t.reader(call)
		if err != nil {
			return clustermanager.NodePools{}, err
		}
		read, err := reader.NodePools(ctx, request.Namespace, request.Cluster)
		if err != nil {
			return clustermanager.NodePools{}, err
		}
		return compose.NodePools(read), nil
	})
}
