package compose

import (
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

func TestPoolOverAMachinePoolOfTheSameName(t *testing.T) {
	machines := func(labels map[string]string) clustermanager.Reading[*clustermanager.LiveObject] {
		return clustermanager.Known(&clustermanager.LiveObject{Labels: labels})
	}
	for name, test := range map[string]struct {
		found         clustermanager.Reading[*clustermanager.LiveObject]
		refused, warn bool
	}{
		"of this release": {found: machines(map[string]string{clustermanager.LabelHelmReleaseName: "wc1-gpu-l4"})},
		"of another":      {found: machines(map[string]string{clustermanager.LabelHelmReleaseName: "wc1"}), refused: true},
		"made by hand":    {found: machines(nil), refused: true},
		"none":            {found: clustermanager.Known[*clustermanager.LiveObject](nil)},
		"unreadable":      {found: clustermanager.Unknown[*clustermanager.LiveObject]("forbidden"), warn: true},
	} {
		t.Run(name, func(t *testing.T) {
			survey := surveyOf(t, "wc1")
			survey.Live[clustermanager.LiveKey(clustermanager.MachinePoolReference(survey.Cluster, "gpu-l4"))] = test.found
			composed, err := NodePool(pool("wc1", "gpu-l4"), survey)
			if refused := clustermanager.ReasonOf(err) == clustermanager.ReasonRefused; refused != test.refused {
				t.Fatalf("refused %t: %v", refused, err)
			}
			if warned := strings.Contains(strings.Join(composed.Plan.Warnings, "\n"), "MachinePool org-acme/wc1-gpu-l4"); warned != test.warn {
				t.Errorf("warned %t: %q", warned, composed.Plan.Warnings)
			}
		})
	}
}
