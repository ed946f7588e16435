// Package session turns a caller into clients of an API server.
//
// It promises that every client presents the caller's token and nothing else: whatever credential the base
// configuration holds is dropped, and a caller without a token gets an error, never the process's own identity. Clients
// are reused by the same token, because a new one costs a discovery and a connection. It leaves out the checking of
// tokens, which is the API server's, and where a workload cluster's endpoint is read.
package session

import (
	"container/list"
	"crypto/sha256"
	"errors"
	"fmt"
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
	// maxClients bounds the callers whose clients are kept.
	maxClients = 256
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

	mu sync.Mutex
	// order holds the kept clients, the one used last in front; byToken finds them.
	order   *list.List
	byToken map[tokenSum]*list.Element
}

type tokenSum [sha256.Size]byte

// kept is an element of the order.
type kept struct {
	token  tokenSum
	client *Client
}

// Route says how a workload cluster's API server is reached, given the endpoint that its kubeconfig names.
type Route func(cluster clustermanager.Cluster, endpoint clustermanager.Endpoint) (*rest.Config, error)

// Direct reaches a workload cluster's API server where its kubeconfig says.
func Direct(_ clustermanager.Cluster, endpoint clustermanager.Endpoint) (*rest.Config, error) {
	return &rest.Config{Host: endpoint.Server, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(endpoint.CABundle)}}, nil
}

// New makes Sessions for the installation that the configuration names. Of it only what finds and trusts the server
// is used: address, CA, TLS server name, proxy and dialer. Workload clusters are reached by the route; nil is Direct.
func New(base *rest.Config, route Route) *Sessions {
	if route == nil {
		route = Direct
	}
	return &Sessions{base: anonymous(base), route: route, order: list.New(), byToken: map[tokenSum]*list.Element{}}
}

// Installation returns the clients of the installation for the caller. Without a token the error is [ErrNoToken].
func (s *Sessions) Installation(caller clustermanager.Caller) (*Client, error) {
	if caller.KubernetesToken.IsZero() {
		return nil, ErrNoToken
	}
	token := tokenSum(sha256.Sum256([]byte(caller.KubernetesToken.Reveal())))
	s.mu.Lock()
	defer s.mu.Unlock()
	if element, there := s.byToken[token]; there {
		s.order.MoveToFront(element)
		return element.Value.(*kept).client, nil
	}
	client, err := newClient(s.base, caller.KubernetesToken)
	if err != nil {
		return nil, fmt.Errorf("installation: making the caller's clients: %w", err)
	}
	s.keep(token, client)
	return client, nil
}

// Workload returns the clients of a workload cluster's API server for the caller, under the rules of Installation. The
// endpoint is the one that the cluster's kubeconfig names.
func (s *Sessions) Workload(caller clustermanager.Caller, cluster clustermanager.Cluster, endpoint clustermanager.Endpoint) (*Client, error) {
	if caller.KubernetesToken.IsZero() {
		return nil, ErrNoToken
	}
	server, err := s.route(cluster, endpoint)
	if err != nil {
		return nil, err
	}
	client, err := newClient(anonymous(server), caller.KubernetesToken)
	if err != nil {
		return nil, fmt.Errorf("Cluster %s/%s: making the caller's clients: %w", cluster.Namespace, cluster.Name, err)
	}
	return client, nil
}

// keep adds a client and lets the one go that was used least recently.
func (s *Sessions) keep(token tokenSum, client *Client) {
	s.byToken[token] = s.order.PushFront(&kept{token: token, client: client})
	if s.order.Len() > maxClients {
		oldest := s.order.Remove(s.order.Back()).(*kept)
		delete(s.byToken, oldest.token)
	}
}

// newClient makes the clients over one connection pool.
func newClient(base *rest.Config, token clustermanager.Secret) (*Client, error) {
	config := rest.CopyConfig(base)
	config.BearerToken = token.Reveal()
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

// anonymous is the configuration without a credential and without client-go's own rate limit, which would make one
// caller's reads wait for another's.
func anonymous(base *rest.Config) *rest.Config {
	config := rest.AnonymousClientConfig(base)
	config.Host = withoutUser(config.Host)
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
