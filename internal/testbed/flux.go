package testbed

import (
	"context"
	"net/http"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// fluxNamespace is where Flux's controllers think that they run.
const fluxNamespace = "flux-system"

// runFlux starts Flux's controllers, those that the bed is to have.
func (b *Bed) runFlux(ctx context.Context) error {
	if !b.options.Flux && !b.options.Helm {
		return nil
	}
	storage, err := freeAddress()
	if err != nil {
		return err
	}
	if err := b.writeKubeconfig("flux.kubeconfig", map[string]clustermanager.Secret{adminName: b.tokens[adminName]}); err != nil {
		return err
	}
	source, sourceReady, err := b.startFlux(sourceController, b.throughEgress(),
		"--storage-path="+b.path("storage"), "--storage-addr="+storage, "--storage-adv-addr="+storage)
	if err != nil {
		return err
	}
	if b.options.Flux {
		kustomize, kustomizeReady, err := b.startFlux(kustomizeController, nil)
		if err != nil {
			return err
		}
		if err := kustomize.ready(ctx, kustomizeReady); err != nil {
			return err
		}
	}
	return source.ready(ctx, sourceReady)
}

func (b *Bed) startFlux(name string, environment []string, arguments ...string) (*process, func(context.Context) error, error) {
	metrics, err := freeAddress()
	if err != nil {
		return nil, nil, err
	}
	health, err := freeAddress()
	if err != nil {
		return nil, nil, err
	}
	controller, err := b.start(name,
		append([]string{"RUNTIME_NAMESPACE=" + fluxNamespace, "KUBECONFIG=" + b.path("flux.kubeconfig")}, environment...),
		append([]string{
			"--watch-all-namespaces=true", "--events-addr=", "--enable-leader-election=false",
			"--metrics-addr=" + metrics, "--health-addr=" + health,
		}, arguments...)...,
	)
	return controller, func(ctx context.Context) error { return get(ctx, http.DefaultClient, "http://"+health+"/readyz") }, err
}
