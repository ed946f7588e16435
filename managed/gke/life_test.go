package gke

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"

	container "google.golang.org/api/container/v1"

	double "github.com/clustermanager/cluster-manager/fixtures/gke"
	"github.com/clustermanager/cluster-manager/managed"
)

func TestR01NamesAndLabels(t *testing.T) {
	t.Parallel()
	w := ready(t, pools(pool("a"), pool("b")))
	of := w.cloud.Clusters("platform")[0]
	if !regexp.MustCompile(`^bc-k-[0-9a-hjkmnp-tv-z]{24}$`).MatchString(of.Name) || of.Name != "bc-k-"+w.row.ID[4:28] {
		t.Errorf("name %s of %s", of.Name, w.row.ID)
	}
	equal(t, "cluster", map[string]string{"better-compute-cluster": w.row.ID}, of.ResourceLabels)
	for i, pool := range of.NodePools {
		equal(t, pool.Name, map[string]string{"better-compute-cluster": w.row.ID, "better-compute-node-pool": w.row.NodePools[i].ID}, pool.Config.ResourceLabels)
	}
}

func TestR02PoolsComeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, pools(pool("a"), pool("b"), pool("c")))
	for w.row.State != managed.StateReady && w.clock.Now().Before(start.Add(time.Hour)) {
		w.until(w.row.NextLook.Sub(start))
	}
	for _, pool := range w.cloud.Clusters("platform")[0].NodePools {
		equal(t, "when it became ready, pool "+pool.Name, "RUNNING", pool.Status)
	}
	w.state(managed.StateReady)
	w.told("ready")
	equal(t, "writes", []string{"clusters.create", "clusters.nodePools.create", "clusters.nodePools.create"}, w.sent())
	for _, request := range w.cloud.Requests() {
		if request.Code == http.StatusBadRequest {
			t.Errorf("%s while an operation ran", request.Call)
		}
	}
}

func TestEmptyPoolsNeedAThrowawayOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, pools(pool("a", fields{"nodeCount": 0}), pool("bc-first", fields{"nodeCount": 0})))
	w.until(15 * time.Minute)
	w.state(managed.StateReady)
	w.told("ready")
	equal(t, "writes", []string{"clusters.create", "clusters.nodePools.create", "clusters.nodePools.create", "clusters.nodePools.delete"}, w.sent())
	equal(t, "the throwaway", any("bc-firstx"), at(w.bodies("clusters.create")[0], "cluster.nodePools.0.name"))
	equal(t, "an empty pool", any(0.0), at(w.bodies("clusters.nodePools.create")[0], "nodePool.initialNodeCount"))
	var names []string
	for _, pool := range w.cloud.Clusters("platform")[0].NodePools {
		names = append(names, pool.Name)
	}
	equal(t, "pools in the end", []string{"a", "bc-first"}, names)
}

func TestR05AnUpgradeOfTheProvidersIsShown(t *testing.T) {
	t.Parallel()
	w := ready(t)
	w.cloud.Edit("platform", w.row.Location, managed.ProviderName(w.row.ID), func(of *container.Cluster) { of.CurrentMasterVersion = "1.34.1-gke.1100000" })
	w.until(16 * time.Minute)
	equal(t, "version", "1.34.1-gke.1100000", w.row.KubernetesVersion)
	w.told("updated")
	equal(t, "writes", []string{"clusters.create"}, w.sent())
}

func TestR06WhatIsNoRefusalIsNoError(t *testing.T) {
	t.Parallel()
	busy := double.Error{Code: 400, Status: "FAILED_PRECONDITION", Reason: "failedPrecondition", Message: "Operation operation-1 is currently upgrading cluster c. Please wait and try again once it is done."}
	for name, fault := range map[string]double.Fault{
		"please wait": {Call: "clusters.update", Times: 2, Refuse: &busy},
		"429":         {Call: "clusters.update", Times: 2, Refuse: &double.TooManyRequests},
		"503":         {Call: "clusters.update", Times: 2, Refuse: &double.Unavailable},
		"no answer":   {Call: "clusters.update", Times: 1, Lose: true},
		"blind":       {Call: "clusters.get", Times: 2, Refuse: &double.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := ready(t)
			w.cloud.Inject(fault)
			w.update(managed.UpdateInput{ReleaseChannel: new(managed.ChannelRapid)})
			for range 2 {
				before := w.clock.Now()
				w.pass()
				w.state(managed.StateUpdating)
				if wait := w.row.NextLook.Sub(before); wait <= 0 || wait > managed.LookConverging {
					t.Errorf("looked at again in %s", wait)
				}
				w.clock.Set(w.row.NextLook)
			}
			w.until(20 * time.Minute)
			w.state(managed.StateReady)
			w.told("updated")
		})
	}
}

