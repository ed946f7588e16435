package session

import (
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// kubeconfig writes one with a context for each server, named like it; the first is current.
func kubeconfig(t *testing.T, servers ...string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	for _, server := range servers {
		config.Clusters[server] = &clientcmdapi.Cluster{Server: "https://" + server + ".example.com"}
		config.AuthInfos[server] = &clientcmdapi.AuthInfo{Token: "token of " + server}
		config.Contexts[server] = &clientcmdapi.Context{Cluster: server, AuthInfo: server}
	}
	if len(servers) > 0 {
		config.CurrentContext = servers[0]
	}
	name := filepath.Join(t.TempDir(), "config.yaml")
	if err := clientcmd.WriteToFile(*config, name); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestLoad(t *testing.T) {
	two, other := kubeconfig(t, "one", "two"), kubeconfig(t, "three")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", other)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for name, test := range map[string]struct {
		kubeconfig, context string
		inCluster           bool
		host, want          string
	}{
		"current context":  {two, "", false, "https://one.example.com", ""},
		"another context":  {two, "two", false, "https://two.example.com", ""},
		"as kubectl does":  {"", "", false, "https://three.example.com", ""},
		"several files":    {other + string(filepath.ListSeparator) + two, "two", false, "https://two.example.com", ""},
		"no such context":  {two, "four", false, "", "kubeconfig: reading: invalid configuration: [context was not found for specified context: four"},
		"no such file":     {filepath.Join(t.TempDir(), "none"), "", false, "", "kubeconfig: reading: stat "},
		"nothing in it":    {kubeconfig(t), "", false, "", "kubeconfig: reading: there is none: name one with the setting kubeconfig"},
		"outside of a pod": {two, "", true, "", "in-cluster configuration: reading: unable to load in-cluster configuration"},
	} {
		config, err := Load(test.kubeconfig, test.context, test.inCluster)
		switch {
		case test.want == "" && (err != nil || config.Host != test.host):
			t.Errorf("%s: %v, %v", name, config, err)
		case test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)):
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheProcessIsTheCaller(t *testing.T) {
	server := newAPIServer(t)
	base := &rest.Config{Host: server.URL, BearerToken: "own-token", TLSClientConfig: rest.TLSClientConfig{CAData: server.ca()}}
	sessions := NewOwn(base, nil)
	own, err := sessions.Installation(clustermanager.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	signedIn, err := sessions.Installation(callerWith("caller-token"))
	if err != nil {
		t.Fatal(err)
	}
	for want, client := range map[string]*Client{"Bearer own-token": own, "Bearer caller-token": signedIn} {
		if err := listOnce(t, client); err != nil {
			t.Fatal(err)
		}
		server.mu.Lock()
		if got := server.requests[len(server.requests)-1].Get("Authorization"); got != want {
			t.Errorf("presented %q, want %q", got, want)
		}
		server.mu.Unlock()
	}
	if again, err := sessions.Installation(clustermanager.Caller{}); err != nil || again != own {
		t.Errorf("clients are not reused: %v", err)
	}
}

// A workload cluster sees the caller's token, or the kubeconfig's, and no other credential of it.
func TestWorkloadClustersSeeATokenOrNothing(t *testing.T) {
	server := newAPIServer(t)
	endpoint := clustermanager.Endpoint{Server: server.URL, CABundle: string(server.ca())}
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte("file-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	certificate := rest.TLSClientConfig{CertData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE"}), KeyData: []byte("made for this test")}
	for name, test := range map[string]struct {
		base   rest.Config
		caller clustermanager.Caller
		want   string
	}{
		"token":        {rest.Config{BearerToken: "own-token"}, clustermanager.Caller{}, "Bearer own-token"},
		"token file":   {rest.Config{BearerToken: "old", BearerTokenFile: tokenFile}, clustermanager.Caller{}, "Bearer file-token"},
		"caller's":     {rest.Config{BearerToken: "own-token"}, callerWith("caller-token"), "Bearer caller-token"},
		"certificate":  {rest.Config{TLSClientConfig: certificate}, clustermanager.Caller{}, ""},
		"password":     {rest.Config{Username: "own", Password: "made for this test"}, clustermanager.Caller{}, ""},
		"exec":         {rest.Config{ExecProvider: &clientcmdapi.ExecConfig{Command: "/does-not-exist"}}, clustermanager.Caller{}, ""},
		"a pod's":      {rest.Config{BearerToken: "pod", BearerTokenFile: podToken}, clustermanager.Caller{}, ""},
		"file is gone": {rest.Config{BearerTokenFile: tokenFile + ".none"}, clustermanager.Caller{}, ""},
	} {
		before := len(server.requests)
		client, err := NewOwn(&test.base, nil).Workload(test.caller, clustermanager.Cluster{Namespace: "org-acme", Name: "wc1"}, endpoint)
		if test.want == "" {
			if err == nil || name != "file is gone" && !errors.Is(err, errNoBearer) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := listOnce(t, client); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := server.requests[before].Get("Authorization"); got != test.want {
			t.Errorf("%s: presented %q, want %q", name, got, test.want)
		}
	}
	// Sessions of a server that asks its callers who they are have no such way.
	sessions := New(&rest.Config{Host: server.URL, BearerToken: "own-token"}, nil)
	if _, err := sessions.Installation(clustermanager.Caller{}); !errors.Is(err, ErrNoToken) {
		t.Errorf("installation: %v", err)
	}
	if _, err := sessions.Workload(clustermanager.Caller{}, clustermanager.Cluster{}, endpoint); !errors.Is(err, ErrNoToken) {
		t.Errorf("workload: %v", err)
	}
}

// A server that keeps its callers' tokens to itself reads the installation with its own, and no workload cluster with it.
func TestTheServersOwnCredentialsAreForTheInstallation(t *testing.T) {
	server := newAPIServer(t)
	base := &rest.Config{Host: server.URL, BearerToken: "own-token", TLSClientConfig: rest.TLSClientConfig{CAData: server.ca()}}
	sessions := NewShared(base, nil)
	client, err := sessions.Installation(clustermanager.Caller{Subject: "jane"})
	if err != nil {
		t.Fatal(err)
	}
	if err := listOnce(t, client); err != nil {
		t.Fatal(err)
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	if got := server.requests[len(server.requests)-1].Get("Authorization"); got != "Bearer own-token" {
		t.Errorf("presented %q", got)
	}
	endpoint := clustermanager.Endpoint{Server: server.URL, CABundle: string(server.ca())}
	if _, err := sessions.Workload(clustermanager.Caller{Subject: "jane"}, clustermanager.Cluster{Namespace: "org-acme", Name: "wc1"}, endpoint); !errors.Is(err, errShared) {
		t.Errorf("workload: %v", err)
	}
}

func TestCredentialPluginsAskNobody(t *testing.T) {
	base := &rest.Config{ExecProvider: &clientcmdapi.ExecConfig{Command: "/does-not-exist"}}
	if own := NewOwn(base, nil).own.ExecProvider; !own.StdinUnavailable || base.ExecProvider.StdinUnavailable {
		t.Error("standard input is given to a plugin, or the base was changed")
	}
}

// What is read of a Secret must not lead the caller's token into the clear.
func TestATokenIsSentEncrypted(t *testing.T) {
	for server, allowed := range map[string]bool{
		"https://api.example.com:6443": true, "http://127.0.0.1:8080/x": true, "http://api.example.com": false, "api.example.com": false, "": false, "ftp://127.0.0.1": false,
	} {
		if _, err := Direct(clustermanager.Cluster{}, clustermanager.Endpoint{Server: server}); (err == nil) != allowed {
			t.Errorf("%s: %v", server, err)
		}
	}
}
