package proof

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// scenario is two trees and what a proof of the second one says.
type scenario struct {
	before, after files
	change        func(*Input)
	built         bool
	objects       []clustermanager.ObjectDiff
	note          []string
	warnings      []string
	refused       []string
}

func (s scenario) input() Input {
	in := proposal(s.before, s.after)
	if s.change != nil {
		s.change(&in)
	}
	return in
}

// scenarios are trees that can be built, at least on one side.
func scenarios() map[string]scenario {
	all := map[string]scenario{}
	for _, subject := range []func() map[string]scenario{
		kustomizationScenarios, differenceScenarios, substitutionScenarios, brokenBaseScenarios, ignoreScenarios, placedScenarios,
	} {
		maps.Copy(all, subject())
	}
	return all
}

// TestProve covers what passes and what is refused over trees that can be built.
func TestProve(t *testing.T) {
	for name, test := range scenarios() {
		t.Run(name, func(t *testing.T) {
			result, err := proven(t, test.input())
			if len(test.refused) > 0 {
				var refusal *clustermanager.Refusal
				if !errors.As(err, &refusal) {
					t.Fatalf("got %+v, %v, want a refusal", result.Proof, err)
				}
				for _, part := range test.refused {
					if !strings.Contains(refusal.Message, part) {
						t.Errorf("refusal %q lacks %q", refusal.Message, part)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if result.Proof.Built != test.built || (len(test.note) == 0) != (result.Proof.Note == "") {
				t.Errorf("proof %+v, want built %t", result.Proof, test.built)
			}
			for _, part := range test.note {
				if !strings.Contains(result.Proof.Note, part) {
					t.Errorf("note %q lacks %q", result.Proof.Note, part)
				}
			}
			if d := cmp.Diff(test.objects, result.Objects); d != "" {
				t.Errorf("objects (-want +got):\n%s", d)
			}
			if d := cmp.Diff(test.warnings, result.Warnings); d != "" {
				t.Errorf("warnings (-want +got):\n%s", d)
			}
		})
	}
}

// TestInputThatCannotBeProven names what is missing or unreadable.
func TestInputThatCannotBeProven(t *testing.T) {
	withoutDiff, odd := proposal(fleet, fleet.with(pool)), proposal(fleet, fleet.with(pool))
	withoutDiff.Diff = nil
	odd.Target.Spec = map[string]any{"path": func() {}}
	for want, in := range map[string]Input{
		"Kustomization flux/wc1: proving: no Diff was given":                                withoutDiff,
		"Kustomization flux/wc1: proving: copying its spec: json: unsupported type: func()": odd,
	} {
		if _, err := Prove(t.Context(), in); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
