package managed

import (
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Capabilities are what a provider has.
type Capabilities struct {
	ManagedKubernetes bool
}

// Token is a service account's on a cluster.
type Token struct {
	Secret  clustermanager.Secret
	Expires time.Time
}
