package service

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

func tenant(changes ...fields) fields {
	body := fields{"tenantId": "acme"}
	for _, change := range changes {
		for name, value := range change {
			body[name] = value
		}
	}
	return body
}

func (s *scene) three() []string {
	s.t.Helper()
	var ids []string
	for i, change := range []fields{{"poolId": poolPN}, {"projectId": project}, {"poolId": poolPN, "projectId": project}} {
		s.now = s.now.Add(time.Minute)
		ids = append(ids, s.create(alice, change, fields{"name": fmt.Sprint("c", i), "idempotencyKey": fmt.Sprint("key-", i)}).ClusterID)
	}
	return ids
}

func TestL01L02L03List(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ids := s.three()
	s.create(otto, fields{"tenantId": "other"})
	list := s.call(vera, "list", tenant(), "")
	equal(t, "L01", []string{"c0", "c1", "c2"}, names(list))
	equal(t, "L01 pools", 1, len(list.(managed.ListAnswer).Clusters[0].NodePools))
	equal(t, "L02 pool", []string{"c0", "c2"}, names(s.call(vera, "list", tenant(fields{"poolId": poolPN}), "")))
	equal(t, "L02 project", []string{"c1", "c2"}, names(s.call(vera, "list", tenant(fields{"projectId": project}), "")))
	equal(t, "L02 both", []string{"c2"}, names(s.call(vera, "list", tenant(fields{"poolId": poolPN, "projectId": project}), "")))
	s.call(alice, "delete", of(ids[1]), "")
	equal(t, "L03 deleting", []string{"c0", "c1", "c2"}, names(s.call(vera, "list", tenant(), "")))
	s.gone(ids[1])
	equal(t, "L03 without", []string{"c0", "c2"}, names(s.call(vera, "list", tenant(), "")))
	equal(t, "L03 with", []string{"c0", "c1", "c2"}, names(s.call(vera, "list", tenant(fields{"includeDeleted": true}), "")))
}

func TestL04L06Decisions(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.three()
	s.call(nina, "list", tenant(), managed.AccessDenied)
	s.call(carl, "list", tenant(), managed.AccessDenied)
	s.policies(`forbid (principal == User::"https://id.example.com|vera", action == Action::"compute:kubernetes:read",
		resource is ComputeKubernetesCluster) when { resource.poolId == "` + poolP + `" };`)
	equal(t, "L06", []string{"c0", "c2"}, names(s.call(vera, "list", tenant(), "")))
	equal(t, "L06 alice", []string{"c0", "c1", "c2"}, names(s.call(alice, "list", tenant(), "")))
	s.policies(`permit (principal == User::"https://id.example.com|nina", action == Action::"compute:kubernetes:read",
		resource == ComputeTenant::"acme");`)
	equal(t, "L06 what nobody forbids", []string{"c0", "c1", "c2"}, names(s.call(nina, "list", tenant(), "")))
	empty := newScene(t).call(vera, "list", tenant(), "")
	data, err := json.Marshal(empty)
	equal(t, "an empty list", `{"clusters":[],"truncated":false}`, string(data))
	equal(t, "error", nil, err)
}

func TestL05Cut(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(set *Settings) { set.MaxClusters = 600 })
	for i := range 501 {
		s.now = s.now.Add(time.Second)
		s.create(alice, fields{"name": fmt.Sprint("c", i), "idempotencyKey": fmt.Sprint("key-", i)})
		if i == 499 {
			list := s.call(vera, "list", tenant(), "").(managed.ListAnswer)
			equal(t, "of 500", []any{500, false}, []any{len(list.Clusters), list.Truncated})
		}
	}
	list := s.call(vera, "list", tenant(), "").(managed.ListAnswer)
	equal(t, "of 501", []any{500, true, "c0", "c499"}, []any{len(list.Clusters), list.Truncated, list.Clusters[0].Name, list.Clusters[499].Name})
	// The cut comes after what a policy hides.
	s.policies(`forbid (principal, action, resource == ComputeKubernetesCluster::"` + list.Clusters[0].ClusterID + `");`)
	list = s.call(vera, "list", tenant(), "").(managed.ListAnswer)
	equal(t, "of 500 seen", []any{500, false}, []any{len(list.Clusters), list.Truncated})
}

func TestG01G02G03G05G06Get(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	cluster := s.ready(alice)
	got := s.call(vera, "get", of(cluster), "").(managed.ClusterAnswer)
	equal(t, "G01", []string{"203.0.113.10", "1.33.5-gke.1", "1.33.5-gke.1"}, []string{*got.Endpoint, *got.KubernetesVersion, *got.NodeVersion})

	other := s.create(otto, fields{"tenantId": "other"}).ClusterID
	s.call(alice, "get", of(other), managed.AccessDenied)
	s.call(both, "get", of(other), managed.NotFound)
	s.call(both, "get", of(other, fields{"tenantId": "other"}), "")

	unknown := id("kcl_", "0")
	s.call(alice, "get", of(unknown), managed.NotFound)
	denied := s.fault(nina, "get", of(unknown), managed.AccessDenied)
	equal(t, "G06 no difference", denied.Details, s.fault(nina, "get", of(cluster), managed.AccessDenied).Details)
	s.call(alice, "get", of("kcl_x"), managed.InvalidInput)

	s.call(alice, "delete", of(cluster), "")
	s.gone(cluster)
	got = s.call(vera, "get", of(cluster), "").(managed.ClusterAnswer)
	equal(t, "G05", []managed.State{managed.StateDeleted, managed.StateDeleted}, []managed.State{got.State, got.NodePools[0].State})
	if got.DeletedAt == nil {
		t.Error("G05: no deletedAt")
	}
	s.call(nina, "get", of(cluster), managed.AccessDenied)
	s.call(both, "get", of(cluster, fields{"tenantId": "other"}), managed.NotFound)
}

