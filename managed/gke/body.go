package gke

import (
	"slices"
	"strings"

	container "google.golang.org/api/container/v1"

	"github.com/clustermanager/cluster-manager/managed"
)

// createBody is a new cluster: what the record wants, with the pool of the id inside, or a throwaway one for a standard
// cluster whose pools are all empty.
func createBody(account managed.Account, row *managed.Cluster, pool string) *container.CreateClusterRequest {
	of := &container.Cluster{
		Name: managed.ProviderName(row.ID), InitialClusterVersion: row.Pin, ReleaseChannel: channelOf(row.Channel),
		Network: row.Network, Subnetwork: row.Subnetwork, Locations: row.Zones,
		IpAllocationPolicy: &container.IPAllocationPolicy{UseIpAliases: true},
		ResourceLabels:     map[string]string{managed.LabelCluster: row.ID},
	}
	if row.PrivateNodes {
		of.NetworkConfig = &container.NetworkConfig{DefaultEnablePrivateNodes: true}
	}
	switch restricted := len(row.AuthorizedNetworks) > 0; {
	case restricted:
		of.ControlPlaneEndpointsConfig = endpointsOf(account, row.AuthorizedNetworks)
	case account.DNSEndpoint:
		of.ControlPlaneEndpointsConfig = &container.ControlPlaneEndpointsConfig{DnsEndpointConfig: dnsEndpoint()}
	}
	if row.Mode == managed.ModeAutopilot {
		of.Autopilot = &container.Autopilot{Enabled: true}
	} else {
		of.NodePools = []*container.NodePool{firstPool(row, pool)}
	}
	return &container.CreateClusterRequest{Cluster: of}
}

func channelOf(channel managed.Channel) *container.ReleaseChannel {
	return &container.ReleaseChannel{Channel: strings.ToUpper(string(channel))}
}

// endpointsOf are the authorized networks, and beside them the DNS endpoint where the account has it: the block goes out
// whole each time. Without networks the restriction is switched off by name.
func endpointsOf(account managed.Account, networks []string) *container.ControlPlaneEndpointsConfig {
	of := &container.ControlPlaneEndpointsConfig{}
	if account.DNSEndpoint {
		of.DnsEndpointConfig = dnsEndpoint()
	}
	authorized := &container.MasterAuthorizedNetworksConfig{Enabled: len(networks) > 0, ForceSendFields: []string{"Enabled"}}
	for _, text := range networks {
		authorized.CidrBlocks = append(authorized.CidrBlocks, &container.CidrBlock{CidrBlock: text})
	}
	of.IpEndpointsConfig = &container.IPEndpointsConfig{AuthorizedNetworksConfig: authorized}
	return of
}

// dnsEndpoint lets in who has the account's own right, from any address. Kubernetes' tokens stay out.
func dnsEndpoint() *container.DNSEndpointConfig {
	return &container.DNSEndpointConfig{AllowExternalTraffic: true}
}

// firstPool is the pool that goes out with its cluster.
func firstPool(row *managed.Cluster, id string) *container.NodePool {
	if pool, found := poolOf(row, id); found {
		return poolBody(row, pool)
	}
	names := []string{}
	for i := range row.NodePools {
		names = append(names, row.NodePools[i].Name)
	}
	return &container.NodePool{
		Name: managed.ThrowawayPoolName(names), InitialNodeCount: 1, Management: management(),
		Config: &container.NodeConfig{ResourceLabels: map[string]string{managed.LabelCluster: row.ID}},
	}
}

func poolOf(row *managed.Cluster, id string) (*managed.NodePool, bool) {
	at := slices.IndexFunc(row.NodePools, func(pool managed.NodePool) bool { return pool.ID == id })
	if at < 0 {
		return nil, false
	}
	return &row.NodePools[at], true
}

// poolBody is a node pool. Its counts are per zone, as the provider's are.
func poolBody(row *managed.Cluster, pool *managed.NodePool) *container.NodePool {
	of := &container.NodePool{
		Name: pool.Name, InitialNodeCount: int64(pool.NodeCount), Locations: pool.Zones, Management: management(),
		Config: &container.NodeConfig{
			MachineType: pool.MachineType, DiskSizeGb: int64(pool.DiskGiB), DiskType: pool.DiskType, Spot: pool.Spot, Labels: pool.Labels,
			ResourceLabels: map[string]string{managed.LabelCluster: row.ID, managed.LabelNodePool: pool.ID},
		},
		ForceSendFields: []string{"InitialNodeCount"},
	}
	if bounds := pool.Autoscaling; bounds != nil {
		of.Autoscaling = &container.NodePoolAutoscaling{
			Enabled: true, MinNodeCount: int64(bounds.MinNodes), MaxNodeCount: int64(bounds.MaxNodes), ForceSendFields: []string{"MinNodeCount"},
		}
	}
	if gpus := pool.Accelerators; gpus != nil {
		of.Config.Accelerators = []*container.AcceleratorConfig{{AcceleratorType: gpus.Type, AcceleratorCount: int64(gpus.Count)}}
	}
	for _, taint := range pool.Taints {
		of.Config.Taints = append(of.Config.Taints, &container.NodeTaint{Key: taint.Key, Value: taint.Value, Effect: effects[taint.Effect]})
	}
	return of
}

// effects are the provider's words for a taint's effect.
var effects = map[string]string{
	"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE",
}

func management() *container.NodeManagement {
	return &container.NodeManagement{AutoRepair: true, AutoUpgrade: true}
}

// updateBody is one field of a cluster.
func updateBody(account managed.Account, row *managed.Cluster, change managed.Change) *container.UpdateClusterRequest {
	of := &container.ClusterUpdate{}
	switch change {
	case managed.ChangeNetworks:
		of.DesiredControlPlaneEndpointsConfig = endpointsOf(account, row.AuthorizedNetworks)
	case managed.ChangeChannel:
		of.DesiredReleaseChannel = channelOf(row.Channel)
	case managed.ChangeVersion:
		of.DesiredMasterVersion = row.Pin
	}
	return &container.UpdateClusterRequest{Update: of}
}
