package survey

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	// kubeconfigKey is the key in it.
	kubeconfigKey = "value"
	// maxServer is the longest address of an API server that is taken: a host name has 253 characters at most.
	maxServer = 2048
)

// Workload makes the caller's clients of a workload cluster whose API server answers at the endpoint. They present the
// caller's token and nothing else.
type Workload func(cluster clustermanager.Cluster, endpoint clustermanager.Endpoint) (Client, error)

// errNoWorkload says that a reader was made without a way to workload clusters.
var errNoWorkload = errors.New("workload clusters cannot be read here")

// target returns a reader of the cluster's own API server: this one for the installation's own cluster, else one over
// the caller's clients of the workload cluster. The error says why the cluster cannot be read.
func (r *Reader) target(ctx context.Context, cluster clustermanager.Cluster) (*Reader, error) {
	if cluster.Own {
		return r, nil
	}
	return once(r, "target|"+cluster.Namespace+"/"+cluster.Name, func() (*Reader, error) {
		endpoint, err := r.endpoint(ctx, cluster)
		if err != nil {
			return nil, err
		}
		if r.options.Workload == nil {
			return nil, fmt.Errorf("Cluster %s/%s: connecting: %w", cluster.Namespace, cluster.Name, errNoWorkload)
		}
		client, err := r.options.Workload(cluster, endpoint)
		if err != nil {
			return nil, fmt.Errorf("Cluster %s/%s: connecting: %w", cluster.Namespace, cluster.Name, err)
		}
		made := &Reader{
			client: client, options: r.options, where: " on cluster " + cluster.Namespace + "/" + cluster.Name, reads: map[string]any{},
		}
		if budget := r.options.WorkloadBudget; budget > 0 {
			made.deadline = time.Now().Add(budget)
		}
		return made, nil
	})
}

// endpoint is where a cluster's API server answers, from the Secret that the Cluster API writes. Of the kubeconfig in it
// only a cluster entry's server and authority are taken; no error repeats any of its content.
func (r *Reader) endpoint(ctx context.Context, cluster clustermanager.Cluster) (clustermanager.Endpoint, error) {
	return once(r, "endpoint|"+cluster.Namespace+"/"+cluster.Name, func() (clustermanager.Endpoint, error) {
		secret, err := r.get(ctx, secretNoun, cluster.Namespace, clustermanager.KubeconfigSecretName(cluster))
		if err != nil {
			return clustermanager.Endpoint{}, err
		}
		encoded := textAt(secret.Object, "data", kubeconfigKey)
		if encoded == "" {
			return clustermanager.Endpoint{}, fmt.Errorf("%s: reading its kubeconfig: it has no key %s", clustermanager.ReferenceTo(secret), kubeconfigKey)
		}
		endpoint, err := endpointOf(encoded)
		if err != nil {
			return clustermanager.Endpoint{}, fmt.Errorf("%s: reading its kubeconfig: %w", clustermanager.ReferenceTo(secret), err)
		}
		return endpoint, nil
	})
}

func endpointOf(encoded string) (clustermanager.Endpoint, error) {
	content, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(content) == 0 {
		return clustermanager.Endpoint{}, fmt.Errorf("key %s holds no base64 text", kubeconfigKey)
	}
	config, err := clientcmd.Load(content)
	if err != nil {
		return clustermanager.Endpoint{}, fmt.Errorf("key %s holds no kubeconfig", kubeconfigKey)
	}
	found := firstWithServer(config)
	switch {
	case found == nil:
		return clustermanager.Endpoint{}, errors.New("no cluster entry names a server")
	case len(found.Server) > maxServer:
		return clustermanager.Endpoint{}, fmt.Errorf("its cluster entry's server is longer than %d characters", maxServer)
	case len(found.CertificateAuthorityData) == 0:
		return clustermanager.Endpoint{}, errors.New("its cluster entry holds no certificate-authority-data")
	}
	return clustermanager.Endpoint{Server: found.Server, CABundle: string(found.CertificateAuthorityData)}, nil
}

// firstWithServer is the cluster entry with a server; of several, the first by name.
func firstWithServer(config *clientcmdapi.Config) *clientcmdapi.Cluster {
	var first string
	for name, entry := range config.Clusters {
		if entry.Server != "" && (first == "" || name < first) {
			first = name
		}
	}
	return config.Clusters[first]
}
