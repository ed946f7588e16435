package clustermanager

// ReleaseUptake is how far helm-controller has come with a HelmRelease.
type ReleaseUptake struct {
	// Finalized says that helm-controller's finalizer is on it, so that a delete uninstalls.
	Finalized bool `json:"finalized,omitempty"`
	// Generation and ObservedGeneration are metadata.generation and status.observedGeneration; 0: not set.
	Generation         int64 `json:"generation,omitempty"`
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// Pending says that helm-controller has not taken the release up as it stands, so that a delete now would leave what it
// installs.
func (u ReleaseUptake) Pending() bool {
	unseen := u.ObservedGeneration > 0 && u.ObservedGeneration < u.Generation
	return !u.Finalized || unseen
}
