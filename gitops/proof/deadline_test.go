package proof

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// TestDeadline passes on our folder alone where there is no time left for the tree.
func TestDeadline(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	in := proposal(fleet, fleet.with(pool))
	in.Now, in.Deadline = func() time.Time { return now }, now.Add(-time.Second)
	result, err := proven(t, in)
	if err != nil || result.Proof.Built || !strings.Contains(result.Proof.Note, "did not build in the time left") {
		t.Errorf("got %+v, %v, want it not built for lack of time", result.Proof, err)
	}
	in = proposal(fleet, fleet.with(pool).with(files{"clusters/wc1/quotas.yaml": configMap("quotas", "none")}))
	in.Now, in.Deadline = func() time.Time { return now }, now.Add(-time.Second)
	if _, err := proven(t, in); clustermanager.ReasonOf(err) != clustermanager.ReasonRefused {
		t.Errorf("got %v, want a refusal of the other file", err)
	}
}

// TestBusy gives up at the deadline while other builds hold every slot.
func TestBusy(t *testing.T) {
	for range cap(slots) {
		slots <- struct{}{}
		t.Cleanup(func() { <-slots })
	}
	in := proposal(fleet, fleet.with(pool))
	in.Deadline = time.Now().Add(50 * time.Millisecond)
	result, err := proven(t, in)
	if err != nil || result.Proof.Built || !strings.Contains(result.Proof.Note, "was not built either") {
		t.Errorf("got %+v, %v, want neither built", result.Proof, err)
	}
}

// TestEnds answers a call that was given up, and a read that failed, as what they are.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Prove(ctx, proposal(fleet, fleet.with(pool))); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it canceled", err)
	}
	in := proposal(fleet, fleet.with(pool))
	in.Load = func(context.Context, string, func(string) bool) error { return errors.New("the server hung up") }
	if _, err := proven(t, in); err == nil || clustermanager.ReasonOf(err) != clustermanager.ReasonError ||
		!strings.HasPrefix(err.Error(), "Kustomization flux/wc1: proving:") {
		t.Errorf("got %v, want the failed read", err)
	}
}
