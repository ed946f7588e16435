package manageddemo

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// plane is an API server: how it is reached and who speaks there.
type plane struct {
	// address is a host and a port.
	address, authority string
	token              clustermanager.Secret
}

// kubeconfig is what is read of one.
type kubeconfig struct {
	CurrentContext string `json:"current-context"`
	Contexts       []struct {
		Name    string
		Context struct{ Cluster, User string }
	}
	Clusters []struct {
		Name    string
		Cluster struct {
			Server        string
			Authority     string `json:"certificate-authority"`
			AuthorityData []byte `json:"certificate-authority-data"`
		}
	}
	Users []struct {
		Name string
		User struct{ Token string }
	}
}

// readPlane reads a kubeconfig's file.
func readPlane(file string) (plane, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return plane{}, fmt.Errorf("kubeconfig: reading: %w", err)
	}
	return parsePlane(data)
}

// parsePlane reads the current context of a kubeconfig: its server, authority and token.
func parsePlane(data []byte) (plane, error) {
	var of kubeconfig
	if err := yaml.Unmarshal(data, &of); err != nil {
		// What the parser says may quote the text.
		return plane{}, errors.New("kubeconfig: decoding: it is no YAML of one")
	}
	var found plane
	for _, one := range of.Contexts {
		if one.Name != of.CurrentContext {
			continue
		}
		for _, cluster := range of.Clusters {
			if cluster.Name == one.Context.Cluster {
				found.address, found.authority = strings.TrimPrefix(cluster.Cluster.Server, "https://"), string(cluster.Cluster.AuthorityData)
				if file := cluster.Cluster.Authority; file != "" {
					data, err := os.ReadFile(file)
					if err != nil {
						return plane{}, fmt.Errorf("kubeconfig: reading its authority: %w", err)
					}
					found.authority = string(data)
				}
			}
		}
		for _, user := range of.Users {
			if user.Name == one.Context.User {
				found.token = clustermanager.NewSecret(user.User.Token)
			}
		}
	}
	if found.address == "" || found.authority == "" || found.token.Reveal() == "" {
		return plane{}, errors.New("kubeconfig: its current context has no server, no authority or no token")
	}
	return found, nil
}

// ask is the status of a GET.
func (p plane) ask(ctx context.Context, path string) (string, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(p.authority))
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+p.address+path, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+p.token.Reveal())
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	return response.Status, response.Body.Close()
}
