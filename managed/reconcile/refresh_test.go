package reconcile

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

// slowProvider lets something happen before what it was asked is answered.
type slowProvider struct {
	*cloud
	look, list, send func()
}

func happen(what func()) {
	if what != nil {
		what()
	}
}

func (p *slowProvider) Look(ctx context.Context, account managed.Account, row managed.Cluster) managed.Observed {
	seen := p.cloud.Look(ctx, account, row)
	happen(p.look)
	return seen
}

func (p *slowProvider) List(ctx context.Context, account managed.Account) (managed.Listing, error) {
	listing, err := p.cloud.List(ctx, account)
	happen(p.list)
	return listing, err
}

func (p *slowProvider) Send(ctx context.Context, account managed.Account, row managed.Cluster, write managed.Write) managed.Answer {
	answer := p.cloud.Send(ctx, account, row, write)
	happen(p.send)
	return answer
}

func TestR03Cadence(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for i := range 40 {
		s.insert(fmt.Sprint("ready", i))
	}
	failing := s.insert("failing")
	s.cloud.refuse = func(row managed.Cluster, _ managed.Write) string {
		if row.Name == "failing" {
			return "no"
		}
		return ""
	}
	s.run(3*time.Minute, time.Second)
	stuck := s.insert("converging", pools("a", "b"))
	s.Pass(t.Context())
	s.cloud.running[stuck.Spot()].until = start.Add(24 * time.Hour)
	s.cloud.looks, s.cloud.lists = map[string][]time.Time{}, map[string][]time.Time{}
	s.run(31*time.Minute, time.Second)
	s.state(failing, managed.StateError)

	within := func(what string, times []time.Time, most time.Duration, count int) {
		t.Helper()
		between := gaps(times)
		if len(between) < count || slices.Max(between) > most+tick || slices.Min(between) < most*9/10 {
			t.Errorf("%s: %v, want at least %d of nine tenths to all of %s", what, between, count, most)
		}
	}
	within("converging", s.cloud.looks["converging"], 30*time.Second, 60)
	within("failed", s.cloud.looks["failing"], 5*time.Minute, 5)
	within("ready, all by one list", s.cloud.lists["PA"], 5*time.Minute, 5)
	equal(t, "lists of an account without managed Kubernetes", 0, len(s.cloud.lists["HZ"]))
	equal(t, "looked at alone", 2, len(s.cloud.looks))
}

func TestR03LooksAtManyDoNotBunch(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	const many = 24
	for i := range many {
		row := s.insert(fmt.Sprint("c", i))
		s.Pass(t.Context())
		s.cloud.running[row.Spot()].until = start.Add(24 * time.Hour)
	}
	s.run(20*time.Minute, time.Second)
	seconds := map[time.Time]int{}
	for _, times := range s.cloud.looks {
		for _, at := range times {
			if at.After(start.Add(15 * time.Minute)) {
				seconds[at.Truncate(time.Second)]++
			}
		}
	}
	most := 0
	for _, count := range seconds {
		most = max(most, count)
	}
	// They began in one second.
	if most > many/3 {
		t.Errorf("%d of %d are looked at in one second", most, many)
	}
}

