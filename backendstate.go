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
