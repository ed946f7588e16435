// Package policy decides calls of the managed clusters API by Cedar policies.
//
// The principal is User::"issuer|subject", with the parents Group::"…" of the identity provider and Role::"tenant/role"
// of the catalogue's bindings. The resource is ComputeTenant::"…", or ComputeKubernetesCluster::"…" with its tenant as
// parent. Both have the attributes providerAccountId, poolId, projectId, mode and location ("" when absent), owner (a
// User), operators and viewers (the tenant's Roles).
//
// The package promises: forbid goes over permit, and nothing is allowed that no policy permits; a policy that cannot be
// evaluated makes the decision a refusal; a policy that names an unknown action or kind of entity is refused when it is
// read, since it would never match. A decision names the policies that made it.
//
// It leaves out who asks, and what the answer is used for. It keeps nothing, and is safe for concurrent use.
package policy

import (
	_ "embed"
	"fmt"
	"slices"

	"github.com/cedar-policy/cedar-go"

	"github.com/clustermanager/cluster-manager/managed"
)

//go:embed default.cedar
var defaultSet []byte

// Document is a text with policies. Its name stands in faults and in the names of policies without an id.
type Document struct {
	Name string
	Text []byte
}

// Default is the policy set of an installation that brings none: operator and viewer by the catalogue's bindings, and
// the owner of a cluster.
func Default() Document { return Document{Name: "default.cedar", Text: slices.Clone(defaultSet)} }

// Set is a policy set in use.
type Set struct {
	policies *cedar.PolicySet
	roles    func(managed.Principal) []string
}

// New reads policies. The roles are what the catalogue in use gives a person, each as "tenant/role".
func New(roles func(managed.Principal) []string, documents ...Document) (*Set, error) {
	set := &Set{policies: cedar.NewPolicySet(), roles: roles}
	for _, document := range documents {
		list, err := cedar.NewPolicyListFromBytes(document.Name, document.Text)
		if err != nil {
			return nil, fmt.Errorf("policies %s: reading: %w", document.Name, err)
		}
		for i, policy := range list {
			name := name(document, i, policy)
			if err := known(policy); err != nil {
				return nil, fmt.Errorf("policy %s: %w", name, err)
			}
			if !set.policies.Add(cedar.PolicyID(name), policy) {
				return nil, fmt.Errorf("policy %s: there are two of that name: give each an @id of its own", name)
			}
		}
	}
	return set, nil
}

// name is the policy's @id, else its document and number.
func name(document Document, number int, policy *cedar.Policy) string {
	if id, given := policy.Annotations()["id"]; given && id != "" {
		return string(id)
	}
	return fmt.Sprintf("%s#%d", document.Name, number+1)
}

// Decide answers a query.
func (s *Set) Decide(query managed.Query) managed.Decision {
	entities, request := s.entities(query)
	verdict, diagnostic := cedar.Authorize(s.policies, entities, request)
	var decision managed.Decision
	for _, reason := range diagnostic.Reasons {
		decision.Policies = append(decision.Policies, string(reason.PolicyID))
	}
	for _, fault := range diagnostic.Errors {
		decision.Faults = append(decision.Faults, fmt.Sprintf("%s: %s", fault.PolicyID, fault.Message))
	}
	slices.Sort(decision.Policies)
	slices.Sort(decision.Faults)
	// A deny with reasons is a forbid's; without, no policy permits.
	decision.Forbidden = verdict == cedar.Deny && len(decision.Policies) > 0
	decision.Allowed = verdict == cedar.Allow && len(decision.Faults) == 0
	return decision
}
