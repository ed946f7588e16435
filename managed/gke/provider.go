package gke

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"cloud.google.com/go/auth"
	container "google.golang.org/api/container/v1"
	"google.golang.org/api/option"

	"github.com/clustermanager/cluster-manager/managed"
)

// Options say where the provider is and who speaks there. The zero Options are Google's, with each account's credentials.
type Options struct {
	// Endpoint is the URL of the API; empty: Google's.
	Endpoint string
	// Credentials are an account's; nil: [Detect].
	Credentials func(managed.Account) (*auth.Credentials, error)
	// DNSAuthorities is the PEM of who signs the certificates of DNS endpoints; empty: the system's, as Google's are public.
	DNSAuthorities []byte
	// PlaneTimeout ends a request to a control plane; 0: 10 s.
	PlaneTimeout time.Duration
}

// Provider is Google Kubernetes Engine. It is safe for concurrent use.
type Provider struct {
	options Options
	// below is the one pool of connections for all accounts.
	below http.RoundTripper

	// mu guards the clients by account.
	mu      sync.Mutex
	clients map[string]*client
}

// client speaks as an account.
type client struct {
	// spoken is what its credentials were made of: another secret is another client.
	spoken      string
	credentials *auth.Credentials
	api         *container.ProjectsLocationsService
}

// userAgent names the product to the provider.
const userAgent = "cluster-manager"

// silent keeps the libraries from logging requests and tokens, whatever the environment says.
var silent = slog.New(slog.DiscardHandler)

// New makes a provider. It asks nothing yet.
func New(options Options) *Provider {
	if options.Credentials == nil {
		options.Credentials = Detect
	}
	if options.PlaneTimeout == 0 {
		options.PlaneTimeout = planeTimeout
	}
	below := http.DefaultTransport
	if of, is := below.(*http.Transport); is {
		below = of.Clone()
	}
	return &Provider{options: options, below: below, clients: map[string]*client{}}
}

// Capabilities are those of the provider.
func (*Provider) Capabilities() managed.Capabilities {
	return managed.Capabilities{ManagedKubernetes: true}
}

// client is the account's, made anew when its secret was replaced.
func (p *Provider) client(ctx context.Context, account managed.Account) (*client, error) {
	spoken, err := spokenBy(account)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if of := p.clients[account.ID]; of != nil && of.spoken == spoken {
		return of, nil
	}
	of, err := p.connect(ctx, account)
	if err != nil {
		return nil, err
	}
	of.spoken = spoken
	p.clients[account.ID] = of
	return of, nil
}

func (p *Provider) connect(ctx context.Context, account managed.Account) (*client, error) {
	credentials, err := p.options.Credentials(account)
	if err != nil {
		return nil, err
	}
	web := &http.Client{Transport: bearer{credentials, p.below}}
	options := []option.ClientOption{option.WithHTTPClient(web), option.WithLogger(silent)}
	if p.options.Endpoint != "" {
		options = append(options, option.WithEndpoint(p.options.Endpoint))
	}
	// The client outlives the call that makes it.
	service, err := container.NewService(context.WithoutCancel(ctx), options...)
	if err != nil {
		return nil, accountFault(account, "connecting", err)
	}
	service.UserAgent = userAgent
	return &client{credentials: credentials, api: service.Projects.Locations}, nil
}

// parent and name are paths of the API.
func parent(account managed.Account, location string) string {
	return "projects/" + account.Project + "/locations/" + location
}

func clusterName(account managed.Account, row *managed.Cluster) string {
	return parent(account, row.Location) + "/clusters/" + managed.ProviderName(row.ID)
}
