package testbed

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// controllers are those of the controller manager that do not need nodes: garbage collection, namespaces that go, service
// accounts with their tokens, the CA in each namespace, the roles view, edit and admin, and jobs, whose pods then wait for
// a node.
const controllers = "garbage-collector-controller,namespace-controller,serviceaccount-controller," +
	"serviceaccount-token-controller,root-ca-certificate-publisher-controller,clusterrole-aggregation-controller," +
	"job-controller"

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