func TestR07AnAnswerThatWasLostIsAdopted(t *testing.T) {
	t.Parallel()
	for name, crash := range map[string]func(*world){
		"the process ends":    func(w *world) { w.crash = true },
		"the connection ends": func(w *world) { w.cloud.Inject(double.Fault{Call: "clusters.create", Times: 1, Lose: true}) },
	} {
		w := newWorld(t, nil)
		crash(w)
		w.pass()
		w.crash = false
		w.state(managed.StatePending)
		w.until(10 * time.Minute)
		w.state(managed.StateReady)
		w.told("ready")
		equal(t, name, []string{"clusters.create"}, w.sent())
		equal(t, name+", since", start, w.row.AcceptedAt)
	}
}

func TestANameThatIsSomebodyElsesIsAnError(t *testing.T) {
	t.Parallel()
	w := ready(t)
	w.cloud.Edit("platform", w.row.Location, managed.ProviderName(w.row.ID), func(of *container.Cluster) { of.ResourceLabels = nil })
	w.row, _ = record(t)
	w.until(20 * time.Minute)
	w.state(managed.StateError)
	w.told("error")
	equal(t, "writes", []string{"clusters.create"}, w.sent())
	w.delete()
	w.until(30 * time.Minute)
	w.state(managed.StateDeleted)
	equal(t, "the other's stays", 1, len(w.cloud.Clusters("platform")))
}

func TestR10OnePoolIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, pools(pool("a"), pool("b", fields{"diskGiB": 10}), pool("c")))
	w.until(10 * time.Minute)
	w.state(managed.StateError)
	equal(t, "message", "node pool b: Boot disk size 10GB is below the minimum of 12GB.", w.row.Message)
	var states []managed.State
	for _, pool := range w.row.NodePools {
		states = append(states, pool.State)
	}
	equal(t, "pools", []managed.State{managed.StateReady, managed.StateError, managed.StateReady}, states)
	w.told("error")
}

func TestR11WhatMendsAtTheProviderIsSeen(t *testing.T) {
	t.Parallel()
	w := ready(t)
	edit := func(change func(*container.Cluster)) {
		w.cloud.Edit("platform", w.row.Location, managed.ProviderName(w.row.ID), change)
	}
	edit(func(of *container.Cluster) {
		of.Status, of.Conditions = "DEGRADED", []*container.StatusCondition{{Message: "a node is lost"}}
	})
	w.until(16 * time.Minute)
	w.state(managed.StateError)
	equal(t, "message", "a node is lost", w.row.Message)
	edit(func(of *container.Cluster) { of.Status, of.Conditions, of.Endpoint = "RUNNING", nil, "203.0.113.11" })
	w.until(22 * time.Minute)
	w.state(managed.StateReady)
	equal(t, "endpoint", "203.0.113.11", w.row.Endpoint)
	w.told("error")
	equal(t, "writes", []string{"clusters.create"}, w.sent())
}

