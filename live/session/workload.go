package session

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Route says how a workload cluster's API server is reached, given the endpoint that its kubeconfig names.
type Route func(cluster clustermanager.Cluster, endpoint clustermanager.Endpoint) (*rest.Config, error)

// Direct reaches a workload cluster's API server where its kubeconfig says: by https, and by http on this machine alone,
// since the caller's token goes there.
func Direct(_ clustermanager.Cluster, endpoint clustermanager.Endpoint) (*rest.Config, error) {
	address, err := url.Parse(endpoint.Server)
	if err != nil || address.Host == "" || address.Scheme != "https" && !(address.Scheme == "http" && clustermanager.IsLoopback(address.Hostname())) {
		return nil, errors.New("the server that its kubeconfig names is no https address, so the caller's token is not sent there")
	}
	return &rest.Config{Host: endpoint.Server, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(endpoint.CABundle)}}, nil
}

// Workload returns the clients of a workload cluster's API server for the caller, under the rules of Installation. The
// endpoint is the one that the cluster's kubeconfig names; a cluster whose server or authority changes gets new clients.
func (s *Sessions) Workload(caller clustermanager.Caller, cluster clustermanager.Cluster, endpoint clustermanager.Endpoint) (*Client, error) {
	token, err := s.bearer(caller)
	if err != nil {
		return nil, err
	}
	server, err := s.route(cluster, endpoint)
	if err != nil {
		return nil, err
	}
	of := key{token: sumOf(token.Reveal()), server: sumOf(
		cluster.Namespace, cluster.Name, endpoint.Server, endpoint.CABundle,
		server.Host, server.ServerName, server.CAFile, string(server.CAData),
	)}
	client, _, err := s.workload.client(of, token, func() (*Client, error) {
		return newClient(anonymous(server), token)
	})
	if err != nil {
		return nil, fmt.Errorf("Cluster %s/%s: making the caller's clients: %w", cluster.Namespace, cluster.Name, err)
	}
	return client, nil
}

// sumOf is the hash of the parts.
func sumOf(parts ...string) sum { return sha256.Sum256([]byte(strings.Join(parts, "\x00"))) }
