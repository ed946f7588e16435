// Command helm stands in for Flux's helm-controller, which cannot be built from modules: its own module is not to be had.
// It is this project's, made of Helm's SDK and of the controller's published types.
//
// It promises, for a HelmRelease with a chartRef to an OCIRepository: the chart out of the artifact of source-controller,
// values of ConfigMaps and Secrets with the inline ones on top, a release by Helm as the service account or through the
// kubeconfig, in target and storage namespace, the chart's own definitions by the policy, waiting as Helm waits, labels on
// what is rendered, remediation and retries; finalizer, conditions, history, attempted revision and observed generation in
// the words of helm-controller; uninstallation when the HelmRelease is deleted, unless it is suspended; and a look at once
// when reconcile.fluxcd.io/requestedAt changes.
//
// It leaves out, against helm-controller:
//   - HelmReleases with chart, dependsOn, postRenderers, commonMetadata, test, driftDetection, a chartRef of another kind,
//     a kubeConfig of a ConfigMap, a value with targetPath, healthCheckExprs: they are stalled with the reason Unsupported;
//   - drift of any kind: a release is upgraded when its chart or its values change, or its last attempt failed;
//   - events, status.inventory, action durations, the two checksums of older versions, metrics, sharding, feature gates;
//   - adoption of releases that an older Helm left behind, pending ones too, and a change of the release's name or
//     namespaces after it was installed: the former release stays;
//   - the interruption of an action by a newer generation, which waits for the action's end.
//
// It is for tests on loopback alone.
package main

import (
	"flag"
	"fmt"
	"os"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "helm:", err)
		os.Exit(1)
	}
}

// run takes the cluster from KUBECONFIG.
func run() error {
	health := flag.String("health-addr", "", "loopback address that answers /readyz")
	flag.Parse()
	ctrl.SetLogger(klog.Background())

	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgo.AddToScheme, helmv2.AddToScheme, sourcev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: *health,
	})
	if err != nil {
		return fmt.Errorf("making the manager: %w", err)
	}
	if err := manager.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := (&reconciler{Client: manager.GetClient(), reader: manager.GetAPIReader(), config: config}).setUp(manager); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
