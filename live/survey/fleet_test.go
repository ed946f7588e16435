package survey_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/survey"
)

const latency = 20 * time.Millisecond

// fleetOf is an installation of the given number of clusters besides its own. wc1 and dead have an API server each; dead
// never answers. The others cannot be read.
func fleetOf(clusters int) *small {
	made := wc1With(wc1Management, wc1Target)
	made.clusters["dead"] = "{apiVersion: v1, kind: Namespace, metadata: {name: default}}\n"
	made.names = []clustermanager.NamespacedName{
		{Namespace: "org-giantswarm", Name: "gazelle"}, {Namespace: "org-acme", Name: "wc1"}, {Namespace: "org-acme", Name: "dead"},
	}
	for number := range clusters - 2 {
		made.names = append(made.names, clustermanager.NamespacedName{Namespace: "org-more", Name: fmt.Sprintf("c%03d", number)})
	}
	made.around = func(server string, next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			if server == "dead" {
				<-request.Context().Done()
				return nil, request.Context().Err()
			}
			time.Sleep(latency)
			return next.RoundTrip(request)
		})
	}
	return made
}

// wc1Management and wc1Target give every reader something to follow: a slice with children, values, Flux objects, a
// backend, a network; configurations, a webhook, a Gateway with its certificate, and bound claims.
var (
	wc1Management = release("org-acme", "wc1-agent-platform", owned, "{values: {global: {domain: acme.example}, modelServing: {cache: {pvc: {name: hf-cache}}}}}") +
		child("a", "status: "+readyStatus) + release("org-acme", "wc1-gpu-operator", owned, toWC1) + release("org-acme", "wc1-gpu", listAll, "{}") +
		release("org-acme", "wc1", "{kustomize.toolkit.fluxcd.io/name: clusters, kustomize.toolkit.fluxcd.io/namespace: flux}", "{}") + `
---
{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: clusters, namespace: flux}, spec: {path: ./wc1, prune: true, sourceRef: {kind: GitRepository, name: fleet}}}
---
{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: fleet, namespace: flux}, spec: {url: https://github.com/acme/fleet, ref: {branch: main}}}
---
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSCluster, metadata: {name: wc1, namespace: org-acme}, spec: {region: eu-central-1, network: {subnets: [{availabilityZone: eu-central-1a, tags: {giantswarm.io/role: nodes}}]}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: wc1-values, namespace: org-acme, labels: {app.kubernetes.io/managed-by: cluster-manager}}, data: {values.yaml: ""}}
`
	wc1Target = gateway("models", "models.acme.example", isProgrammed, isFine) + certificate(`{conditions: [{type: Ready, status: "True"}]}`) + claims + policy +
		webhookConfiguration("ValidatingWebhookConfiguration", "v", "serving.kserve.io", "*", "Q0E=") + endpoints(`[{addresses: [10.0.0.1]}]`) + `
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: llminferenceserviceconfigs.serving.kserve.io}, spec: {group: serving.kserve.io, scope: Namespaced, names: {plural: llminferenceserviceconfigs, kind: LLMInferenceServiceConfig}, versions: [{name: v1alpha2, served: true, storage: true}]}}
---
{apiVersion: serving.kserve.io/v1alpha2, kind: LLMInferenceServiceConfig, metadata: {name: c, namespace: org-acme}}
`
)

// read reads the fleet on a clock of its own, on which nothing but the latency and the budgets takes time.
func (s *small) read(t *testing.T, page survey.Page) (fleet clustermanager.Fleet, took time.Duration) {
	t.Helper()
	s.alone = true
	installation := s.open(t)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var err error
		if fleet, err = s.connect(t, installation).Clusters(t.Context(), page); err != nil {
			t.Error(err)
		}
		took = time.Since(start)
		synctest.Wait()
	})
	return fleet, took
}