func TestU04OneFieldARequestInOrder(t *testing.T) {
	t.Parallel()
	w := ready(t, fields{"authorizedNetworks": []any{"10.0.0.0/8"}})
	w.update(managed.UpdateInput{
		Version: new("1.35"), ReleaseChannel: new(managed.ChannelRapid), AuthorizedNetworks: &[]string{"192.0.2.0/24"},
	})
	w.until(20 * time.Minute)
	w.state(managed.StateReady)
	w.told("updated")
	equal(t, "bodies", []fields{
		{"update": fields{"desiredControlPlaneEndpointsConfig": fields{"ipEndpointsConfig": fields{"authorizedNetworksConfig": fields{
			"enabled": true, "cidrBlocks": []any{fields{"cidrBlock": "192.0.2.0/24"}},
		}}}}},
		{"update": fields{"desiredReleaseChannel": fields{"channel": "RAPID"}}},
		{"update": fields{"desiredMasterVersion": "1.35"}},
	}, w.bodies("clusters.update"))
	equal(t, "version", "1.35.1-gke.1000000", w.row.KubernetesVersion)
}

func TestU05NoNetworksIsSaidByName(t *testing.T) {
	t.Parallel()
	w := ready(t, fields{"authorizedNetworks": []any{"10.0.0.0/8"}})
	w.update(managed.UpdateInput{AuthorizedNetworks: &[]string{}})
	w.until(16 * time.Minute)
	w.state(managed.StateReady)
	equal(t, "bodies", []fields{{"update": fields{"desiredControlPlaneEndpointsConfig": fields{"ipEndpointsConfig": fields{
		"authorizedNetworksConfig": fields{"enabled": false},
	}}}}}, w.bodies("clusters.update"))
}

func TestU07ARefusedVersionIsAnErrorWithTheProvidersWords(t *testing.T) {
	t.Parallel()
	w := ready(t)
	w.update(managed.UpdateInput{Version: new("1.32")})
	w.until(12 * time.Minute)
	w.state(managed.StateError)
	equal(t, "message", `Master version must be one of "REGULAR" channel supported versions [1.34.1-gke.1100000, 1.33.6-gke.1300000, 1.33.5-gke.1162000].`, w.row.Message)
	w.told("error")
	w.until(22 * time.Minute)
	if tries := len(w.bodies("clusters.update")); tries != 3 {
		t.Errorf("tried %d times in 12 minutes", tries)
	}
	w.update(managed.UpdateInput{Version: new("1.34")})
	w.until(30 * time.Minute)
	w.state(managed.StateReady)
	w.told("updated")
}

func TestD04ARefusedDeleteWaits(t *testing.T) {
	t.Parallel()
	w := ready(t)
	off := w.cloud.Inject(double.Fault{Call: "clusters.delete", Refuse: &double.Error{Code: 403, Status: "PERMISSION_DENIED", Reason: "forbidden", Message: "Required \"container.clusters.delete\" permission."}})
	w.delete()
	w.until(9*time.Hour + 10*time.Minute)
	var gaps []string
	var last time.Time
	for _, request := range w.cloud.Requests() {
		if request.Call == "clusters.delete" {
			if !last.IsZero() {
				gaps = append(gaps, fmt.Sprint(request.At.Sub(last).Round(time.Minute)))
			}
			last = request.At
		}
	}
	equal(t, "waits", []string{"5m0s", "10m0s", "20m0s", "40m0s", "1h20m0s", "2h40m0s"}, gaps)
	w.state(managed.StateError)
	off()
	w.delete()
	w.until(9*time.Hour + 20*time.Minute)
	w.state(managed.StateDeleted)
	w.told("deleting", "error", "deleting", "deleted")
}

func TestD09ADeleteWaitsForTheRunningOperation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.pass()
	w.state(managed.StateProvisioning)
	w.delete()
	w.until(5 * time.Minute)
	w.state(managed.StateDeleted)
	w.told("deleting", "deleted")
	equal(t, "writes", []string{"clusters.create", "clusters.delete"}, w.sent())
}

func TestAFailedCreateIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.cloud.Inject(double.Fault{Call: "clusters.create", Times: 1, FailLater: &container.Status{Code: 8, Message: "Insufficient quota."}})
	w.until(5 * time.Minute)
	w.state(managed.StateError)
	equal(t, "message", "Insufficient quota.", w.row.Message)
	w.until(30 * time.Minute)
	w.state(managed.StateReady)
	w.told("error", "ready")
	equal(t, "writes", []string{"clusters.create", "clusters.create"}, w.sent())
}
