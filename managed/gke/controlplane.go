package gke

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/managed"
)

// planeTimeout is what ends a request to a control plane. Authorized networks drop what they do not let in, so that nothing answers.
const planeTimeout = 10 * time.Second

// fieldManager owns what is applied on a cluster.
const fieldManager = "cluster-manager"

var (
	namespaces      = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	bindings        = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
)

// Token mints a token of a service account on a cluster. It makes the namespace, the account and its binding where they are
// missing, and speaks with the provider account's access token. Its end is what the cluster said, which may be sooner
// than asked. A control plane that does not answer is [managed.ErrUnreachable].
func (p *Provider) Token(
	ctx context.Context, account managed.Account, cluster managed.Cluster, name string, role managed.Role, ttl time.Duration,
) (managed.Token, error) {
	var none managed.Token
	config, err := p.access(ctx, account, &cluster)
	if err != nil {
		return none, fmt.Errorf("%s: speaking to its control plane: %w", cluster.ID, err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return none, fmt.Errorf("%s: speaking to its control plane: %w", cluster.ID, err)
	}
	for _, of := range accessObjects(name, role) {
		options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
		if _, err := resource(client, of).Apply(ctx, of.GetName(), of, options); err != nil {
			return none, planeFault(cluster.ID, "applying "+of.GetKind()+" "+of.GetName(), err)
		}
	}
	minted, err := client.Resource(serviceAccounts).Namespace(managed.AccessNamespace).
		Create(ctx, tokenRequest(name, ttl), metav1.CreateOptions{FieldManager: fieldManager}, "token")
	if err != nil {
		return none, planeFault(cluster.ID, "minting a token of "+name, err)
	}
	return tokenOf(cluster.ID, minted)
}

// access is how a cluster's control plane is spoken to. With the account's DNS endpoint it is that, whose certificate is
// public; else the address of the record, known by the cluster's own CA.
func (p *Provider) access(ctx context.Context, account managed.Account, cluster *managed.Cluster) (*rest.Config, error) {
	client, err := p.client(ctx, account)
	if err != nil {
		return nil, err
	}
	token, err := client.credentials.Token(ctx)
	if err != nil {
		return nil, tokenFault(err)
	}
	config := &rest.Config{
		Host: "https://" + cluster.Endpoint, BearerToken: token.Value, UserAgent: userAgent, Timeout: p.options.PlaneTimeout, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte(cluster.Authority)}, WarningHandler: rest.NoWarnings{},
	}
	if !account.DNSEndpoint {
		return config, nil
	}
	of, err := client.api.Clusters.Get(clusterName(account, cluster)).Context(ctx).Do()
	if err != nil {
		return nil, fmt.Errorf("asking for its DNS endpoint: %w", reason(err))
	}
	if endpoints := of.ControlPlaneEndpointsConfig; endpoints != nil && endpoints.DnsEndpointConfig != nil {
		config.Host, config.CAData = "https://"+endpoints.DnsEndpointConfig.Endpoint, p.options.DNSAuthorities
	}
	return config, nil
}

// accessObjects are what a token needs: the namespace, the account, and its binding of the same name to Kubernetes' own
// role. A binding's role cannot be changed, so each role has an account of its own.
func accessObjects(name string, role managed.Role) []*unstructured.Unstructured {
	labels := map[string]any{"app.kubernetes.io/managed-by": fieldManager}
	return []*unstructured.Unstructured{
		{Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": managed.AccessNamespace, "labels": labels},
		}},
		{Object: map[string]any{
			"apiVersion": "v1", "kind": "ServiceAccount",
			"metadata": map[string]any{"name": name, "namespace": managed.AccessNamespace, "labels": labels},
		}},
		{Object: map[string]any{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
			"metadata": map[string]any{"name": name, "labels": labels},
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role.ClusterRole()},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": name, "namespace": managed.AccessNamespace}},
		}},
	}
}

func resource(client dynamic.Interface, of *unstructured.Unstructured) dynamic.ResourceInterface {
	switch of.GetKind() {
	case "Namespace":
		return client.Resource(namespaces)
	case "ServiceAccount":
		return client.Resource(serviceAccounts).Namespace(of.GetNamespace())
	}
	return client.Resource(bindings)
}

func tokenRequest(name string, ttl time.Duration) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"metadata": map[string]any{"name": name, "namespace": managed.AccessNamespace},
		"spec":     map[string]any{"expirationSeconds": int64(ttl / time.Second)},
	}}
}

func tokenOf(cluster string, minted *unstructured.Unstructured) (managed.Token, error) {
	secret, _, _ := unstructured.NestedString(minted.Object, "status", "token")
	ends, _, _ := unstructured.NestedString(minted.Object, "status", "expirationTimestamp")
	expires, err := time.Parse(time.RFC3339, ends)
	if secret == "" || err != nil {
		return managed.Token{}, fmt.Errorf("%s: minting a token: the control plane's answer has none, or no end of it", cluster)
	}
	return managed.Token{Secret: clustermanager.NewSecret(secret), Expires: expires}, nil
}

// planeFault is an error of a control plane. What it answered itself is a refusal, but for what says that it cannot answer
// now; everything else did not reach it.
func planeFault(cluster, doing string, err error) error {
	var answered apierrors.APIStatus
	if errors.As(err, &answered) && answered.Status().Code < http.StatusInternalServerError {
		return fmt.Errorf("%s: %s: %w", cluster, doing, err)
	}
	return fmt.Errorf("%s: %s: %w: %w", cluster, doing, managed.ErrUnreachable, err)
}