func TestFleetWithinFourRoundTrips(t *testing.T) {
	snapshot := fleetOf(20)
	snapshot.names = slices.DeleteFunc(snapshot.names, func(name clustermanager.NamespacedName) bool { return name.Name == "dead" })
	fleet, took := snapshot.read(t, survey.Page{})
	trips := took / latency
	t.Logf("%d round trips follow each other", trips)
	if trips > 4 {
		t.Errorf("%d round trips follow each other", trips)
	}
	status := fleet.Clusters[slices.IndexFunc(fleet.Clusters, func(s clustermanager.ClusterStatus) bool { return s.Cluster.Name == "wc1" })]
	read := status.ServingReadiness
	if *got(t, read.Configs) != 1 || got(t, read.ModelsGateway).Certificate == nil || *got(t, read.Webhook).Endpoints != 1 || got(t, read.CacheClaims)[0].Zone == "" ||
		got(t, status.CommitTarget).Repository != "acme/fleet" || got(t, status.Network).Region == "" || got(t, status.Admins) == nil {
		t.Error("a reader that follows others had nothing to follow")
	}
}

func TestDeadClusterCostsItsOwnTime(t *testing.T) {
	fleet, took := fleetOf(20).read(t, survey.Page{})
	if limit := 5*time.Second + 4*latency; took > limit {
		t.Errorf("it took %s, and one dead cluster may make it %s", took, limit)
	}
	for _, status := range fleet.Clusters {
		switch status.Cluster.Name {
		case "dead":
			same(t, unknown("Cluster org-acme/dead: reading it: no answer within 5s"), status.GPUOperator)
			same(t, "Cluster org-acme/dead: reading it: no answer within 5s", status.ServingReadiness.CacheClaims.Reason())
		case "wc1":
			same(t, clustermanager.ComponentPresent, status.Serving.Status)
			if _, read := status.ServingReadiness.CacheClaims.Get(); !read {
				t.Error("a live cluster lost a part to the dead one")
			}
		}
	}
}

func TestInstallationRequestsDoNotGrowWithClusters(t *testing.T) {
	requests := func(clusters int) map[string]int {
		snapshot := fleetOf(clusters)
		if fleet, _ := snapshot.read(t, survey.Page{}); len(fleet.Clusters) != clusters+1 {
			t.Fatalf("%d clusters", len(fleet.Clusters))
		}
		counted := map[string]int{}
		for _, line := range snapshot.requests {
			if server, _, _ := strings.Cut(line, " "); server == "installation" {
				counted[line]++
			}
		}
		return counted
	}
	few, many := requests(20), requests(40)
	for line, count := range many {
		if count != 1 {
			t.Errorf("%d times %s", count, line)
		}
		if few[line] == 0 && !strings.HasSuffix(line, "-kubeconfig") {
			t.Errorf("with more clusters: %s", line)
		}
	}
	if grown := len(many) - len(few); grown != 20 {
		t.Errorf("%d more requests for 20 more clusters", grown)
	}
	// The installation's own cluster is read on the installation: what is beyond its reads and the kubeconfigs is fixed.
	fixed := len(few) - 20
	t.Logf("%d requests to the installation, and one for each cluster", fixed)
	if fixed > 40 {
		t.Errorf("%d requests whatever the number of clusters:\n%s", fixed, strings.Join(slices.Sorted(maps.Keys(few)), "\n"))
	}
}

func TestFleetIsSortedAndPaged(t *testing.T) {
	snapshot := &small{names: []clustermanager.NamespacedName{
		{Namespace: "org-b", Name: "a"}, {Namespace: "org-a", Name: "z"}, {Namespace: "org-a", Name: "b"}, {Namespace: "org-c", Name: "gazelle"},
	}}
	installation := snapshot.open(t)
	var pages [][]string
	page := survey.Page{Limit: 3}
	for more := true; more; {
		fleet, err := snapshot.connect(t, installation).Clusters(t.Context(), page)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, status := range fleet.Clusters {
			names = append(names, status.Cluster.Namespace+"/"+status.Cluster.Name)
			page.After = &clustermanager.NamespacedName{Namespace: status.Cluster.Namespace, Name: status.Cluster.Name}
		}
		pages, more = append(pages, names), fleet.More
	}
	same(t, [][]string{{"org-a/b", "org-a/z", "org-b/a"}, {"org-c/gazelle"}}, pages)
	fleet, err := snapshot.connect(t, installation).Clusters(t.Context(), survey.Page{After: &clustermanager.NamespacedName{Namespace: "org-a", Name: "gone"}})
	if err != nil || len(fleet.Clusters) != 3 || fleet.More {
		t.Errorf("after a cluster that went: %d, %v", len(fleet.Clusters), err)
	}
	fleet, err = snapshot.connect(t, installation).Clusters(t.Context(), survey.Page{Limit: 3, After: &clustermanager.NamespacedName{Namespace: "org-c", Name: "gazelle"}})
	if err != nil || fleet.Clusters == nil || len(fleet.Clusters) != 0 || fleet.More || fleet.Note != "no cluster follows the cursor: leave it out for the first page" {
		t.Errorf("after the last cluster: %+v, %v", fleet, err)
	}
}

