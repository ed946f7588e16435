// Package managedapi puts the rooms of the managed clusters API together: its store, catalogue, policies, provider, calls,
// reconciler and HTTP side.
//
// It promises that what was opened is closed again when one of the rooms cannot be, and that a catalogue that turns faulty
// is said in the log and not used. It holds no rule.
package managedapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/clustermanager/cluster-manager/internal/identity"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/managed"
	"github.com/clustermanager/cluster-manager/managed/catalog"
	"github.com/clustermanager/cluster-manager/managed/gke"
	"github.com/clustermanager/cluster-manager/managed/httpapi"
	"github.com/clustermanager/cluster-manager/managed/policy"
	"github.com/clustermanager/cluster-manager/managed/reconcile"
	"github.com/clustermanager/cluster-manager/managed/service"
	"github.com/clustermanager/cluster-manager/managed/store"
)

// lookAtCatalogue is how often the catalogue's file is looked at. A mounted one is a minute late anyway.
const lookAtCatalogue = 5 * time.Second

// Options say what the API is made of. Identify, Clock and Log are required.
type Options struct {
	settings.Managed
	// ReadOnly refuses every mutation over HTTP.
	ReadOnly bool
	// MaxBytes bounds a request's body; 0: httpapi's own bound.
	MaxBytes int64
	// Version is the product's.
	Version  string
	Identify func(*http.Request) (managed.Principal, error)
	// Provider says where Google Kubernetes Engine is.
	Provider gke.Options
	Clock    func() time.Time
	Log      *slog.Logger
}

// API is the managed clusters API with all that works behind it. It serves HTTP.
type API struct {
	http.Handler
	Store      *store.Store
	Reconciler *reconcile.Reconciler
	catalogue  *catalog.File
	log        *slog.Logger
}

// Open opens the database and the catalogue and makes the rest. Close the API in the end.
func Open(ctx context.Context, options Options) (*API, error) {
	catalogue, err := catalog.Open(options.Catalog)
	if err != nil {
		return nil, err
	}
	records, err := store.Open(ctx, options.Database.Reveal())
	if err != nil {
		return nil, err
	}
	api := &API{Store: records, catalogue: catalogue, log: options.Log}
	if err := api.build(options); err != nil {
		return nil, errors.Join(err, records.Close())
	}
	return api, nil
}

func (a *API) build(options Options) error {
	policies, err := policy.New(func(of managed.Principal) []string { return a.catalogue.Current().RolesOf(of) }, policy.Default())
	if err != nil {
		return err
	}
	provider := gke.New(options.Provider)
	calls, err := service.New(service.Settings{
		MaxClusters: options.MaxClusters, CredentialTTL: options.CredentialTTL, TenantRate: options.TenantRate, ReadOnly: options.ReadOnly,
	}, service.Rooms{
		Store: a.Store, Policy: policies, Catalogue: a.catalogue, Providers: map[string]service.Provider{managed.ProviderGCP: provider},
		ControlPlane: provider, Clock: options.Clock, Log: options.Log,
	})
	if err != nil {
		return err
	}
	a.Reconciler, err = reconcile.New(reconcile.Settings{
		DeletedRetention: options.DeletedRetention,
		Webhook:          reconcile.Webhook{URL: options.EventsURL, SecretFile: options.EventsSecretFile},
	}, reconcile.Rooms{
		Store: a.Store, Catalogue: a.catalogue, Providers: map[string]reconcile.Provider{managed.ProviderGCP: provider},
		Clock: options.Clock, Log: options.Log,
	})
	if err != nil {
		return err
	}
	a.Handler, err = httpapi.New(httpapi.Options{
		Endpoints: calls.Endpoints(), Identify: options.Identify, MaxBytes: options.MaxBytes, Version: options.Version, Log: options.Log,
	})
	return err
}

// Run follows the catalogue and reconciles until the context ends, and then lets what runs come to its end.
func (a *API) Run(ctx context.Context) {
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		a.catalogue.Follow(ctx, lookAtCatalogue, a.reread)
	}()
	a.Reconciler.Run(ctx)
	<-followed
}

// Reread looks at the catalogue's file now.
func (a *API) Reread() {
	if news, err := a.catalogue.Reload(); news {
		a.reread(err)
	}
}

func (a *API) reread(err error) {
	if err != nil {
		a.log.Error("the catalogue as it is now is not used, the one before it is", "cause", err)
		return
	}
	a.log.Info("another catalogue is in use")
}

// Close closes the database. What runs must have ended.
func (a *API) Close() error { return a.Store.Close() }

// errNobodyAsked is why a server that has no callers sign in answers nobody.
var errNobodyAsked = errors.New("this server asks nobody who they are: it needs the setting enable-oauth")

// SignedIn is the caller that was put on a request's context by who stands before the API.
func SignedIn(r *http.Request) (managed.Principal, error) {
	caller, err := identity.CallerFrom(r.Context())
	if err != nil || caller.Subject == "" {
		return managed.Principal{}, errNobodyAsked
	}
	return managed.Principal{ID: caller.Issuer + "|" + caller.Subject, Groups: caller.Groups}, nil
}

// Refuse answers a request whose caller is not known, in the API's own envelope.
func Refuse(w http.ResponseWriter, _ *http.Request, denial identity.Denial) {
	httpapi.Refuse(w, denial.Status, denial.Description)
}
