package managed

import (
	"slices"
	"strconv"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Observed is what a pass learned: what a look showed, or what the provider said to the write of the step before.
type Observed struct {
	// Look is the cluster under our name; nil: the provider has none. Unknown: it could not be asked, or its zone is
	// missing from the answer. It is not read beside an Answer.
	Look clustermanager.Reading[*ProviderCluster]
	// Operation is the state of the operation that the record names; nil: it was not asked for.
	Operation *OperationStatus
	Answer    *Answer
}

// ProviderStatus is the state that the provider shows.
type ProviderStatus string

const (
	StatusProvisioning ProviderStatus = "PROVISIONING"
	StatusRunning      ProviderStatus = "RUNNING"
	// StatusReconciling is working order while an operation runs.
	StatusReconciling ProviderStatus = "RECONCILING"
	StatusStopping    ProviderStatus = "STOPPING"
	StatusError       ProviderStatus = "ERROR"
	// StatusDegraded is a cluster's, StatusRunningWithError a node pool's: it runs, and something is wrong.
	StatusDegraded         ProviderStatus = "DEGRADED"
	StatusRunningWithError ProviderStatus = "RUNNING_WITH_ERROR"
)

// ProviderCluster is a cluster as the provider shows it.
type ProviderCluster struct {
	// Label is the value of [LabelCluster].
	Label  string
	Status ProviderStatus
	// Message is what its conditions say.
	Message            string
	CreatedAt          time.Time
	Channel            Channel
	Version            string
	NodeVersion        string
	Endpoint           string
	Authority          string
	AuthorizedNetworks []string
	NodePools          []ProviderPool
}

// ProviderPool is a node pool as the provider shows it.
type ProviderPool struct {
	Name string
	// ClusterLabel and PoolLabel are the values of [LabelCluster] and [LabelNodePool]. A throwaway pool has no second.
	ClusterLabel, PoolLabel string
	Status                  ProviderStatus
	Message                 string
	Version                 string
}

// OperationStatus is an operation as the provider shows it.
type OperationStatus struct {
	Name    string
	Running bool
	// Failure is why it failed; empty, neither Running nor Lost: it succeeded.
	Failure string
	// Lost says that the provider does not know it any more: what a look shows decides.
	Lost bool
}

// WriteKind is a kind of write to the provider.
type WriteKind string

const (
	CreateCluster   WriteKind = "create cluster"
	UpdateCluster   WriteKind = "update cluster"
	DeleteCluster   WriteKind = "delete cluster"
	CreatePool      WriteKind = "create node pool"
	DeleteThrowaway WriteKind = "delete throwaway node pool"
)

// Write is the one write of a pass. With the record it says all that the request needs.
type Write struct {
	Kind WriteKind `json:"kind"`
	// Pool is the id of the node pool that is made, with CreateCluster that of the one inside, empty for a throwaway one.
	Pool string `json:"pool,omitempty"`
	// Change is the one field that an UpdateCluster sends.
	Change Change `json:"change,omitempty"`
	// Name is the provider's name of a throwaway pool that goes.
	Name string `json:"name,omitempty"`
}

// Verdict is what the provider made of a write.
type Verdict string

const (
	// Accepted is taken; it may still fail later, in the operation or the status.
	Accepted Verdict = "accepted"
	// Refused is a definite no.
	Refused Verdict = "refused"
	// Later is no answer about the write itself: "please wait", too many requests, a fault of the network or of the
	// provider, a name that is taken already or gone already. The next look tells.
	Later Verdict = "later"
)

// Answer is what the provider said to a write.
type Answer struct {
	Write   Write
	Verdict Verdict
	// Operation is the name of the operation that an accepted write started; empty when there is none to follow.
	Operation string
	// Message is the provider's words of a refusal.
	Message string
	// Stale says that a call changed the record since the write was sent.
	Stale bool
}

// working says that the status is of something in working order.
func (s ProviderStatus) working() bool { return s == StatusRunning || s == StatusReconciling }

// busy says that the provider takes no write now.
func (s ProviderStatus) busy() bool {
	return s == StatusProvisioning || s == StatusReconciling || s == StatusStopping
}

// broken says that the status is a failure.
func (s ProviderStatus) broken() bool {
	return s == StatusError || s == StatusDegraded || s == StatusRunningWithError
}

// has says whether the provider has the record's value of a field already.
func (s *ProviderCluster) has(row *Cluster, change Change) bool {
	switch change {
	case ChangeNetworks:
		return sameSet(s.AuthorizedNetworks, row.AuthorizedNetworks)
	case ChangeChannel:
		return s.Channel == row.Channel
	}
	return pinned(row.Pin, s.Version)
}

func (s *ProviderCluster) pool(name string) (ProviderPool, bool) {
	return find(s.NodePools, func(pool ProviderPool) bool { return pool.Name == name })
}

// throwaway finds the pool that only opened the cluster, by its labels.
func (s *ProviderCluster) throwaway(row *Cluster) (ProviderPool, bool) {
	return find(s.NodePools, func(pool ProviderPool) bool {
		return pool.ClusterLabel == row.ID && pool.PoolLabel == "" && pool.Status != StatusStopping
	})
}

func sameSet(some, others []string) bool {
	some, others = slices.Clone(some), slices.Clone(others)
	slices.Sort(some)
	slices.Sort(others)
	return slices.Equal(slices.Compact(some), slices.Compact(others))
}

// pinned says whether a version is what a pin asks for: 1.33 is every 1.33.x, no pin is every version.
func pinned(pin, version string) bool {
	rest, matches := strings.CutPrefix(version, pin)
	return pin == "" || matches && (rest == "" || rest[0] == '.' || rest[0] == '-')
}

// CompareVersions orders versions by their numbers, such as 1.33.5-gke.1162000.
func CompareVersions(some, other string) int { return slices.Compare(numbers(some), numbers(other)) }

func numbers(version string) []int {
	var all []int
	for _, word := range strings.FieldsFunc(version, func(r rune) bool { return r < '0' || r > '9' }) {
		number, _ := strconv.Atoi(word)
		all = append(all, number)
	}
	return all
}