const organizations = `
{apiVersion: security.giantswarm.io/v1alpha1, kind: Organization, metadata: {name: acme}}
---
{apiVersion: security.giantswarm.io/v1alpha1, kind: Organization, metadata: {name: giantswarm}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: org-acme}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: org-giantswarm}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: secret-project}}
`

// ofOneOrganization is a caller who may read the namespace org-acme, and list the organizations.
func ofOneOrganization() *small {
	made := wc1With(organizations+wc1Management, wc1Target)
	made.around = func(server string, next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			path := request.URL.Path
			allowed := server != "installation" || strings.Contains(path, "/namespaces/org-acme/") || strings.HasSuffix(path, "/organizations") ||
				strings.HasSuffix(path, "/apis/cluster.x-k8s.io/v1beta1")
			if !allowed {
				return refused(request, http.StatusForbidden, "Forbidden"), nil
			}
			return next.RoundTrip(request)
		})
	}
	return made
}

func TestCallerOfOneOrganization(t *testing.T) {
	fleet, err := ofOneOrganization().reader(t).Clusters(t.Context(), survey.Page{})
	if err != nil {
		t.Fatal(err)
	}
	if len(fleet.Clusters) != 1 || fleet.Clusters[0].Cluster.Name != "wc1" {
		t.Fatalf("%d clusters", len(fleet.Clusters))
	}
	same(t, "clusters were read in org-acme alone; you may not list them over all namespaces, and other namespaces could not be read", fleet.Note)
	status := fleet.Clusters[0]
	same(t, "wc1-gpu", got(t, status.PoolReleases)[0].Name)
	same(t, clustermanager.ProviderClusterManager, status.GPUOperator.Provider)
	same(t, "wc1-agent-platform", got(t, status.ServingReadiness.Release).Name)
	same(t, "eu-central-1", got(t, status.Network).Region)
	if got(t, status.Admins) == nil {
		t.Error("the values of the caller's own namespace are not read")
	}
	same(t, "every ConfigMap in agent-platform: reading: forbidden by the test", status.ServingReadiness.Backend.Error)
	if reason := status.CommitTarget.Reason(); !strings.HasPrefix(reason, "Kustomization flux/clusters: you may not read it") {
		t.Error(reason)
	}
	for _, other := range []string{"org-giantswarm", "gazelle", "secret-project"} {
		if strings.Contains(fmt.Sprintf("%+v", fleet), other) {
			t.Errorf("%s shows in the answer", other)
		}
	}
}

