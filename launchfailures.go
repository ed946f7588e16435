package clustermanager

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// LaunchFailure is a node that Karpenter could not launch.
type LaunchFailure struct {
	// Claim is the NodeClaim's name.
	Claim   string
	Time    time.Time
	Reason  string
	Message string
}

// Refusal is the failure that the claim's own conditions tell; nil: they tell none.
func (c NodeClaim) Refusal() *LaunchFailure {
	for _, of := range []string{"Launched", "Registered"} {
		condition := ConditionOf(c.Conditions, of)
		if condition == nil || condition.Status != "False" {
			continue
		}
		failure := &LaunchFailure{Claim: c.Name, Time: c.Created, Reason: condition.Reason, Message: OneLine(condition.Message, 0)}
		if condition.Since != nil {
			failure.Time = *condition.Since
		}
		return failure
	}
	return nil
}

// LaunchFailures are the launches that failed, one for each NodeClaim, oldest first. A failure counts until another
// claim of the pool was created after it. A list that could not be read has none.
func (f NodePoolFacts) LaunchFailures() []LaunchFailure {
	claims, latest := f.Claims.Or(nil), map[string]LaunchFailure{}
	note := func(failure LaunchFailure) {
		retried := slices.ContainsFunc(claims, func(claim NodeClaim) bool {
			return claim.Name != failure.Claim && claim.Created.After(failure.Time)
		})
		if known, there := latest[failure.Claim]; retried || there && !failure.Time.After(known.Time) {
			return
		}
		latest[failure.Claim] = failure
	}
	for _, claim := range claims {
		if failure := claim.Refusal(); failure != nil {
			note(*failure)
		}
	}
	for _, event := range f.Events.Or(nil) {
		message := strings.TrimPrefix(OneLine(event.Message, 0), "NodeClaim "+event.Claim+" event: ")
		note(LaunchFailure{Claim: event.Claim, Time: event.Time, Reason: event.Reason, Message: message})
	}
	var failures []LaunchFailure
	for _, failure := range latest {
		failures = append(failures, failure)
	}
	slices.SortFunc(failures, func(a, b LaunchFailure) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Claim, b.Claim))
	})
	return failures
}
