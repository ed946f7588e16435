package compose

import (
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

func TestPoolWithoutServingBesideASlice(t *testing.T) {
	key := "org-acme_wc1-agent-platform_helm.toolkit.fluxcd.io_HelmRelease"
	owned := clustermanager.Known(&clustermanager.LiveObject{Labels: map[string]string{clustermanager.LabelManagedBy: clustermanager.ManagedBy}})
	foreign := clustermanager.Known(&clustermanager.LiveObject{Labels: map[string]string{clustermanager.LabelManagedBy: "Helm"}})
	for name, test := range map[string]struct {
		slice         clustermanager.Reading[*clustermanager.LiveObject]
		refused, warn bool
	}{
		"ours":       {slice: owned, refused: true},
		"a person's": {slice: foreign},
		"none":       {slice: clustermanager.Known[*clustermanager.LiveObject](nil)},
		"unreadable": {slice: clustermanager.Unknown[*clustermanager.LiveObject]("forbidden"), warn: true},
	} {
		t.Run(name, func(t *testing.T) {
			survey := surveyOf(t, "wc1")
			survey.Live[key] = test.slice
			pool, err := NodePool(pool("wc1", "gpu-l4"), survey)
			if refused := clustermanager.ReasonOf(err) == clustermanager.ReasonRefused; refused != test.refused {
				t.Fatalf("refused %t: %v", refused, err)
			}
			if warned := strings.Contains(strings.Join(pool.Plan.Warnings, "\n"), "whether cluster-manager serves models"); warned != test.warn {
				t.Errorf("warned %t: %q", warned, pool.Plan.Warnings)
			}
		})
	}
}