func TestFleetThatCannotBeListed(t *testing.T) {
	for _, test := range []struct {
		name   string
		refuse map[string]int
		want   string
	}{
		{"the API is not known", map[string]int{"/apis/cluster.x-k8s.io/v1beta1$": http.StatusInternalServerError}, "every Cluster: listing: discovering cluster.x-k8s.io/v1beta1: internalerror by the test"},
		{"clusters fail", map[string]int{"/v1beta1/clusters$": http.StatusInternalServerError}, "every Cluster: reading: internalerror by the test"},
		{"nothing can be listed", map[string]int{"/v1beta1/clusters$": http.StatusForbidden, "/organizations$": http.StatusForbidden, "/v1/namespaces$": http.StatusForbidden},
			"you may list neither clusters over all namespaces (clusters.cluster.x-k8s.io) nor organizations nor namespaces"},
		{"no namespace can be read", map[string]int{"clusters$": http.StatusForbidden}, "you may list clusters (clusters.cluster.x-k8s.io) in no namespace of an organization"},
	} {
		t.Run(test.name, func(t *testing.T) {
			snapshot := &small{management: organizations, refuse: test.refuse}
			_, err := snapshot.reader(t).Clusters(t.Context(), survey.Page{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
	t.Run("one namespace fails", func(t *testing.T) {
		snapshot := &small{management: organizations, refuse: map[string]int{"v1beta1/clusters$": http.StatusForbidden, "/org-giantswarm/clusters$": http.StatusInternalServerError}}
		delete(snapshot.refuse, "v1beta1/clusters$")
		snapshot.refuse["/apis/cluster.x-k8s.io/v1beta1/clusters$"] = http.StatusForbidden
		fleet, err := snapshot.reader(t).Clusters(t.Context(), survey.Page{})
		if err != nil || len(fleet.Clusters) != 1 || !strings.HasSuffix(fleet.Note, "; every Cluster in org-giantswarm: reading: internalerror by the test") {
			t.Errorf("%d clusters, %q, %v", len(fleet.Clusters), fleet.Note, err)
		}
	})
}

func TestInstallationWithoutMostAPIs(t *testing.T) {
	bare := &small{names: []clustermanager.NamespacedName{}}
	fleet, err := bare.reader(t).Clusters(t.Context(), survey.Page{})
	if err != nil || fleet.Clusters == nil || len(fleet.Clusters) != 0 || fleet.ClusterAPI.State != clustermanager.APIAbsent {
		t.Errorf("%+v, %v", fleet, err)
	}
	status := wc1With("", "").status(t)
	same(t, absent(), status.GPUOperator)
	same(t, absent(), status.Serving)
	same(t, []clustermanager.PoolReleaseState{}, got(t, status.PoolReleases))
	same(t, (*clustermanager.CommitTarget)(nil), got(t, status.CommitTarget))
	if reason := status.Network.Reason(); !strings.HasPrefix(reason, "AWSCluster org-acme/wc1: reading: it does not exist") {
		t.Error(reason)
	}
}

func TestClusterThatRefusesTheCaller(t *testing.T) {
	snapshot := wc1With("", "")
	snapshot.refuse = map[string]int{"wc1 GET": http.StatusUnauthorized}
	reason := "Cluster org-acme/wc1: reading it: it does not accept your token (Unauthorized)"
	status := snapshot.status(t)
	same(t, unknown(reason), status.GPUOperator)
	same(t, unknown(reason), status.Serving)

	snapshot = wc1With("", "")
	snapshot.around = func(server string, next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			if server == "wc1" {
				return nil, fmt.Errorf("no route to host")
			}
			return next.RoundTrip(request)
		})
	}
	same(t, unknown("Cluster org-acme/wc1: connecting: no route to host"), snapshot.status(t).GPUOperator)
}

// A server that knows no path at all is no API server without the kinds, so nothing is absent there.
func TestClusterWhoseServerKnowsNoPath(t *testing.T) {
	snapshot := wc1With("", "")
	snapshot.around = func(server string, next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			if server == "wc1" {
				response := httptest.NewRecorder()
				http.NotFound(response, request)
				return response.Result(), nil
			}
			return next.RoundTrip(request)
		})
	}
	reason := "Cluster org-acme/wc1: reading it: it answers 404 to the core API: it is no Kubernetes API server, or its address has a wrong path"
	status := snapshot.status(t)
	same(t, unknown(reason), status.GPUOperator)
	same(t, unknown(reason), status.Serving)
	same(t, reason, status.ServingReadiness.CacheClaims.Reason())
	pools, err := snapshot.reader(t).NodePoolRemoval(t.Context(), clustermanager.DeleteNodePoolRequest{Cluster: "wc1", Name: "gpu"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, reason, pools.Pool.Claims.Reason())
	same(t, reason, pools.Pool.Nodes.Reason())
	same(t, reason, pools.Predictors.Reason())
}
