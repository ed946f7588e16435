package manageddemo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/cmd/cluster-manager/managedapi"
	double "github.com/clustermanager/cluster-manager/fixtures/gke"
	"github.com/clustermanager/cluster-manager/internal/identity"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/managed/gke"
	"github.com/clustermanager/cluster-manager/managed/httpapi"
)

const (
	tenant = "acme"
	person = "alice"
	// operationTime is how long the double works on a write, by its clock.
	operationTime = 2 * time.Minute
	// nobody is an address on this machine where nothing answers.
	nobody = "127.0.0.1:1"
)

var poolID = "pool_" + strings.Repeat("d", 26)

// readHeaderTimeout cuts off who connects and asks nothing.
const readHeaderTimeout = 10 * time.Second

// world is all that the demonstration runs: the double with a clock that it moves, an issuer, a webhook, the server.
type world struct {
	folder  string
	clock   *double.Clock
	cloud   *double.Server
	api     *managedapi.API
	hook    *hook
	url     string
	token   string
	servers []*http.Server
}

func newWorld(ctx context.Context, of plane, version string) (_ *world, err error) {
	w := &world{clock: double.NewClock(time.Now().UTC().Truncate(time.Hour))}
	if w.folder, err = os.MkdirTemp("", "cluster-manager-demo-"); err != nil {
		return nil, fmt.Errorf("demo folder: making: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	issuer, err := newIssuer()
	if err != nil {
		return w, err
	}
	if issuer.url, err = w.listen(ctx, issuer, &http.Server{TLSConfig: issuer.tls(), ReadHeaderTimeout: readHeaderTimeout}); err != nil {
		return w, err
	}
	if w.token, err = issuer.token(person); err != nil {
		return w, err
	}
	w.cloud = double.New(double.Options{Clock: w.clock.Now, OperationTime: operationTime, Endpoint: of.address, Authority: of.authority})
	google, err := w.listen(ctx, w.cloud, &http.Server{ReadHeaderTimeout: readHeaderTimeout})
	if err != nil {
		return w, err
	}
	w.hook = &hook{secret: []byte(rand.Text())}
	events, err := w.listen(ctx, w.hook, &http.Server{ReadHeaderTimeout: readHeaderTimeout})
	if err != nil {
		return w, err
	}
	return w, w.open(ctx, issuer, google, events, of.token, version)
}

// open makes the server and has it know the issuer's callers.
func (w *world) open(ctx context.Context, issuer *issuer, google, events string, account clustermanager.Secret, version string) error {
	catalog, secret := filepath.Join(w.folder, "catalog.yaml"), filepath.Join(w.folder, "webhook-secret")
	err := errors.Join(os.WriteFile(catalog, []byte(catalogue(issuer.url)), 0o600), os.WriteFile(secret, w.hook.secret, 0o600))
	if err != nil {
		return fmt.Errorf("demo folder: writing: %w", err)
	}
	verifier, err := identity.New(identity.Options{
		Issuer: issuer.url, Authority: issuer.authority(), PrivateIssuer: true, PrivateKeys: true, Audiences: []string{audience},
		BaseURL: "http://127.0.0.1", Path: strings.TrimSuffix(httpapi.Root, "/"),
	})
	if err != nil {
		return err
	}
	go verifier.Run(ctx)
	w.api, err = managedapi.Open(ctx, managedapi.Options{
		Managed: settings.Managed{
			Database: clustermanager.NewSecret(filepath.Join(w.folder, "records.db")), Catalog: catalog,
			MaxClusters: settings.DefaultMaxClustersPerTenant, CredentialTTL: settings.DefaultCredentialTTL,
			EventsURL: events, EventsSecretFile: secret,
		},
		Version: version, Identify: managedapi.SignedIn, Clock: w.clock.Now, Log: slog.New(slog.DiscardHandler),
		Provider: gke.Options{Endpoint: google, Credentials: gke.Given(account)},
	})
	if err != nil {
		return err
	}
	w.url, err = w.listen(ctx, verifier.Protect(w.api, managedapi.Refuse), &http.Server{ReadHeaderTimeout: readHeaderTimeout})
	for err == nil && !verifier.Ready() {
		err = pause(ctx)
	}
	return err
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(20 * time.Millisecond):
		return nil
	}
}

// catalogue is one platform account with one pool, offered to the tenant, whose operator is the person.
func catalogue(issuer string) string {
	return fmt.Sprintf(`accounts:
- {id: platform, provider: gcp, project: demo-project, zones: [europe-west1-b, europe-west1-c]}
pools:
- {id: %[1]s, account: platform, kind: provider, billing: metered}
offers:
- {pool: %[1]s, tenant: %[2]s}
bindings:
- {tenant: %[2]s, role: operator, users: ["%[3]s|%[4]s"]}
`, poolID, tenant, issuer, person)
}

// listen serves a handler on loopback until the world is closed.
func (w *world) listen(ctx context.Context, handler http.Handler, server *http.Server) (url string, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listener: opening: %w", err)
	}
	server.Handler, server.ReadHeaderTimeout = handler, 10*time.Second
	server.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	w.servers = append(w.servers, server)
	if server.TLSConfig != nil {
		go func() { _ = server.ServeTLS(listener, "", "") }()
		return "https://" + listener.Addr().String(), nil
	}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), nil
}

// pass moves the clock and does what is due.
func (w *world) pass(ctx context.Context, by time.Duration) {
	w.clock.Advance(by)
	w.api.Reconciler.Pass(ctx)
	w.api.Reconciler.Jobs(ctx)
	w.api.Reconciler.Deliver(ctx)
}

func (w *world) close() error {
	var faults []error
	for _, server := range w.servers {
		faults = append(faults, server.Close())
	}
	if w.api != nil {
		faults = append(faults, w.api.Close())
	}
	return errors.Join(append(faults, os.RemoveAll(w.folder))...)
}
