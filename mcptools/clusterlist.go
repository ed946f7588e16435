package mcptools

import (
	"maps"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// ClusterList is the answer of list_clusters, sorted by namespace, then name.
type ClusterList struct {
	Clusters   []ListedCluster         `json:"clusters"`
	ClusterAPI clustermanager.APIState `json:"clusterApi"`
	// Note says what of the installation the caller may not read.
	Note string `json:"note,omitempty"`
	// NextCursor is there when more clusters follow.
	NextCursor string `json:"nextCursor,omitempty"`
}

// ListedCluster is one cluster. What could not be read is left out, with a note beside it.
type ListedCluster struct {
	Name         string `json:"name"`
	Namespace    string `json:"namespace"`
	Organization string `json:"organization"`
	// ReleaseVersion is "" for a cluster without one.
	ReleaseVersion string         `json:"releaseVersion"`
	OwnCluster     bool           `json:"ownCluster"`
	Deleting       bool           `json:"deleting,omitempty"`
	GPUOperator    ListedOperator `json:"gpuOperator"`
	Serving        ListedServing  `json:"serving"`

	PoolReleases     []clustermanager.PoolReleaseState `json:"poolReleases"`
	PoolReleasesNote string                            `json:"poolReleasesNote,omitempty"`
	Zones            []string                          `json:"zones"`
	ZonesNote        string                            `json:"zonesNote,omitempty"`
	// CommitTarget is left out when no Kustomization owns the cluster.
	CommitTarget *clustermanager.CommitTarget `json:"commitTarget,omitempty"`
	Admins       *clustermanager.Admins       `json:"admins,omitempty"`
	AdminsNote   string                       `json:"adminsNote,omitempty"`
}

// ListedOperator is the GPU operator of a cluster.
type ListedOperator struct {
	clustermanager.Component
	Readiness OperatorReadiness `json:"readiness"`
}

// OperatorReadiness is how far the operator runs. Release and ClusterPolicy are left out when there is none.
type OperatorReadiness struct {
	Release       *clustermanager.ReleaseState       `json:"release,omitempty"`
	ClusterPolicy *clustermanager.ClusterPolicyState `json:"clusterPolicy,omitempty"`
	Operands      []clustermanager.Operand           `json:"operands"`
	// OperandsError says why the operands could not be listed, OperandsMessage why there are none beside a ClusterPolicy.
	OperandsError   string `json:"operandsError,omitempty"`
	OperandsMessage string `json:"operandsMessage,omitempty"`
	// Notes name the parts that could not be read, with the reason.
	Notes []string `json:"notes,omitempty"`
}

// ListedServing is the model serving of a cluster.
type ListedServing struct {
	clustermanager.Component
	Readiness ServingReadiness `json:"readiness"`
}

// ServingReadiness is how far serving runs.
type ServingReadiness struct {
	Release       *clustermanager.ReleaseState  `json:"release,omitempty"`
	Children      []clustermanager.ReleaseState `json:"children,omitzero"`
	Controllers   []clustermanager.Controller   `json:"controllers,omitzero"`
	Configs       *Count                        `json:"configs,omitempty"`
	Backend       clustermanager.BackendState   `json:"backend"`
	Presets       *Count                        `json:"presets,omitempty"`
	ModelsGateway *clustermanager.ModelsGateway `json:"modelsGateway,omitempty"`
	Webhook       *clustermanager.Webhook       `json:"webhook,omitempty"`
	Cache         *clustermanager.CacheState    `json:"cache,omitempty"`
	CacheClaims   []clustermanager.CacheClaim   `json:"cacheClaims,omitzero"`
	// Notes name the parts that could not be read, with the reason.
	Notes []string `json:"notes,omitempty"`
}

// Count is how many there are.
type Count struct {
	Count int `json:"count"`
}

const noOperands = "the operator creates its DaemonSets once a GPU node joins, so a cluster whose pools are scaled to zero has none"

// pricing fills a claim's list price in the cluster's region, or the note that says why there is none.
type pricing func(claim *clustermanager.CacheClaim, region clustermanager.Reading[string])

// clusterList is the answer; without a pricing its claims have no prices.
func clusterList(fleet clustermanager.Fleet, price pricing) ClusterList {
	made := ClusterList{Clusters: []ListedCluster{}, ClusterAPI: fleet.ClusterAPI, Note: fleet.Note}
	for _, status := range fleet.Clusters {
		made.Clusters = append(made.Clusters, listedCluster(status, price))
	}
	if fleet.More {
		made.NextCursor = cursorAt(fleet.Clusters[len(fleet.Clusters)-1].Cluster)
	}
	return made
}

func listedCluster(status clustermanager.ClusterStatus, price pricing) ListedCluster {
	cluster := status.Cluster
	made := ListedCluster{
		Name: cluster.Name, Namespace: cluster.Namespace, Organization: cluster.Organization,
		ReleaseVersion: cluster.Release, OwnCluster: cluster.Own, Deleting: cluster.Deleting,
		GPUOperator:  ListedOperator{status.GPUOperator, operatorReadiness(status)},
		Serving:      ListedServing{status.Serving, servingReadiness(status)},
		PoolReleases: status.PoolReleases.Or([]clustermanager.PoolReleaseState{}), PoolReleasesNote: status.PoolReleases.Reason(),
		Zones: []string{}, ZonesNote: status.Network.Reason(),
		CommitTarget: status.CommitTarget.Or(&clustermanager.CommitTarget{Note: status.CommitTarget.Reason()}),
		Admins:       status.Admins.Or(nil), AdminsNote: status.Admins.Reason(),
	}
	if network, read := status.Network.Get(); read {
		made.Zones = append(made.Zones, network.Zones...)
		if len(network.Zones) == 0 {
			made.ZonesNote = "its infrastructure object names no node subnet with a zone"
		}
	}
	if price != nil {
		for index := range made.Serving.Readiness.CacheClaims {
			price(&made.Serving.Readiness.CacheClaims[index], regionOf(status.Network))
		}
	}
	return made
}

// regionOf is the region of a network.
func regionOf(network clustermanager.Reading[clustermanager.Network]) clustermanager.Reading[string] {
	read, is := network.Get()
	switch {
	case !is:
		return clustermanager.Unknown[string](network.Reason())
	case read.Region == "":
		return clustermanager.Unknown[string]("the cluster's infrastructure object names none")
	}
	return clustermanager.Known(read.Region)
}

func operatorReadiness(status clustermanager.ClusterStatus) OperatorReadiness {
	read := status.OperatorReadiness
	notes := unread{}
	made := OperatorReadiness{
		Release: part(notes, "release", read.Release), ClusterPolicy: part(notes, "clusterPolicy", read.ClusterPolicy),
		Operands: read.Operands.Or([]clustermanager.Operand{}), OperandsError: read.Operands.Reason(),
	}
	if made.OperandsError == "" && len(made.Operands) == 0 && made.ClusterPolicy != nil {
		made.OperandsMessage = noOperands
	}
	made.Notes = notes.without(status.GPUOperator.Reason)
	return made
}

func servingReadiness(status clustermanager.ClusterStatus) ServingReadiness {
	read := status.ServingReadiness
	notes := unread{}
	made := ServingReadiness{
		Release: part(notes, "release", read.Release), Children: part(notes, "children", read.Children),
		Controllers: part(notes, "controllers", read.Controllers), Configs: count(part(notes, "configs", read.Configs)),
		Backend: read.Backend, Presets: count(part(notes, "presets", read.Presets)),
		ModelsGateway: part(notes, "modelsGateway", read.ModelsGateway), Webhook: part(notes, "webhook", read.Webhook),
		Cache: part(notes, "cache", read.Cache), CacheClaims: part(notes, "cacheClaims", read.CacheClaims),
	}
	made.Notes = notes.without(status.Serving.Reason)
	return made
}

func count(number *int) *Count {
	if number == nil {
		return nil
	}
	return &Count{*number}
}

// unread are the parts that could not be read, by the reason.
type unread map[string][]string

// part is a part's value; of one that could not be read the name is noted.
func part[T any](notes unread, name string, reading clustermanager.Reading[T]) T {
	value, read := reading.Get()
	if !read {
		notes[reading.Reason()] = append(notes[reading.Reason()], name)
	}
	return value
}

// without are the notes, but for the reason that the component gives already.
func (u unread) without(reason string) []string {
	var notes []string
	for _, cause := range slices.Sorted(maps.Keys(u)) {
		if cause != reason {
			notes = append(notes, strings.Join(u[cause], ", ")+": "+cause)
		}
	}
	return notes
}
