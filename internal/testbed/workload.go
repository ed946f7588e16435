package testbed

import (
	"context"
	"fmt"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Workload starts a workload cluster beside the bed, which ends with the test: an API server of its own with etcd and the
// controller manager, and with definitions. It has the bed's certificate authority and identity provider, so that the
// tokens of the bed's users are good for it too; what they may do there is another matter. It has no Flux.
func (b *Bed) Workload(t testing.TB, definitions ...Set) *Bed {
	t.Helper()
	workload := &Bed{
		options: Options{Users: b.options.Users, Definitions: definitions}, programs: b.programs, modules: b.modules,
		certificates: b.certificates, frontProxy: b.frontProxy, provider: b.provider,
	}
	if err := workload.makeFolder(); err != nil {
		t.Fatal(err)
	}
	workload.endWith(t)
	for _, step := range []func(context.Context) error{workload.runAPIServer, workload.installDefinitions, workload.runControllerManager} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	workload.users = map[string]clustermanager.Secret{}
	for email, token := range b.users {
		if err := workload.welcome(t.Context(), email, token); err != nil {
			t.Fatal(err)
		}
	}
	return workload
}

// KubeconfigSecret is the Secret by which Cluster API tells others of a cluster, <cluster>-kubeconfig, for this API server;
// its user is the administrator.
func (b *Bed) KubeconfigSecret(namespace, cluster string) (*unstructured.Unstructured, error) {
	return b.kubeconfigSecret(namespace, cluster, b.apiServer)
}

// UnreachableSecret is the Secret <cluster>-kubeconfig of a cluster where nobody answers.
func (b *Bed) UnreachableSecret(namespace, cluster string) (*unstructured.Unstructured, error) {
	nobody, err := freeAddress()
	if err != nil {
		return nil, err
	}
	return b.kubeconfigSecret(namespace, cluster, nobody)
}

func (b *Bed) kubeconfigSecret(namespace, cluster, address string) (*unstructured.Unstructured, error) {
	authority, err := os.ReadFile(b.certificates.file)
	if err != nil {
		return nil, fmt.Errorf("test bed: kubeconfig of %s: %w", cluster, err)
	}
	config := api.NewConfig()
	config.Clusters[cluster] = &api.Cluster{Server: "https://" + address, CertificateAuthorityData: authority}
	config.AuthInfos[adminName] = &api.AuthInfo{Token: b.tokens[adminName].Reveal()}
	config.Contexts[cluster] = &api.Context{Cluster: cluster, AuthInfo: adminName}
	config.CurrentContext = cluster
	content, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("test bed: kubeconfig of %s: %w", cluster, err)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
		"metadata": map[string]any{
			"namespace": namespace, "name": cluster + "-kubeconfig",
			"labels": map[string]any{"cluster.x-k8s.io/cluster-name": cluster},
		},
		"stringData": map[string]any{"value": string(content)},
	}}, nil
}
