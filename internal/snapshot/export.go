package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// unreadFile lists in the folder what could not be read.
const unreadFile = "not-exported.txt"

// Chart is a chart as the folder holds it.
type Chart struct {
	Name, Version string
	// Files are by their path in the chart's folder.
	Files map[string][]byte
}

// Options say what is exported, and where to.
type Options struct {
	// Dir is the folder; it must not exist, or be empty.
	Dir string
	// Installation is the installation's API server.
	Installation Server
	// Workload makes the caller's clients of a workload cluster whose API server answers at the endpoint.
	Workload func(cluster clustermanager.Cluster, endpoint clustermanager.Endpoint) (Server, error)
	Settings clustermanager.Settings
	// Given are the settings that the snapshot keeps, by their names.
	Given map[string]string
	// Caller is who the snapshot's calls run as. Without an e-mail the API server is asked who the caller is.
	Caller clustermanager.Caller
	// Charts reads what a release of a chart at a version is made of; nil: no charts are kept.
	Charts func(ctx context.Context, url, version string) ([]Chart, error)
}

// Report says what an export did.
type Report struct {
	// Objects is the number of objects, Charts of charts; Clusters are the workload clusters that were read.
	Objects, Charts int
	Clusters        []string
	// Unread is what could not be read, one line each, sorted.
	Unread []string
}

// Export writes the folder. The error is one of the folder, or of an installation that does not answer; what else could
// not be read is in the report, and in the folder's file not-exported.txt.
func Export(ctx context.Context, options Options) (Report, error) {
	folder, err := newFolder(options.Dir)
	if err != nil {
		return Report{}, err
	}
	installation, err := newReader("installation", options.Installation, options.Settings)
	if err != nil {
		return Report{}, err
	}
	installation.readKinds(ctx, ofInstallation)
	if installation.hasOwnCluster() {
		installation.readKinds(ctx, ofTarget)
	}
	installation.readReferenced(ctx)
	var report Report
	report.Unread = append(report.Unread, installation.unread...)
	if err := folder.objects("management", installation, &report); err != nil {
		return report, err
	}
	if err := exportClusters(ctx, options, installation, folder, &report); err != nil {
		return report, err
	}
	if err := exportCharts(ctx, options, installation, folder, &report); err != nil {
		return report, err
	}
	if options.Caller.Email == "" {
		installation.unread = nil
		options.Caller.Email, options.Caller.Groups = installation.whoAmI(ctx)
		report.Unread = append(report.Unread, installation.unread...)
	}
	if err := ctx.Err(); err != nil {
		return report, fmt.Errorf("snapshot %s: exporting: %w", options.Dir, err)
	}
	slices.Sort(report.Unread)
	report.Unread = slices.Compact(report.Unread)
	return report, errors.Join(folder.settings(options), folder.unread(report))
}

// hasOwnCluster says whether the installation is a cluster of its own, which models may be served on. Where the setting
// that names it is not given, it is none.
func (r *reader) hasOwnCluster() bool {
	own := func(cluster *unstructured.Unstructured) bool { return cluster.GetName() == r.settings.Installation }
	return slices.ContainsFunc(r.all("Cluster"), own)
}

// exportClusters reads each workload cluster that can be read.
func exportClusters(ctx context.Context, options Options, installation *reader, folder *folder, report *Report) error {
	for _, object := range installation.all("Cluster") {
		cluster := clustermanager.Cluster{Namespace: object.GetNamespace(), Name: object.GetName()}
		if cluster.Name == options.Settings.Installation {
			continue
		}
		what := fmt.Sprintf("Cluster %s/%s", cluster.Namespace, cluster.Name)
		if slices.Contains(report.Clusters, cluster.Name) {
			report.Unread = append(report.Unread, what+": the snapshot has a cluster of this name already")
			continue
		}
		target, err := connect(options, installation, cluster)
		if err != nil {
			report.Unread = append(report.Unread, clustermanager.OneLine(what+": "+err.Error(), 0))
			continue
		}
		target.readKinds(ctx, ofTarget)
		report.Unread = append(report.Unread, target.unread...)
		if err := folder.objects(filepath.Join("clusters", cluster.Name), target, report); err != nil {
			return err
		}
		report.Clusters = append(report.Clusters, cluster.Name)
	}
	return nil
}

