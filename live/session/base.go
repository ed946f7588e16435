package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// podToken is where a pod has its ServiceAccount's token.
const podToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"

// Load finds the configuration of the installation's API server: in a pod when inCluster says so, else in the kubeconfig
// (one file, or several as the variable KUBECONFIG lists them; "": where kubectl looks), at the context ("": the current
// one). Where no kubeconfig can be used and the process runs in a pod, it is the pod's.
func Load(kubeconfig, context string, inCluster bool) (*rest.Config, error) {
	if inCluster {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("in-cluster configuration: reading: %w", err)
		}
		return config, nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	switch files := filepath.SplitList(kubeconfig); {
	case len(files) == 1:
		rules.ExplicitPath = kubeconfig
	case len(files) > 1:
		rules.Precedence = files
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
	// ClientConfig would fall back to the pod by itself, and hide why the kubeconfig cannot be used.
	raw, err := loader.RawConfig()
	if err == nil && clientcmdapi.IsConfigEmpty(&raw) {
		err = errors.New("there is none: name one with the setting kubeconfig")
	}
	if err == nil {
		var config *rest.Config
		if config, err = clientcmd.NewNonInteractiveClientConfig(raw, context, &clientcmd.ConfigOverrides{}, rules).ClientConfig(); err == nil {
			return config, nil
		}
	}
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		if config, inClusterErr := rest.InClusterConfig(); inClusterErr == nil {
			return config, nil
		}
	}
	return nil, fmt.Errorf("kubeconfig: reading: %w", err)
}

// NewOwn makes Sessions for a process whose own configuration is the caller, such as a person's kubeconfig on their
// machine: a caller without a token acts with the configuration's credentials. A caller with one acts with that alone, as
// with [New].
//
// A workload cluster is presented the configuration's bearer token, when it has one, and nothing else of it: not a
// certificate, which another cluster does not know, and not the token of the pod's ServiceAccount, which is no person's.
func NewOwn(base *rest.Config, route Route) *Sessions {
	sessions := New(base, route)
	sessions.own = rest.CopyConfig(base)
	if sessions.own.ExecProvider != nil {
		// Standard input may be the MCP client's.
		sessions.own.ExecProvider = sessions.own.ExecProvider.DeepCopy()
		sessions.own.ExecProvider.StdinUnavailable = true
		sessions.own.ExecProvider.StdinUnavailableMessage = "cluster-manager does not ask: sign in with kubectl first"
	}
	return sessions
}

// NewShared makes Sessions for a server that knows its callers and yet reads the installation with its own credentials: those
// of the configuration, for a caller without a token. A workload cluster is read as the caller alone, so not at all then.
func NewShared(base *rest.Config, route Route) *Sessions {
	sessions := NewOwn(base, route)
	sessions.shared = true
	return sessions
}

// errShared says why a server that reads with its own credentials reads no workload cluster.
var errShared = errors.New("a workload cluster is read as the caller alone, and this server keeps the callers' tokens to itself: start it with downstream-oauth")

// errNoBearer says why a process that is the caller itself reads no workload cluster.
var errNoBearer = errors.New("a workload cluster is read with the caller's bearer token alone, and the kubeconfig's user has none: use one with a token")

// bearer is the token that a caller presents to a workload cluster.
func (s *Sessions) bearer(caller clustermanager.Caller) (clustermanager.Secret, error) {
	switch {
	case !caller.KubernetesToken.IsZero():
		return caller.KubernetesToken, nil
	case s.own == nil:
		return clustermanager.Secret{}, ErrNoToken
	case s.shared:
		return clustermanager.Secret{}, errShared
	case s.own.BearerTokenFile == podToken:
		return clustermanager.Secret{}, errNoBearer
	case s.own.BearerTokenFile != "":
		// The file may be renewed, and wins over the token that was read of it.
		content, err := os.ReadFile(s.own.BearerTokenFile)
		if err != nil {
			return clustermanager.Secret{}, fmt.Errorf("token file of the kubeconfig's user: reading: %w", err)
		}
		return nonEmpty(string(content))
	}
	return nonEmpty(s.own.BearerToken)
}

func nonEmpty(token string) (clustermanager.Secret, error) {
	if token = strings.TrimSpace(token); token == "" {
		return clustermanager.Secret{}, errNoBearer
	}
	return clustermanager.NewSecret(token), nil
}
