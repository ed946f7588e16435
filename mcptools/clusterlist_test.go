package mcptools

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// wholeCluster is a cluster of which everything was read.
func wholeCluster(name string) clustermanager.ClusterStatus {
	ready := clustermanager.ReleaseState{Name: name + "-agent-platform", Namespace: "org-acme", Ready: new(true), Reason: "InstallSucceeded"}
	return clustermanager.ClusterStatus{
		Cluster: clustermanager.Cluster{Namespace: "org-acme", Name: name, Organization: "acme", Release: "31.0.0"},
		GPUOperator: clustermanager.Component{Status: clustermanager.ComponentPresent, Provider: clustermanager.ProviderClusterManager,
			Evidence: []string{"ClusterPolicy cluster-policy", "HelmRelease org-acme/" + name + "-gpu-operator on the installation"}},
		OperatorReadiness: clustermanager.OperatorReadiness{
			Release:       clustermanager.Known(&clustermanager.ReleaseState{Name: name + "-gpu-operator", Namespace: "org-acme", Ready: new(true)}),
			ClusterPolicy: clustermanager.Known(&clustermanager.ClusterPolicyState{Name: "cluster-policy", State: "ready"}),
			Operands:      clustermanager.Known([]clustermanager.Operand{}),
		},
		Serving: clustermanager.Component{Status: clustermanager.ComponentPresent, Provider: clustermanager.ProviderClusterManager,
			Evidence: []string{"API serving.kserve.io/v1beta1 served", "HelmRelease org-acme/" + name + "-agent-platform on the installation"}},
		ServingReadiness: clustermanager.ServingReadiness{
			Release:     clustermanager.Known(&ready),
			Children:    clustermanager.Known([]clustermanager.ReleaseState{ready}),
			Controllers: clustermanager.Known([]clustermanager.Controller{{Name: "llmisvc", Namespace: "kserve", Available: 1, Replicas: 1}}),
			Configs:     clustermanager.Known(new(3)), Presets: clustermanager.Known(new(0)),
			Backend: clustermanager.BackendState{Registered: new(true), Backend: "kserve-" + name, Namespace: "agent-platform", Name: "model-backend-kserve-" + name},
			ModelsGateway: clustermanager.Known(&clustermanager.ModelsGateway{Name: "models", Namespace: "gw", Ready: true,
				Listener: clustermanager.GatewayListener{Name: "models", Hostname: "models." + name + ".example", Programmed: true, ResolvedRefs: true}}),
			Webhook: clustermanager.Known(&clustermanager.Webhook{Configurations: []string{"validatingwebhookconfigurations/v"}, Namespace: "kserve", Service: "llmisvc", Endpoints: new(1), Ready: new(true)}),
			Cache:   clustermanager.Known(&clustermanager.CacheState{Enabled: true, Claim: "hf-cache"}),
			CacheClaims: clustermanager.Known([]clustermanager.CacheClaim{{Namespace: "model-serving", Name: "hf-cache", Phase: "Bound", Volume: "pv", Zone: "eu-central-1a",
				Capacity: "100Gi", CapacityGiB: 100, StorageClass: "gp3", Tier: &clustermanager.VolumeTier{Type: "gp3"}, TierSource: "storageClass", Mounted: new(true)}}),
		},
		PoolReleases: clustermanager.Known([]clustermanager.PoolReleaseState{{Name: name + "-gpu", Namespace: "org-acme", ChartVersion: "0.8.0", Ready: new(true)}}),
		Network:      clustermanager.Known(clustermanager.Network{Region: "eu-central-1", Zones: []string{"eu-central-1a", "eu-central-1b"}}),
		CommitTarget: clustermanager.Known(&clustermanager.CommitTarget{Repository: "acme/fleet", Branch: "main", Path: "clusters/" + name, Kustomization: "flux/" + name, Prune: new(true)}),
		Admins:       clustermanager.Known(&clustermanager.Admins{Users: []string{"jane@acme.example"}}),
	}
}