// connect makes a reader of a workload cluster by the endpoint that its kubeconfig names.
func connect(options Options, installation *reader, cluster clustermanager.Cluster) (*reader, error) {
	secret := installation.objects[clustermanager.ObjectReference{Kind: "Secret", Namespace: cluster.Namespace, Name: cluster.Name + kubeconfigSuffix}]
	if secret == nil {
		return nil, errors.New("its kubeconfig Secret is not there, or cannot be read")
	}
	data, _, _ := unstructured.NestedStringMap(masked(secret).Object, "data")
	endpoint, err := endpointOf(data[kubeconfigKey])
	if err != nil {
		return nil, err
	}
	server, err := options.Workload(cluster, endpoint)
	if err != nil {
		return nil, err
	}
	return newReader("Cluster "+cluster.Namespace+"/"+cluster.Name, server, options.Settings)
}

// endpointOf reads a kubeconfig without users; of several clusters the first by name that has a server.
func endpointOf(encoded string) (clustermanager.Endpoint, error) {
	content, err := decodeBase64(encoded)
	if err != nil {
		return clustermanager.Endpoint{}, err
	}
	config, err := clientcmd.Load(content)
	if err != nil {
		return clustermanager.Endpoint{}, errors.New("its kubeconfig Secret holds no kubeconfig")
	}
	var names []string
	for name, cluster := range config.Clusters {
		if cluster.Server != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return clustermanager.Endpoint{}, errors.New("its kubeconfig names no server")
	}
	named := config.Clusters[slices.Min(names)]
	if len(named.CertificateAuthorityData) == 0 {
		return clustermanager.Endpoint{}, errors.New("its kubeconfig holds no certificate-authority-data")
	}
	return clustermanager.Endpoint{Server: named.Server, CABundle: string(named.CertificateAuthorityData)}, nil
}

// keptCharts are the charts that decisions read, by the end of their address.
func keptChart(url string) bool {
	name := url[strings.LastIndex(url, "/")+1:]
	return name == clustermanager.ChartAgentPlatform || strings.HasPrefix(name, "release-")
}

// exportCharts keeps the charts of the releases that decisions read charts for, at the versions that they run.
func exportCharts(ctx context.Context, options Options, installation *reader, folder *folder, report *Report) error {
	if options.Charts == nil {
		return nil
	}
	written := map[string]bool{}
	for _, release := range installation.all("HelmRelease") {
		url, version := installation.chartOf(release)
		if !keptChart(url) || version == "" || written[url+version] {
			continue
		}
		written[url+version] = true
		charts, err := options.Charts(ctx, url, version)
		if err != nil {
			report.Unread = append(report.Unread, clustermanager.OneLine(err.Error(), 0))
		}
		for _, chart := range charts {
			if name := chart.Name + "-" + chart.Version; !written[name] {
				written[name] = true
				report.Charts++
				if err := folder.chart(chart); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// chartOf is where a release's chart comes from, and the version that it runs, or else is told to.
func (r *reader) chartOf(release *unstructured.Unstructured) (url, version string) {
	reference, _, _ := unstructured.NestedStringMap(release.Object, "spec", "chartRef")
	namespace := reference["namespace"]
	if namespace == "" {
		namespace = release.GetNamespace()
	}
	source := r.objects[clustermanager.ObjectReference{APIVersion: clustermanager.SourceAPI.Group, Kind: "OCIRepository", Namespace: namespace, Name: reference["name"]}]
	if source == nil {
		return "", ""
	}
	url, _, _ = unstructured.NestedString(source.Object, "spec", "url")
	history, _, _ := unstructured.NestedSlice(release.Object, "status", "history")
	if len(history) > 0 {
		newest, _ := history[0].(map[string]any)
		version, _ = newest["chartVersion"].(string)
	}
	if version == "" {
		version, _, _ = unstructured.NestedString(source.Object, "spec", "ref", "tag")
	}
	// Flux appends the chart's digest as build metadata.
	version, _, _ = strings.Cut(version, "+")
	return url, version
}

// whoAmI asks the API server whom it takes the caller for.
func (r *reader) whoAmI(ctx context.Context) (email string, groups []string) {
	resource := schema.GroupResource{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"}
	review := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}}
	answered, err := r.server.Dynamic.Resource(resource.WithVersion("v1")).Create(ctx, review, createOptions)
	if err != nil {
		r.miss("asking who the caller is", err)
		return "", nil
	}
	email, _, _ = unstructured.NestedString(answered.Object, "status", "userInfo", "username")
	groups, _, _ = unstructured.NestedStringSlice(answered.Object, "status", "userInfo", "groups")
	return email, groups
}

// newFolder makes the folder; one that holds something already is refused.
func newFolder(path string) (*folder, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("folder %s: making: %w", path, errors.Unwrap(err))
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("folder %s: reading: %w", path, errors.Unwrap(err))
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("folder %s: it is not empty, and nothing in it is replaced: name a new folder", path)
	}
	return &folder{path: path}, nil
}