func TestR11R05WhatTheProviderChangedIsShown(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	row := s.ready("one")
	s.writes()
	s.cloud.at(row, func(seen *managed.ProviderCluster) {
		seen.Endpoint, seen.NodePools[0].Version = "203.0.113.99", "1.33.6-gke.1"
	})
	s.run(5*time.Minute, 5*time.Second)
	got := s.state(row, managed.StateReady)
	equal(t, "shown", []string{"203.0.113.99", "1.33.6-gke.1"}, []string{got.Endpoint, got.NodeVersion})
	equal(t, "R11 events", []string{"created", "ready"}, s.events(row))
	s.cloud.at(row, func(seen *managed.ProviderCluster) { seen.Version = "1.34.1-gke.1" })
	s.run(5*time.Minute, 5*time.Second)
	equal(t, "R05 version", "1.34.1-gke.1", s.state(row, managed.StateReady).KubernetesVersion)
	equal(t, "R05 events", []string{"created", "ready", "updated"}, s.events(row))

	s.cloud.at(row, func(seen *managed.ProviderCluster) { seen.Status, seen.Message = managed.StatusDegraded, "no capacity" })
	s.run(5*time.Minute, 5*time.Second)
	equal(t, "message", "no capacity", s.state(row, managed.StateError).Message)
	s.cloud.at(row, func(seen *managed.ProviderCluster) { seen.Status = managed.StatusRunning })
	s.run(5*time.Minute+tick, 5*time.Second)
	s.state(row, managed.StateReady)
	equal(t, "R04 events", []string{"created", "ready", "updated", "error"}, s.events(row))
	equal(t, "writes", []string{}, s.writes())
}

func TestAMissingZoneIsNotGone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	row := s.ready("one")
	s.cloud.missing = []string{"europe-west1-b"}
	s.run(11*time.Minute, 5*time.Second)
	s.state(row, managed.StateReady)
	s.cloud.missing = nil
	delete(s.cloud.clusters, row.Spot())
	s.run(5*time.Minute, 5*time.Second)
	s.state(row, managed.StateError)
	s.writes()
	s.run(20*time.Minute, 5*time.Second)
	equal(t, "it is never made again", []string{}, s.writes())
	s.delete(row)
	s.run(time.Minute, 5*time.Second)
	s.state(row, managed.StateDeleted)
	equal(t, "events", []string{"created", "ready", "error", "deleting", "deleted"}, s.events(row))
}

// A listing that is older than what a pass or a call did says nothing.
func TestARefreshIsNoNewsOfWhatChangedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	row := s.ready("one")
	slow := &slowProvider{cloud: s.cloud}
	slow.list = func() {
		s.update(row, managed.UpdateInput{ReleaseChannel: new(managed.ChannelRapid)})
		s.Pass(t.Context())
		s.cloud.at(row, func(seen *managed.ProviderCluster) { seen.Endpoint = "203.0.113.99" })
		s.advance(time.Minute)
		s.Pass(t.Context())
		slow.list = nil
	}
	s.advance(5 * time.Minute)
	s.reconciler(s.store, slow).Jobs(t.Context())
	if slow.list != nil {
		t.Fatal("there was no refresh")
	}
	equal(t, "endpoint", "203.0.113.99", s.state(row, managed.StateReady).Endpoint)
	equal(t, "events", []string{"created", "ready", "updated"}, s.events(row))
}

func TestACallWhileAPassRuns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hook   func(*slowProvider, func())
		writes []string
	}{
		"while it looks": {func(p *slowProvider, call func()) { p.look = call }, []string{"one update cluster releaseChannel"}},
		"while it sends": {func(p *slowProvider, call func()) { p.send = call }, []string{"one update cluster releaseChannel", "one update cluster releaseChannel"}},
	} {
		s := newScene(t)
		row := s.ready("one")
		s.writes()
		s.update(row, managed.UpdateInput{ReleaseChannel: new(managed.ChannelRapid)})
		slow := &slowProvider{cloud: s.cloud}
		done := false
		test.hook(slow, func() {
			if !done {
				done = true
				s.update(row, managed.UpdateInput{ReleaseChannel: new(managed.ChannelStable)})
			}
		})
		s.reconciler(s.store, slow).Pass(t.Context())
		s.run(5*time.Minute, 5*time.Second)
		got := s.state(row, managed.StateReady)
		equal(t, name+": channel", []managed.Channel{managed.ChannelStable, managed.ChannelStable}, []managed.Channel{got.Channel, s.cloud.clusters[row.Spot()].Channel})
		equal(t, name+": writes", test.writes, s.writes())
		equal(t, name+": events", []string{"created", "ready", "updated"}, s.events(row))
	}
}
