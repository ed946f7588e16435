package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"helm.sh/helm/v4/pkg/action"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// target is a cluster, called as one identity, with Helm's releases in one of its namespaces.
type target struct {
	getter *getter
	helm   *action.Configuration
}

// target is where a HelmRelease's objects live and as whom they are written: through its kubeconfig, and as its service
// account where it names one.
func (r *reconciler) target(ctx context.Context, release *helmv2.HelmRelease) (*target, error) {
	config := rest.CopyConfig(r.config)
	if reference := release.Spec.KubeConfig; reference != nil {
		var err error
		if config, err = r.kubeconfig(ctx, release.Namespace, reference.SecretRef.Name, reference.SecretRef.Key); err != nil {
			return nil, err
		}
	}
	if name := release.Spec.ServiceAccountName; name != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: fmt.Sprintf("system:serviceaccount:%s:%s", release.Namespace, name)}
	}
	config.QPS = -1
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(kinds)
	made := &target{
		getter: &getter{config, cached, restmapper.NewDeferredDiscoveryRESTMapper(cached), release.GetReleaseNamespace()},
		helm:   action.NewConfiguration(action.ConfigurationSetLogger(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))),
	}
	return made, made.helm.Init(made.getter, release.GetStorageNamespace(), "secret")
}

func (r *reconciler) kubeconfig(ctx context.Context, namespace, name, key string) (*rest.Config, error) {
	secret := &corev1.Secret{}
	if err := r.reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, secret); err != nil {
		return nil, fmt.Errorf("failed to get KubeConfig secret '%s/%s': %w", namespace, name, err)
	}
	// The order of Flux: a key that is named, else value.
	if key == "" {
		key = "value"
	}
	content, found := secret.Data[key]
	if !found {
		return nil, fmt.Errorf("KubeConfig secret '%s/%s' does not contain a '%s' key", namespace, name, key)
	}
	return clientcmd.RESTConfigFromKubeConfig(content)
}

// last is Helm's latest release of a name.
func (t *target) last(name string) (*releasev1.Release, error) {
	found, err := t.helm.Releases.Last(name)
	if err != nil {
		return nil, err
	}
	return found.(*releasev1.Release), nil
}

// getter is what Helm asks for clients.
type getter struct {
	config    *rest.Config
	kinds     discovery.CachedDiscoveryInterface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	namespace string
}

// ToRESTConfig is the configuration of a client.
func (g *getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

// ToDiscoveryClient keeps the kinds until they are forgotten.
func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) { return g.kinds, nil }

// ToRESTMapper knows the kinds.
func (g *getter) ToRESTMapper() (meta.RESTMapper, error) { return g.mapper, nil }

// ToRawKubeConfigLoader tells the namespace of objects that name none.
func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return clientcmd.NewDefaultClientConfig(*api.NewConfig(), &clientcmd.ConfigOverrides{Context: api.Context{Namespace: g.namespace}})
}

// forget makes the kinds be asked for again.
func (g *getter) forget() { g.mapper.Reset() }
