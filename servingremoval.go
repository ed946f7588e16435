package clustermanager

// ServingRemovalSurvey is what was observed for the removal of a cluster's model serving.
type ServingRemovalSurvey struct {
	Survey
	// Parts are the releases on the installation that serve the cluster; operator and pools are no part of it.
	Parts ClusterParts `json:"parts"`
	// Configs are the serving configurations of every namespace of the cluster, sorted.
	Configs Reading[[]ObjectReference] `json:"configs"`
}
