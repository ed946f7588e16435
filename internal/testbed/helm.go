package testbed

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/clustermanager/cluster-manager/internal/registry"
	"github.com/clustermanager/cluster-manager/internal/testbed/egress"
	"github.com/clustermanager/cluster-manager/internal/testbed/tenancy"
)

// registryHost is the registry that composed objects name.
const registryHost = "gsoci.azurecr.io"

// Registry is the registry of the bed's charts; nil without any.
func (b *Bed) Registry() *registry.Registry { return b.registry }

// runRegistry serves the bed's charts, and leads source-controller to them under the name that composed objects have.
func (b *Bed) runRegistry(ctx context.Context) error {
	if b.options.Charts == "" {
		return nil
	}
	var err error
	if b.registry, err = registry.Serve(ctx, b.options.Charts); err != nil {
		return fmt.Errorf("test bed: %w", err)
	}
	serving, err := b.certificates.issue(b.path("certificates"), "registry", registryHost)
	if err != nil {
		return fmt.Errorf("test bed: registry: %w", err)
	}
	certificate, err := tls.LoadX509KeyPair(serving.certificate, serving.key)
	if err != nil {
		return fmt.Errorf("test bed: registry: reading its certificate: %w", err)
	}
	inside := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: b.registry.Address()})
	if b.egress, err = egress.Start(ctx, registryHost, certificate, inside); err != nil {
		return fmt.Errorf("test bed: registry: %w", err)
	}
	return nil
}

func (b *Bed) closeRegistry() error {
	var err error
	if b.egress != nil {
		err = b.egress.Close()
	}
	if b.registry != nil {
		err = errors.Join(err, b.registry.Close())
	}
	return err
}

// throughEgress is the environment of a program that is to reach the registry. SSL_CERT_FILE takes the place of the
// system's authorities; Go reads it on Linux and the BSDs alone.
func (b *Bed) throughEgress() []string {
	if b.egress == nil {
		return nil
	}
	return []string{"HTTPS_PROXY=" + b.egress.URL(), "SSL_CERT_FILE=" + b.certificates.file}
}

// runHelm starts the stand-in of helm-controller, when the bed is to have it.
func (b *Bed) runHelm(ctx context.Context) error {
	if !b.options.Helm {
		return nil
	}
	health, err := freeAddress()
	if err != nil {
		return err
	}
	controller, err := b.start(helmStandIn, []string{"KUBECONFIG=" + b.path("flux.kubeconfig")}, "-health-addr="+health)
	if err != nil {
		return err
	}
	return controller.ready(ctx, func(ctx context.Context) error {
		return get(ctx, http.DefaultClient, "http://"+health+"/readyz")
	})
}

// installTenancy returns when the API server refuses what the rule refuses, some moments after it has the rule.
func (b *Bed) installTenancy(ctx context.Context) error {
	if !b.options.Tenancy {
		return nil
	}
	client, err := NewClient(b.Admin())
	if err != nil {
		return err
	}
	if err := client.Apply(ctx, tenancy.Objects()...); err != nil {
		return err
	}
	lawless := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
		"metadata": map[string]any{"name": "lawless", "namespace": "default"},
		"spec": map[string]any{
			"interval": "10m", "chartRef": map[string]any{"kind": "OCIRepository", "name": "lawless"},
		},
	}}
	releases, err := client.Of(lawless)
	if err != nil {
		return err
	}
	err = Eventually(ctx, func(ctx context.Context) error {
		_, err := releases.Create(ctx, lawless, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		switch {
		case err == nil:
			return errors.New("a HelmRelease against it was accepted")
		case strings.Contains(err.Error(), tenancy.Name):
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("test bed: rule %s: waiting until it holds: %w", tenancy.Name, err)
	}
	return nil
}
