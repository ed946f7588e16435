package mcptools

import (
	"errors"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// A target that could not be read is no decision: only what was refused is answered as refused.
func TestWithoutATargetTheClassIsThatOfItsRead(t *testing.T) {
	for want, err := range map[clustermanager.Reason]error{
		clustermanager.ReasonRefused:  clustermanager.Refuse("no Kustomization owns it"),
		clustermanager.ReasonNotFound: &clustermanager.NotFound{What: "Cluster wc1"},
		clustermanager.ReasonError:    errors.New("Kustomization flux/wc1: reading: timeout"),
	} {
		survey := clustermanager.Survey{Target: clustermanager.Read(clustermanager.Target{}, err)}
		_, got := tools(t).carryOut(t.Context(), Call{}, change{mode: clustermanager.ModeCommit, survey: survey}, clustermanager.WriteResult{})
		if clustermanager.ReasonOf(got) != want || got.Error() != err.Error() {
			t.Errorf("%v: got %v of class %s, want class %s", err, got, clustermanager.ReasonOf(got), want)
		}
	}
}
