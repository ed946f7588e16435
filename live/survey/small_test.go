package survey_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/offline"
	"github.com/clustermanager/cluster-manager/live/survey"
)

// small is a snapshot of a few objects: the installation gazelle, and workload clusters in org-acme.
type small struct {
	// management are documents of the installation beside the Clusters and their kubeconfig Secrets.
	management string
	// clusters are the documents of each workload cluster by its name; a cluster without an entry cannot be read.
	clusters map[string]string
	// names are the Clusters; none: gazelle in org-giantswarm, wc1 in org-acme.
	names []clustermanager.NamespacedName
	// refuse answers requests that hold one of the texts: "<cluster or installation> <method> <path>" to a status.
	refuse map[string]int
	// around wraps each server's transport.
	around func(server string, next http.RoundTripper) http.RoundTripper
	// alone gives each request a connection of its own, and each connection an end.
	alone bool

	mu       sync.Mutex
	requests []string
}

var (
	wc1Cluster = clustermanager.Cluster{Namespace: "org-acme", Name: "wc1", Organization: "acme"}
	ownCluster = clustermanager.Cluster{Namespace: "org-giantswarm", Name: "gazelle", Organization: "giantswarm", Own: true}
)

// documents are the Cluster and its kubeconfig Secret, whose content was made for the tests.
func documents(name clustermanager.NamespacedName) string {
	kubeconfig := fmt.Sprintf(`{clusters: [{name: c, cluster: {server: "https://api.%s.example", certificate-authority-data: %s}}]}`,
		name.Name, base64.StdEncoding.EncodeToString([]byte("made for tests")))
	return fmt.Sprintf(`
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: %[1]s, namespace: %[2]s, labels: {release.giantswarm.io/version: 31.0.0}}
spec:
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSCluster, name: %[1]s}
  controlPlaneRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: %[1]s}
---
apiVersion: v1
kind: Secret
metadata: {name: %[1]s-kubeconfig, namespace: %[2]s}
data: {value: %[3]s}
`, name.Name, name.Namespace, base64.StdEncoding.EncodeToString([]byte(kubeconfig)))
}

func (s *small) write(t testing.TB) string {
	t.Helper()
	if s.names == nil {
		s.names = []clustermanager.NamespacedName{{Namespace: "org-giantswarm", Name: "gazelle"}, {Namespace: "org-acme", Name: "wc1"}}
	}
	content := map[string]string{
		"cluster-manager.yaml": "installation: gazelle\ncaller: {email: jane@acme.example}\n",
		"management/more.yaml": s.management,
	}
	for _, name := range s.names {
		content["management/"+name.Namespace+"-"+name.Name+".yaml"] = documents(name)
	}
	for name, objects := range s.clusters {
		content["clusters/"+name+"/objects.yaml"] = objects
	}
	folder := t.TempDir()
	for name, text := range content {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// reader opens the snapshot and returns a reader of it.
func (s *small) reader(t testing.TB) *survey.Reader {
	t.Helper()
	return s.connect(t, s.open(t))
}

func (s *small) open(t testing.TB) *offline.Installation {
	t.Helper()
	installation, err := offline.Open(t.Context(), offline.Options{Dir: s.write(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = installation.Close() })
	return installation
}

// connect makes a reader for one call.
func (s *small) connect(t testing.TB, installation *offline.Installation) *survey.Reader {
	t.Helper()
	connect := func(server string, config *rest.Config) survey.Client {
		config.BearerToken, config.QPS, config.Timeout = installation.Caller.KubernetesToken.Reveal(), -1, 10*time.Second
		if s.alone {
			config.Transport = &http.Transport{DisableKeepAlives: true}
		}
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return s.wrap(server, next) })
		return clients(t, config)
	}
	return survey.New(connect("installation", installation.Config()), survey.Options{
		Settings: installation.Settings, Now: now,
		Workload: func(cluster clustermanager.Cluster, _ clustermanager.Endpoint) (survey.Client, error) {
			config, err := installation.ClusterConfig(cluster.Name)
			if err != nil {
				return survey.Client{}, err
			}
			return connect(cluster.Name, config), nil
		},
	})
}

func (s *small) wrap(server string, next http.RoundTripper) http.RoundTripper {
	if s.around != nil {
		next = s.around(server, next)
	}
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		_, path, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/clusters"), "/"+server)
		line := server + " " + request.Method + " " + path
		if selector := request.URL.Query().Get("labelSelector"); selector != "" {
			line += "?" + selector
		}
		s.mu.Lock()
		s.requests = append(s.requests, line)
		s.mu.Unlock()
		for part, status := range s.refuse {
			if strings.Contains(line+"$", part) {
				return refused(request, status, reasons[status]), nil
			}
		}
		return next.RoundTrip(request)
	})
}

var reasons = map[int]string{http.StatusUnauthorized: "Unauthorized", http.StatusForbidden: "Forbidden", http.StatusInternalServerError: "InternalError"}
