package testbed

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// The names of those who call with a token of the API server's own file, because they are no people.
const (
	adminName             = "admin"
	controllerManagerName = "system:kube-controller-manager"
)

// groupsOf are their groups.
var groupsOf = map[string]string{adminName: "system:masters", controllerManagerName: ""}

// runAPIServer starts etcd and the API server, and returns when it is ready.
func (b *Bed) runAPIServer(ctx context.Context) error {
	storage, err := b.runEtcd()
	if err != nil {
		return err
	}
	if b.apiServer, err = freeAddress(); err != nil {
		return err
	}
	arguments, err := b.apiServerArguments(storage)
	if err != nil {
		return err
	}
	// No limit on its memory: with all definitions it needs 0.9 GB, and below that the collector takes all its time.
	server, err := b.start(apiServer, nil, arguments...)
	if err != nil {
		return err
	}
	return server.ready(ctx, func(ctx context.Context) error { return b.answers(ctx, b.Admin(), "/readyz") })
}

func (b *Bed) runEtcd() (url string, err error) {
	client, err := freeAddress()
	if err != nil {
		return "", err
	}
	peer, err := freeAddress()
	if err != nil {
		return "", err
	}
	_, err = b.start(etcd, nil,
		"--data-dir="+b.path("etcd"), "--unsafe-no-fsync",
		"--listen-client-urls=http://"+client, "--advertise-client-urls=http://"+client,
		"--listen-peer-urls=http://"+peer, "--initial-advertise-peer-urls=http://"+peer,
		"--initial-cluster=default=http://"+peer,
	)
	return "http://" + client, err
}

func (b *Bed) apiServerArguments(storage string) ([]string, error) {
	serving, err := b.certificates.issue(b.path("certificates"), "kube-apiserver")
	if err != nil {
		return nil, fmt.Errorf("test bed: %w", err)
	}
	frontProxy, err := b.frontProxy.issue(b.path("certificates"), "front-proxy-client")
	if err != nil {
		return nil, fmt.Errorf("test bed: %w", err)
	}
	serviceAccounts := b.path("certificates", "service-accounts.key")
	if _, err := writeKey(serviceAccounts); err != nil {
		return nil, fmt.Errorf("test bed: %w", err)
	}
	if err := errors.Join(b.writeTokens(), b.writeAuthentication()); err != nil {
		return nil, fmt.Errorf("test bed: kube-apiserver: writing its configuration: %w", err)
	}
	return []string{
		"--etcd-servers=" + storage,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--secure-port=" + b.apiServer[strings.LastIndex(b.apiServer, ":")+1:],
		"--tls-cert-file=" + serving.certificate, "--tls-private-key-file=" + serving.key,
		"--client-ca-file=" + b.certificates.file,
		"--service-account-issuer=https://" + b.apiServer,
		"--service-account-key-file=" + serviceAccounts, "--service-account-signing-key-file=" + serviceAccounts,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=RBAC",
		"--token-auth-file=" + b.path("tokens.csv"), "--authentication-config=" + b.path("authentication.yaml"),
		"--requestheader-client-ca-file=" + b.frontProxy.file, "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + frontProxy.certificate, "--proxy-client-key-file=" + frontProxy.key,
		"--shutdown-delay-duration=0s", "--profiling=false",
	}, nil
}

func (b *Bed) writeTokens() error {
	b.tokens = map[string]clustermanager.Secret{}
	var lines strings.Builder
	for name, groups := range groupsOf {
		token := rand.Text()
		b.tokens[name] = clustermanager.NewSecret(token)
		fmt.Fprintf(&lines, "%s,%s,%s,%q\n", token, name, name, groups)
	}
	return os.WriteFile(b.path("tokens.csv"), []byte(lines.String()), 0o600)
}

// writeAuthentication makes the API server trust the provider. Probes need no name.
func (b *Bed) writeAuthentication() error {
	authority, err := os.ReadFile(b.certificates.file)
	if err != nil {
		return err
	}
	content, err := yaml.Marshal(map[string]any{
		"apiVersion": "apiserver.config.k8s.io/v1",
		"kind":       "AuthenticationConfiguration",
		"anonymous": map[string]any{
			"enabled":    true,
			"conditions": []map[string]any{{"path": "/livez"}, {"path": "/readyz"}, {"path": "/healthz"}},
		},
		"jwt": []map[string]any{{
			"issuer": map[string]any{
				"url": b.provider.url(), "audiences": []string{clientID}, "certificateAuthority": string(authority),
			},
			"claimMappings": map[string]any{
				"username": map[string]any{"claim": "email", "prefix": ""},
				"groups":   map[string]any{"claim": "groups", "prefix": ""},
			},
		}},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(b.path("authentication.yaml"), content, 0o600)
}

// answers asks for a path, and returns an error unless the answer is good.
func (b *Bed) answers(ctx context.Context, config *rest.Config, path string) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return final{err}
	}
	return get(ctx, client, config.Host+path)
}

func get(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return final{err}
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}

// writeKubeconfig writes a kubeconfig with a context for each name, the first of which is the administrator's.
func (b *Bed) writeKubeconfig(file string, tokens map[string]clustermanager.Secret) error {
	config := api.NewConfig()
	config.Clusters["testbed"] = &api.Cluster{Server: "https://" + b.apiServer, CertificateAuthority: b.certificates.file}
	for name, token := range tokens {
		config.AuthInfos[name] = &api.AuthInfo{Token: token.Reveal()}
		config.Contexts[name] = &api.Context{Cluster: "testbed", AuthInfo: name}
		config.CurrentContext = name
	}
	if _, found := tokens[adminName]; found {
		config.CurrentContext = adminName
	}
	if err := clientcmd.WriteToFile(*config, b.path(file)); err != nil {
		return fmt.Errorf("test bed: writing %s: %w", file, err)
	}
	return nil
}
