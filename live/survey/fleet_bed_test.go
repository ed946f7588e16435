package survey_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/testbed"
	"github.com/clustermanager/cluster-manager/live/survey"
)

const (
	bedUser = "jane@acme.example"
	// bedLatency is far above what a real API server and this process take, so that round trips can be told apart.
	bedLatency = 400 * time.Millisecond
)

// bedFleet is an installation of real API servers: c00 has one, nobody answers where c01's should be, and the other
// clusters have no kubeconfig.
type bedFleet struct {
	admin *testbed.Client
	user  *rest.Config

	mu       sync.Mutex
	requests map[string][]string
}

func newBedFleet(t *testing.T) *bedFleet {
	bed := testbed.Start(t, testbed.Options{Users: []testbed.User{{Email: bedUser, Groups: []string{"acme:admins"}}}, Definitions: slices.Concat(testbed.PoolPath, []testbed.Set{testbed.Apps})})
	workload := bed.Workload(t)
	f := &bedFleet{user: bed.Config(bedUser)}
	binding := object(t, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: acme}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: 'acme:admins'}]}")
	for _, server := range []*testbed.Bed{workload, bed} {
		var err error
		if f.admin, err = testbed.NewClient(server.Admin()); err != nil {
			t.Fatal(err)
		}
		f.apply(t, binding)
	}
	f.apply(t, object(t, "{apiVersion: v1, kind: Namespace, metadata: {name: org-acme}}"))
	reachable, err := workload.KubeconfigSecret("org-acme", "c00")
	if err != nil {
		t.Fatal(err)
	}
	unreachable, err := bed.UnreachableSecret("org-acme", "c01")
	if err != nil {
		t.Fatal(err)
	}
	f.apply(t, reachable, unreachable)
	return f
}

func object(t *testing.T, document string) *unstructured.Unstructured {
	t.Helper()
	made := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(document), &made.Object); err != nil {
		t.Fatal(err)
	}
	return made
}

func (f *bedFleet) apply(t *testing.T, objects ...*unstructured.Unstructured) {
	t.Helper()
	if err := f.admin.Apply(t.Context(), objects...); err != nil {
		t.Fatal(err)
	}
}

// add makes the clusters of the numbers from, up to and without to.
func (f *bedFleet) add(t *testing.T, from, to int) {
	for number := from; number < to; number++ {
		name := fmt.Sprintf("c%02d", number)
		f.apply(t,
			object(t, strings.ReplaceAll("{apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, metadata: {name: NAME, namespace: org-acme}, spec: {infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSCluster, name: NAME, namespace: org-acme}}}", "NAME", name)),
			object(t, strings.ReplaceAll("{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSCluster, metadata: {name: NAME, namespace: org-acme}, spec: {region: eu-central-1, network: {subnets: [{id: a, availabilityZone: eu-central-1a, tags: {giantswarm.io/role: nodes}}]}}}", "NAME", name)),
		)
	}
}

// read lists the clusters as the user, each request after the latency, and returns how long it took.
func (f *bedFleet) read(t *testing.T) (clustermanager.Fleet, time.Duration) {
	t.Helper()
	f.requests = map[string][]string{}
	made := survey.New(f.client(t, "installation", rest.CopyConfig(f.user)), survey.Options{
		Settings: clustermanager.DefaultSettings(), Now: now,
		Workload: func(cluster clustermanager.Cluster, endpoint clustermanager.Endpoint) (survey.Client, error) {
			return f.client(t, cluster.Name, &rest.Config{
				Host: endpoint.Server, BearerToken: f.user.BearerToken, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(endpoint.CABundle)},
			}), nil
		},
	})
	start := time.Now()
	fleet, err := made.Clusters(t.Context(), survey.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return fleet, time.Since(start)
}

func (f *bedFleet) client(t *testing.T, server string, config *rest.Config) survey.Client {
	config.QPS, config.Timeout = -1, 10*time.Second
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			f.mu.Lock()
			f.requests[server] = append(f.requests[server], request.URL.Path+"?"+request.URL.RawQuery)
			f.mu.Unlock()
			time.Sleep(bedLatency)
			return next.RoundTrip(request)
		})
	})
	return clients(t, config)
}

func TestFleetOfRealAPIServers(t *testing.T) {
	f := newBedFleet(t)
	f.add(t, 0, 10)
	f.read(t)
	few := f.requests
	f.add(t, 10, 20)
	var fleet clustermanager.Fleet
	fastest := time.Hour
	// A machine with other work to do takes its time once, not every time.
	for try := 0; try < 3 && fastest > 5*bedLatency; try++ {
		var took time.Duration
		fleet, took = f.read(t)
		fastest = min(fastest, took)
	}
	t.Logf("%s for 20 clusters, %.1f latencies; %d requests to the installation, %d to c00", fastest, float64(fastest)/float64(bedLatency), len(f.requests["installation"]), len(f.requests["c00"]))
	if fastest >= 5*bedLatency {
		t.Errorf("%s: more than four round trips of %s follow each other", fastest, bedLatency)
	}

	var more []string
	for _, line := range f.requests["installation"] {
		if !slices.Contains(few["installation"], line) {
			more = append(more, line)
		}
	}
	slices.Sort(more)
	var kubeconfigs []string
	for number := 10; number < 20; number++ {
		kubeconfigs = append(kubeconfigs, fmt.Sprintf("/api/v1/namespaces/org-acme/secrets/c%02d-kubeconfig?timeout=10s", number))
	}
	same(t, kubeconfigs, more)
	if once := slices.Compact(slices.Sorted(slices.Values(f.requests["installation"]))); len(once) != len(f.requests["installation"]) || len(once) != len(few["installation"])+10 {
		t.Errorf("%d requests, %d of them different, for 10 clusters %d", len(f.requests["installation"]), len(once), len(few["installation"]))
	}
	if len(f.requests["c00"]) != len(few["c00"]) || len(f.requests["c00"]) == 0 {
		t.Errorf("%d requests to c00, among 10 clusters %d", len(f.requests["c00"]), len(few["c00"]))
	}
	if len(fleet.Clusters) != 20 {
		t.Fatalf("%d clusters", len(fleet.Clusters))
	}
	for _, status := range fleet.Clusters {
		want := map[string]string{"c00": "", "c01": "Cluster org-acme/c01: connecting: "}[status.Cluster.Name]
		if status.Cluster.Name > "c01" {
			want = "Secret org-acme/" + status.Cluster.Name + "-kubeconfig: reading: it does not exist"
		}
		if !strings.HasPrefix(status.GPUOperator.Reason, want) || (want == "") != (status.GPUOperator.Status == clustermanager.ComponentAbsent) {
			t.Errorf("%s: %+v", status.Cluster.Name, status.GPUOperator)
		}
		if network, _ := status.Network.Get(); !slices.Equal(network.Zones, []string{"eu-central-1a"}) {
			t.Errorf("%s: zones %v, %s", status.Cluster.Name, network.Zones, status.Network.Reason())
		}
	}
}
