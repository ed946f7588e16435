package testbed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// controllers are those of the controller manager that do not need nodes: garbage collection, namespaces that go, service
// accounts with their tokens, the CA in each namespace, and the roles view, edit and admin.
const controllers = "garbage-collector-controller,namespace-controller,serviceaccount-controller," +
	"serviceaccount-token-controller,root-ca-certificate-publisher-controller,clusterrole-aggregation-controller"

// runControllerManager returns when the roles view, edit and admin hold rules.
func (b *Bed) runControllerManager(ctx context.Context) error {
	name := controllerManagerName
	if err := b.writeKubeconfig(controllerManager+".kubeconfig", map[string]clustermanager.Secret{name: b.tokens[name]}); err != nil {
		return err
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	manager, err := b.start(controllerManager, nil,
		"--kubeconfig="+b.path(controllerManager+".kubeconfig"),
		"--bind-address=127.0.0.1", "--secure-port="+address[strings.LastIndex(address, ":")+1:],
		"--leader-elect=false", "--use-service-account-credentials=true",
		"--service-account-private-key-file="+b.path("certificates", "service-accounts.key"),
		"--root-ca-file="+b.certificates.file,
		"--controllers="+controllers,
	)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(b.Admin())
	if err != nil {
		return fmt.Errorf("test bed: making a client: %w", err)
	}
	return manager.ready(ctx, func(ctx context.Context) error {
		role, err := client.RbacV1().ClusterRoles().Get(ctx, "admin", metav1.GetOptions{})
		if err == nil && len(role.Rules) == 0 {
			err = errors.New("ClusterRole admin: it is empty")
		}
		return err
	})
}

// fluxNamespace is where Flux's controllers think that they run.
const fluxNamespace = "flux-system"

// runFlux starts Flux's controllers, when the bed is to have them.
func (b *Bed) runFlux(ctx context.Context) error {
	if !b.options.Flux {
		return nil
	}
	storage, err := freeAddress()
	if err != nil {
		return err
	}
	if err := b.writeKubeconfig("flux.kubeconfig", map[string]clustermanager.Secret{adminName: b.tokens[adminName]}); err != nil {
		return err
	}
	source, sourceReady, err := b.startFlux(sourceController,
		"--storage-path="+b.path("storage"), "--storage-addr="+storage, "--storage-adv-addr="+storage)
	if err != nil {
		return err
	}
	kustomize, kustomizeReady, err := b.startFlux(kustomizeController)
	if err != nil {
		return err
	}
	if err := source.ready(ctx, sourceReady); err != nil {
		return err
	}
	return kustomize.ready(ctx, kustomizeReady)
}

func (b *Bed) startFlux(name string, arguments ...string) (*process, func(context.Context) error, error) {
	metrics, err := freeAddress()
	if err != nil {
		return nil, nil, err
	}
	health, err := freeAddress()
	if err != nil {
		return nil, nil, err
	}
	controller, err := b.start(name,
		[]string{"RUNTIME_NAMESPACE=" + fluxNamespace, "KUBECONFIG=" + b.path("flux.kubeconfig")},
		append([]string{
			"--watch-all-namespaces=true", "--events-addr=", "--enable-leader-election=false",
			"--metrics-addr=" + metrics, "--health-addr=" + health,
		}, arguments...)...,
	)
	return controller, func(ctx context.Context) error { return get(ctx, http.DefaultClient, "http://"+health+"/readyz") }, err
}
