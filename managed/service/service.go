// Package service is the calls of the managed clusters API: each in its order, from a decoded input to the answer.
//
// A call records what the tenant wants and returns; nothing of it is sent to a provider, except that versions asks one
// and credentials asks a cluster's control plane. The order of each call is that of the reference: what is refused
// leaves nothing behind, the decision comes before what would tell of others, a retry of create meets its record before
// anything else is asked.
//
// The package promises: every error is a [managed.Error], whose message holds no credential and nothing of the inside;
// the cause is logged with the request's id. Every mutation leaves an audit record, with all its decisions.
//
// It leaves out the store, the policies, the provider and the wire: they are handed in. It has no client and no driver.
package service

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

// Store keeps the records. Each method is one transaction. [managed.ErrUnreachable] is of one that could not be asked.
type Store interface {
	// Cluster finds a record by its id, a deleted one too; [managed.ErrUnknown] when there is none.
	Cluster(ctx context.Context, id string) (managed.Cluster, error)
	// Clusters are a tenant's records, oldest first, those of one time by id.
	Clusters(ctx context.Context, filter managed.Filter) iter.Seq2[managed.Cluster, error]
	// Insert writes a record with its event, unless its id is recorded ([managed.ErrRecorded]), another cluster of the tenant that
	// is not deleted has its name ([managed.NameTaken]), or the tenant has the limit of such clusters
	// ([managed.TooMany]), in that order.
	Insert(ctx context.Context, cluster managed.Cluster, limit int, event managed.Event) error
	// Change reads a record, hands it to the function, and writes what that returns; nothing with its error. The record
	// cannot change in between. [managed.ErrUnknown] when there is none.
	Change(ctx context.Context, id string, change func(managed.Cluster) (managed.Cluster, []managed.Event, error)) (managed.Cluster, error)
	// Publish writes an event that comes with no change of a record.
	Publish(ctx context.Context, event managed.Event) error
	// Audit writes an audit record.
	Audit(ctx context.Context, audit managed.Audit) error
}

// Policy decides.
type Policy interface {
	Decide(query managed.Query) managed.Decision
}

// Catalogue is what may be handed out, as it is now.
type Catalogue interface {
	Current() *managed.Catalogue
}

// Provider is a kind of provider.
type Provider interface {
	Capabilities() managed.Capabilities
	// Versions are the versions that it offers in a location of an account.
	Versions(ctx context.Context, account managed.Account, location string) (managed.VersionsAnswer, error)
}

// ControlPlane speaks to clusters as their account.
type ControlPlane interface {
	// Token mints a token of the service account of the name, in [managed.AccessNamespace], which it makes and binds to
	// the role where that is missing. The token may end sooner than asked.
	Token(ctx context.Context, account managed.Account, cluster managed.Cluster, name string, role managed.Role, ttl time.Duration) (managed.Token, error)
}

// Settings are those of the calls.
type Settings struct {
	// MaxClusters is how many clusters that are not deleted a tenant may have; 0: 10.
	MaxClusters int
	// CredentialTTL is how long credentials live that name no time, from 600 to 86400 seconds; 0: an hour.
	CredentialTTL time.Duration
	// TenantRate is how many calls a tenant has in a second; 0: no limit.
	TenantRate int
	// ReadOnly refuses every mutation.
	ReadOnly bool
}

// Bounds of the time that credentials live; they are Kubernetes' own for a token.
const (
	credentialTTLLeast = 600 * time.Second
	credentialTTLMost  = 86400 * time.Second
)

// Rooms are what the calls work with.
type Rooms struct {
	Store     Store
	Policy    Policy
	Catalogue Catalogue
	// Providers are the kinds of providers by the name that accounts have.
	Providers    map[string]Provider
	ControlPlane ControlPlane
	// Clock is the time; Log takes what goes wrong inside, and an audit line of each call.
	Clock func() time.Time
	Log   *slog.Logger
}

// Service serves the calls. It is safe for concurrent use.
type Service struct {
	settings Settings
	rooms    Rooms
	limiter  *limiter
}

// New makes a service. Settings that are out of bounds are an error that names the setting.
func New(settings Settings, rooms Rooms) (*Service, error) {
	if settings.MaxClusters == 0 {
		settings.MaxClusters = 10
	}
	if settings.CredentialTTL == 0 {
		settings.CredentialTTL = time.Hour
	}
	switch ttl := settings.CredentialTTL; {
	case settings.MaxClusters < 0:
		return nil, fmt.Errorf("maxClustersPerTenant: %d is below 1", settings.MaxClusters)
	case ttl < credentialTTLLeast || ttl > credentialTTLMost:
		return nil, fmt.Errorf("credentialTtlSeconds: %d is not 600 to 86400", int(ttl/time.Second))
	case settings.TenantRate < 0:
		return nil, fmt.Errorf("tenant rate: %d is below 0", settings.TenantRate)
	}
	return &Service{settings: settings, rooms: rooms, limiter: newLimiter(settings.TenantRate)}, nil
}

// capable says whether a provider has managed Kubernetes.
func (s *Service) capable(provider string) bool {
	of, known := s.rooms.Providers[provider]
	return known && of.Capabilities().ManagedKubernetes
}
