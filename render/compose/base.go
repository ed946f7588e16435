package compose

import (
	"errors"
	"fmt"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// base is what every decision stands on, and what it warns of.
type base struct {
	survey   clustermanager.Survey
	mode     clustermanager.Mode
	warnings []string
}

// cluster names the cluster as errors do.
func (b *base) cluster() string {
	return "Cluster " + clustermanager.NamespacedName{Namespace: b.survey.Cluster.Namespace, Name: b.survey.Cluster.Name}.String()
}

func (b *base) warn(format string, arguments ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, arguments...))
}

// carried wants the object in the repository, where the plan is proposed there.
func (b *base) carried(plan clustermanager.Plan, reference clustermanager.ObjectReference) clustermanager.Plan {
	repository := b.survey.Target.Or(clustermanager.Target{}).Repository
	plan.Carried = &reference
	plan.NotCarried = clustermanager.Refuse("%s: %s at %s does not hold it, so there is nothing to propose: call again with mode %s, which does this on the installation",
		reference, repository.FullName(), repository.Branch, clustermanager.ModeApply)
	return plan
}

// need returns a value that the decision cannot do without. A read that was itself refused is told in its own words.
func need[T any](b *base, reading clustermanager.Reading[T], what string) (T, error) {
	value, known := reading.Get()
	if known {
		return value, nil
	}
	var refusal *clustermanager.Refusal
	if errors.As(reading.Err(), &refusal) {
		return value, refusal
	}
	return value, clustermanager.Refuse("%s: %s could not be read: %s; see to that, then call again", b.cluster(), what, reading.Reason())
}

// checkTarget tells early that git has no place for the cluster's files, where that was decided. A target that could not
// be read is the door's to tell.
func (b *base) checkTarget() error {
	var refusal *clustermanager.Refusal
	if b.mode == clustermanager.ModeCommit && errors.As(b.survey.Target.Err(), &refusal) {
		return refusal
	}
	return nil
}

// establishAll runs the rules in their order; the first that refuses ends it.
func establishAll(rules ...func() error) error {
	for _, rule := range rules {
		if err := rule(); err != nil {
			return err
		}
	}
	return nil
}

// labels are those of every composed object of a chart.
func (b *base) labels(chart string) map[string]string {
	return map[string]string{
		clustermanager.LabelManagedBy: clustermanager.ManagedBy,
		clustermanager.LabelChart:     chart,
		clustermanager.LabelCluster:   b.survey.Cluster.Name,
	}
}

// valueOf is a reading's value, or why there is none.
func valueOf[T any](reading clustermanager.Reading[T]) (T, error) {
	value, _ := reading.Get()
	return value, reading.Err()
}
