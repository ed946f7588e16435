package clustermanager

// BackendState says whether model-manager has the cluster as a backend. Registered is nil exactly when Error says why
// that could not be read.
type BackendState struct {
	Registered *bool `json:"registered,omitempty"`
	// Backend is the backend's name, Namespace and Name those of its ConfigMap.
	Backend   string `json:"backend,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Error     string `json:"error,omitempty"`
}

// Of says whether the backend is the cluster's: its document carries the cluster's name, and its organization where it
// names one. Documents from before they named an organization are told by the cluster's name alone.
func (b Backend) Of(cluster Cluster) bool {
	return b.Cluster == cluster.Name && (b.Organization == "" || b.Organization == cluster.Organization)
}

// BackendStateOf is the cluster's registration: the document under its own name (BackendReference), else the one under
// the shared name from before documents had names per cluster.
func BackendStateOf(backends Reading[[]Backend], cluster Cluster, settings Settings) BackendState {
	documents, known := backends.Get()
	if !known {
		return BackendState{Error: backends.Reason()}
	}
	own := BackendReference(cluster, settings).Name
	var found *Backend
	for index, backend := range documents {
		if backend.Of(cluster) && (found == nil || backend.ConfigMap.Name == own) {
			found = &documents[index]
		}
	}
	if found == nil {
		return BackendState{Registered: new(false)}
	}
	return BackendState{Registered: new(true), Backend: found.Name, Namespace: found.ConfigMap.Namespace, Name: found.ConfigMap.Name}
}
