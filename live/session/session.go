// Package session turns a caller into clients of an API server: the installation's, or a workload cluster's.
//
// It promises that every client presents the caller's token and nothing else: whatever credential the base
// configuration holds is dropped, and a caller without a token gets an error, never the process's own identity. The one
// exception is asked for by name: with [NewOwn] the process's configuration is the caller, for a person's own machine, and with
// [NewShared] it stands for callers on the installation, for a server that keeps their tokens to itself.
// Clients are reused by the same token for the same server, because a new one costs a connection; those of one server
// share theirs. Their number is bounded, and live ones never go all at once. It leaves out the checking of tokens, which
// is the API server's: one that has expired is presented all the same. And it leaves out where a workload cluster's
// endpoint is read.
package session

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	userAgent = "cluster-manager"
	// requestTimeout ends a request that hangs. An aggregator in front of the server gives up on a call at about ten
	// seconds, so a later answer helps nobody.
	requestTimeout = 10 * time.Second
)

// ErrNoToken says that a call carries no Kubernetes token.
var ErrNoToken = errors.New("the caller has no Kubernetes token, and nothing is read with another identity: sign in")

// Client holds the clients of one API server for one caller. It is safe for concurrent use.
type Client struct {
	Dynamic   dynamic.Interface
	Discovery discovery.DiscoveryInterface
	// Metadata reads an object's metadata alone, such as that of a Secret.
	Metadata metadata.Interface
}

// Sessions makes clients and keeps the ones used last. It is safe for concurrent use.
type Sessions struct {
	base  *rest.Config
	route Route
	log   *slog.Logger
	// own is the configuration of a process that is the caller itself; nil: it never is.
	own *rest.Config
	// shared says that own is for the installation alone.
	shared bool

	installation, workload *keeper

	mu sync.Mutex
	// self are the clients of own.
	self *Client
}

// New makes Sessions for the installation that the configuration names. Of it only what finds and trusts the server
// is used: address, CA, TLS server name, proxy and dialer. Workload clusters are reached by the route; nil is Direct.
func New(base *rest.Config, route Route) *Sessions {
	if route == nil {
		route = Direct
	}
	return &Sessions{base: anonymous(base), route: route, installation: newKeeper(), workload: newKeeper()}
}

// Host is the address of the installation's API server, without a user.
func (s *Sessions) Host() string { return s.base.Host }

// Installation returns the clients of the installation for the caller. Without a token the error is [ErrNoToken].
func (s *Sessions) Installation(caller clustermanager.Caller) (*Client, error) {
	if caller.KubernetesToken.IsZero() {
		return s.itself()
	}
	of := key{token: sumOf(caller.KubernetesToken.Reveal())}
	client, expired, err := s.installation.client(of, caller.KubernetesToken, func() (*Client, error) {
		return newClient(s.base, caller.KubernetesToken)
	})
	if err != nil {
		return nil, fmt.Errorf("installation: making the caller's clients: %w", err)
	}
	s.logExpired(expired)
	return client, nil
}

// itself returns the clients of a process that is the caller.
func (s *Sessions) itself() (*Client, error) {
	if s.own == nil {
		return nil, ErrNoToken
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.self != nil {
		return s.self, nil
	}
	client, err := clientsOf(tuned(rest.CopyConfig(s.own)), clustermanager.NewSecret(s.own.BearerToken))
	if err != nil {
		return nil, fmt.Errorf("installation: making the clients of the kubeconfig: %w", err)
	}
	s.self = client
	return client, nil
}

// newClient makes the clients of a token.
func newClient(base *rest.Config, token clustermanager.Secret) (*Client, error) {
	config := rest.CopyConfig(base)
	config.BearerToken = token.Reveal()
	return clientsOf(config, token)
}

// clientsOf makes the clients over one connection pool. The token is kept out of what a server echoes.
func clientsOf(config *rest.Config, token clustermanager.Secret) (*Client, error) {
	config.Wrap(func(base http.RoundTripper) http.RoundTripper { return &masked{base: base, token: token} })
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	transport.CheckRedirect = stay
	made := &Client{}
	if made.Dynamic, err = dynamic.NewForConfigAndClient(config, transport); err != nil {
		return nil, err
	}
	if made.Discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, transport); err != nil {
		return nil, err
	}
	if made.Metadata, err = metadata.NewForConfigAndClient(config, transport); err != nil {
		return nil, err
	}
	return made, nil
}

// anonymous is the configuration without a credential.
func anonymous(base *rest.Config) *rest.Config {
	config := rest.AnonymousClientConfig(base)
	config.Host = withoutUser(config.Host)
	return tuned(config)
}

// tuned is the configuration without client-go's own rate limit, which would make one caller's reads wait for another's.
func tuned(config *rest.Config) *rest.Config {
	config.UserAgent = userAgent
	config.Timeout = requestTimeout
	config.RateLimiter = nil
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	config.WarningHandlerWithContext = nil
	return config
}

// withoutUser takes a user and password out of an address, which net/http would present.
func withoutUser(host string) string {
	address, err := url.Parse(host)
	if err != nil || address.User == nil {
		return host
	}
	address.User = nil
	return address.String()
}
