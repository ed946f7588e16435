package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/registry"
	"github.com/clustermanager/cluster-manager/internal/testbed/egress"
)

// KeepVariable names the environment variable that, when set, leaves the folder of a bed in place.
const KeepVariable = "CLUSTER_MANAGER_TEST_KEEP"

// User is a person of the identity provider.
type User struct {
	// Email is the person's name for the API server too.
	Email  string
	Groups []string
}

// Options say what a bed has beyond the API server, its controllers and the identity provider.
type Options struct {
	// Users are the people; each is signed in when the bed is ready.
	Users []User
	// Definitions are the custom resource definitions to install.
	Definitions []Set
	// Flux starts source-controller and kustomize-controller, and installs their definitions.
	Flux bool
	// Helm starts source-controller and the stand-in of helm-controller, and installs their definitions.
	Helm bool
	// Tenancy installs the rule of package tenancy on HelmReleases, and their definition.
	Tenancy bool
	// Charts is a folder of charts, <chart>-<version> each. The bed serves them as an OCI registry, which source-controller
	// finds at oci://gsoci.azurecr.io/charts/giantswarm.
	Charts string
}

// Bed is a running bed. Its methods may be called at the same time.
type Bed struct {
	options Options
	// programs are the paths of what was built by name, modules the folders of modules by path and version.
	programs, modules map[string]string
	folder            string
	processes         []*process

	certificates authority
	// frontProxy signs for the one who may pass on users' names to the API server.
	frontProxy authority
	provider   provider
	apiServer  string
	tokens     map[string]clustermanager.Secret
	// users are the people's tokens by e-mail, of their first signing in.
	users map[string]clustermanager.Secret

	registry *registry.Registry
	// egress leads source-controller to the registry.
	egress *egress.Proxy
}

// Start starts a bed that ends with the test, and returns when all of it is ready. A test is skipped when the programs are
// not built. When it fails, the last lines of every program are logged; with CLUSTER_MANAGER_TEST_KEEP set, the bed's
// folder stays.
func Start(t testing.TB, options Options) *Bed {
	t.Helper()
	bed, err := newBed(t.Context(), options)
	if errors.Is(err, ErrNotBuilt) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	bed.endWith(t)
	if err := bed.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return bed
}

func (b *Bed) endWith(t testing.TB) {
	t.Cleanup(func() {
		if t.Failed() {
			for _, process := range b.processes {
				t.Logf("%s said last:\n%s", process.name, process.tail(30))
			}
		}
		if err := b.close(os.Getenv(KeepVariable) != ""); err != nil {
			t.Error(err)
		}
	})
}

// Run runs a bed until the context ends. It calls ready when everything runs, with the path of a kubeconfig that has a
// context for the administrator and for each user.
func Run(ctx context.Context, options Options, ready func(bed *Bed, kubeconfig string)) error {
	bed, err := newBed(ctx, options)
	if err != nil {
		return err
	}
	err = bed.run(ctx)
	if err == nil {
		ready(bed, filepath.Join(bed.folder, "kubeconfig"))
		<-ctx.Done()
	}
	return errors.Join(err, bed.close(os.Getenv(KeepVariable) != ""))
}

func newBed(ctx context.Context, options Options) (*Bed, error) {
	programs, modules, err := built(ctx)
	if err != nil {
		return nil, err
	}
	bed := &Bed{options: options, programs: programs, modules: modules}
	return bed, bed.makeFolder()
}

func (b *Bed) makeFolder() error {
	folder, err := os.MkdirTemp("", "cluster-manager-testbed-")
	if err != nil {
		return fmt.Errorf("test bed: making its folder: %w", err)
	}
	b.folder = folder
	for _, name := range []string{"certificates", "logs", "storage", "tmp"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			return fmt.Errorf("test bed: making its folder: %w", err)
		}
	}
	return nil
}

// run starts everything. What was started is there for close, also when it returns an error.
//
// The definitions are there before the controller manager, whose garbage collector looks for new kinds twice a minute.
func (b *Bed) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		b.makeAuthorities, b.runProvider, b.runAPIServer, b.installDefinitions, b.runControllerManager, b.installTenancy,
		b.signIn, b.runRegistry, b.runFlux, b.runHelm,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return b.writeKubeconfig("kubeconfig", b.tokens)
}

func (b *Bed) close(keep bool) error {
	for _, process := range b.processes {
		process.stop()
	}
	err := b.closeRegistry()
	if keep {
		return err
	}
	if removeErr := os.RemoveAll(b.folder); removeErr != nil {
		return errors.Join(err, fmt.Errorf("test bed: removing its folder: %w", removeErr))
	}
	return err
}

func (b *Bed) makeAuthorities(context.Context) error {
	var err error
	if b.certificates, err = newAuthority(b.path("certificates"), "ca"); err != nil {
		return fmt.Errorf("test bed: %w", err)
	}
	if b.frontProxy, err = newAuthority(b.path("certificates"), "front-proxy-ca"); err != nil {
		return fmt.Errorf("test bed: %w", err)
	}
	return nil
}

func (b *Bed) path(elements ...string) string {
	return filepath.Join(append([]string{b.folder}, elements...)...)
}

// Logs is the folder with the log of each program.
func (b *Bed) Logs() string { return b.path("logs") }

// Issuer is the URL of the identity provider.
func (b *Bed) Issuer() string { return b.provider.url() }

// CertificateAuthority is the file of the authority, PEM, that the API server and the identity provider are known by.
func (b *Bed) CertificateAuthority() string { return b.certificates.file }

// Admin is the configuration of a client that may do everything.
func (b *Bed) Admin() *rest.Config { return b.config(b.tokens[adminName]) }

// Config is the configuration of a client that calls as a user does: with the id_token of when the bed became ready. For
// an e-mail that is none of the bed's users, it calls as nobody.
func (b *Bed) Config(email string) *rest.Config { return b.config(b.users[email]) }

// Token is the id_token of when the bed became ready; it is good for an hour. Empty for who is none of the users.
func (b *Bed) Token(email string) clustermanager.Secret { return b.users[email] }

// config has no limit of its own on requests.
func (b *Bed) config(token clustermanager.Secret) *rest.Config {
	return &rest.Config{
		Host:            "https://" + b.apiServer,
		BearerToken:     token.Reveal(),
		TLSClientConfig: rest.TLSClientConfig{CAFile: b.certificates.file},
		QPS:             -1,
	}
}