func TestU01U03U09U11Update(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	cluster := s.ready(alice)
	s.untouched(func() {
		s.call(alice, "update", of(cluster), managed.InvalidInput)
		s.call(vera, "update", of(cluster, fields{"description": "x"}), managed.AccessDenied)
		s.call(alice, "update", of(id("kcl_", "0"), fields{"description": "x"}), managed.NotFound)
		s.call(both, "update", of(cluster, fields{"tenantId": "other", "description": "x"}), managed.NotFound)
		s.call(otto, "update", of(cluster, fields{"tenantId": "other", "description": "x"}), managed.AccessDenied)
	})
	events := len(s.store.events)
	got := s.call(alice, "update", of(cluster, fields{"releaseChannel": "regular"}), "").(managed.ClusterAnswer)
	equal(t, "U01", []any{2, managed.StateReady}, []any{got.Version, got.State})
	got = s.call(alice, "update", of(cluster, fields{"releaseChannel": "rapid"}), "").(managed.ClusterAnswer)
	equal(t, "U03", []any{3, managed.StateUpdating, managed.ChannelRapid}, []any{got.Version, got.State, got.ReleaseChannel})
	equal(t, "R09 events of the calls", events, len(s.store.events))

	s.call(alice, "delete", of(cluster), "")
	fault := s.fault(alice, "update", of(cluster, fields{"description": "x"}), managed.InvalidState)
	equal(t, "U06", managed.StateDeleting, fault.Details.State)
	s.gone(cluster)
	fault = s.fault(alice, "update", of(cluster, fields{"description": "x"}), managed.InvalidState)
	equal(t, "U11", managed.StateDeleted, fault.Details.State)
}

func TestD01D02D07D08D10Delete(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	cluster := s.ready(alice)
	s.untouched(func() {
		s.call(vera, "delete", of(cluster), managed.AccessDenied)
		s.call(alice, "delete", of(id("kcl_", "0")), managed.NotFound)
		s.call(alice, "delete", of("kcl_x"), managed.InvalidInput)
		s.call(alice, "delete", tenant(), managed.InvalidInput)
	})
	first := s.call(alice, "delete", of(cluster), "").(managed.ClusterAnswer)
	equal(t, "D01", []managed.State{managed.StateDeleting, managed.StateDeleting}, []managed.State{first.State, first.NodePools[0].State})
	equal(t, "D01 events", []string{"created", "ready", "deleting"}, s.store.told())
	s.now = s.now.Add(time.Hour)
	s.untouched(func() { equal[any](t, "D02", first, s.call(alice, "delete", of(cluster), "")) })
	s.gone(cluster)
	equal(t, "D03 events", []string{"created", "ready", "deleting", "deleted"}, s.store.told())
	s.untouched(func() { s.call(alice, "delete", of(cluster), "") }) // D08
}

func TestV01V02V03V04Versions(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	in := func(changes ...fields) fields {
		return tenant(append([]fields{{"poolId": poolP, "location": "europe-west1-b"}}, changes...)...)
	}
	got := s.call(vera, "versions", in(), "").(managed.VersionsAnswer)
	equal(t, "V01", "1.33.5-gke.1", got.DefaultVersion)
	s.call(vera, "versions", in(fields{"location": "europe-west1"}), "")
	s.call(vera, "versions", in(fields{"poolId": poolT}), "")
	equal(t, "asked", []string{"platform europe-west1-b", "platform europe-west1", "acme-own europe-west1-b"}, s.provider.asked)
	s.untouched(func() {
		fault := s.fault(vera, "versions", in(fields{"location": "asia-east1"}), managed.InvalidInput)
		equal(t, "V02 details", []string{"europe-west1", "us-east1"}, fault.Details.Regions)
		if !strings.HasPrefix(fault.Message, "kubernetesClusters.versions: ") {
			t.Errorf("V02: %s", fault.Message)
		}
		s.call(vera, "versions", in(fields{"poolId": poolPX}), managed.NotFound)
		s.call(vera, "versions", in(fields{"poolId": poolZ}), managed.Unsupported)
		s.call(nina, "versions", in(), managed.AccessDenied)
		s.call(nina, "versions", in(fields{"poolId": poolPX, "location": "asia-east1"}), managed.AccessDenied)
		s.call(vera, "versions", in(fields{"location": nil}), managed.InvalidInput)
	})
	s.provider.fails = managed.ErrUnreachable
	s.call(vera, "versions", in(), managed.Unavailable)
}
