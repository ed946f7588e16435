package gke

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"

	container "google.golang.org/api/container/v1"

	"github.com/clustermanager/cluster-manager/managed"
)

// shown is a cluster as the domain sees it. An Autopilot cluster's node pools are the provider's own and not shown.
func shown(of *container.Cluster) *managed.ProviderCluster {
	created, _ := time.Parse(time.RFC3339, of.CreateTime)
	cluster := &managed.ProviderCluster{
		Label: of.ResourceLabels[managed.LabelCluster], Status: managed.ProviderStatus(of.Status),
		Message: said(of.Conditions, of.StatusMessage), CreatedAt: created.UTC(),
		Version: of.CurrentMasterVersion, NodeVersion: of.CurrentNodeVersion, Endpoint: of.Endpoint,
		AuthorizedNetworks: networksOf(of),
	}
	if of.ReleaseChannel != nil {
		cluster.Channel = managed.Channel(strings.ToLower(of.ReleaseChannel.Channel))
	}
	if of.MasterAuth != nil {
		authority, _ := base64.StdEncoding.DecodeString(of.MasterAuth.ClusterCaCertificate)
		cluster.Authority = string(authority)
	}
	if of.Autopilot != nil && of.Autopilot.Enabled {
		return cluster
	}
	for _, pool := range of.NodePools {
		cluster.NodePools = append(cluster.NodePools, shownPool(pool))
	}
	return cluster
}

func shownPool(of *container.NodePool) managed.ProviderPool {
	pool := managed.ProviderPool{
		Name: of.Name, Status: managed.ProviderStatus(of.Status), Message: said(of.Conditions, of.StatusMessage), Version: of.Version,
	}
	if of.Config != nil {
		pool.ClusterLabel = of.Config.ResourceLabels[managed.LabelCluster]
		pool.PoolLabel = of.Config.ResourceLabels[managed.LabelNodePool]
	}
	return pool
}

// said is what conditions say, else the older message.
func said(conditions []*container.StatusCondition, older string) string {
	var words []string
	for _, of := range conditions {
		if of.Message != "" && !slices.Contains(words, of.Message) {
			words = append(words, of.Message)
		}
	}
	if len(words) == 0 {
		return shorten(older)
	}
	return shorten(strings.Join(words, "; "))
}

// networksOf are the authorized networks in force. The API shows them in the newer block, and a cluster made long ago, or
// by another hand, perhaps in the older one alone.
func networksOf(of *container.Cluster) []string {
	networks := of.MasterAuthorizedNetworksConfig
	if endpoints := of.ControlPlaneEndpointsConfig; endpoints != nil && endpoints.IpEndpointsConfig != nil &&
		endpoints.IpEndpointsConfig.AuthorizedNetworksConfig != nil {
		networks = endpoints.IpEndpointsConfig.AuthorizedNetworksConfig
	}
	if networks == nil || !networks.Enabled {
		return nil
	}
	var ranges []string
	for _, block := range networks.CidrBlocks {
		ranges = append(ranges, block.CidrBlock)
	}
	return ranges
}

// progress is an operation as the domain sees it.
func progress(of *container.Operation) *managed.OperationStatus {
	status := &managed.OperationStatus{Name: of.Name, Running: of.Status != "DONE"}
	switch {
	case status.Running:
	case of.Error != nil:
		status.Failure = shorten(of.Error.Message)
		if status.Failure == "" {
			status.Failure = said(slices.Concat(of.ClusterConditions, of.NodepoolConditions), of.StatusMessage)
		}
		if status.Failure == "" {
			status.Failure = "the provider's operation failed without a reason"
		}
	default:
		status.Failure = shorten(of.StatusMessage)
	}
	return status
}