// unreadCluster is a cluster of which nothing could be read.
func unreadCluster() clustermanager.ClusterStatus {
	const reason = "Cluster org-acme/wc2: reading it: no answer within 5s"
	dead := clustermanager.Component{Status: clustermanager.ComponentUnknown, Reason: reason}
	status := clustermanager.ClusterStatus{
		Cluster:     clustermanager.Cluster{Namespace: "org-acme", Name: "wc2", Organization: "acme", Deleting: true},
		GPUOperator: dead, Serving: dead,
		PoolReleases: clustermanager.Unknown[[]clustermanager.PoolReleaseState]("every HelmRelease: reading: forbidden"),
		Network:      clustermanager.Unknown[clustermanager.Network]("AWSCluster org-acme/wc2: reading: it does not exist"),
		CommitTarget: clustermanager.Unknown[*clustermanager.CommitTarget]("Kustomization flux/wc2: you may not read it"),
		Admins:       clustermanager.Unknown[*clustermanager.Admins]("ConfigMap org-acme/wc2-values: reading: forbidden"),
	}
	status.OperatorReadiness = clustermanager.OperatorReadiness{
		Release: clustermanager.Unknown[*clustermanager.ReleaseState](reason), ClusterPolicy: clustermanager.Unknown[*clustermanager.ClusterPolicyState](reason),
		Operands: clustermanager.Unknown[[]clustermanager.Operand](reason),
	}
	status.ServingReadiness = clustermanager.ServingReadiness{
		Release: clustermanager.Unknown[*clustermanager.ReleaseState]("every HelmRelease: reading: forbidden"),
		Cache:   clustermanager.Unknown[*clustermanager.CacheState]("every HelmRelease: reading: forbidden"),
		Backend: clustermanager.BackendState{Error: "every ConfigMap in agent-platform: reading: forbidden"},
	}
	return status
}

func TestClusterListGolden(t *testing.T) {
	list := clusterList(clustermanager.Fleet{
		ClusterAPI: clustermanager.APIState{Group: "cluster.x-k8s.io", Version: "v1beta1", State: clustermanager.APIServed},
		Clusters:   []clustermanager.ClusterStatus{wholeCluster("wc1"), unreadCluster()}, More: true, Note: "clusters were read in org-acme alone",
	}, nil)
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "clusterlist.json")
	if *update {
		if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), string(data)+"\n"); diff != "" {
		t.Errorf("(-file +answer)\n%s", diff)
	}
	if strings.Contains(string(data), "null") || strings.Contains(string(data), `"registered": false`) {
		t.Error("a part that could not be read stands as null or false")
	}
	resolved, err := tool(t, "list_clusters").Output.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(value); err != nil {
		t.Errorf("the answer does not fit the tool's output schema: %v", err)
	}
}

func TestCursors(t *testing.T) {
	cluster := clustermanager.Cluster{Namespace: "org-acme", Name: "wc1"}
	after, err := readCursor(cursorAt(cluster))
	if err != nil || after != (clustermanager.NamespacedName{Namespace: "org-acme", Name: "wc1"}) {
		t.Errorf("%v, %v", after, err)
	}
	for _, cursor := range []string{"?", "b3Jn", "L3djMQ", "b3JnLw"} {
		_, err := readCursor(cursor)
		var invalid *clustermanager.InvalidArguments
		if !errors.As(err, &invalid) {
			t.Errorf("%s: %v", cursor, err)
		}
	}
}

func TestClaimsArePricedInTheClustersRegion(t *testing.T) {
	var regions []string
	price := func(claim *clustermanager.CacheClaim, region clustermanager.Reading[string]) {
		regions = append(regions, region.Or(region.Reason()))
		claim.PriceNote = "no price"
	}
	known, nameless, unread := wholeCluster("wc1"), wholeCluster("wc2"), wholeCluster("wc3")
	nameless.Network = clustermanager.Known(clustermanager.Network{})
	unread.Network = clustermanager.Unknown[clustermanager.Network]("forbidden")
	list := clusterList(clustermanager.Fleet{Clusters: []clustermanager.ClusterStatus{known, nameless, unread}}, price)
	if diff := cmp.Diff([]string{"eu-central-1", "the cluster's infrastructure object names none", "forbidden"}, regions); diff != "" {
		t.Error(diff)
	}
	if note := list.Clusters[0].Serving.Readiness.CacheClaims[0].PriceNote; note != "no price" {
		t.Errorf("the claim says %q", note)
	}
}
