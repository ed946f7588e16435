package clustermanager

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Verb is what a step does with its object.
type Verb string

const (
	Ensure Verb = "ensure"
	Remove Verb = "remove"
	Await  Verb = "await"
)

// Lane says through which door a step leaves.
type Lane string

const (
	// Declared goes to git or to the API server, by mode.
	Declared Lane = "declared"
	// Runtime is live in both modes; in mode commit right after the pull request is open.
	Runtime Lane = "runtime"
	// Teardown is live in mode apply alone, and a live step to be done by a later call in mode commit.
	Teardown Lane = "teardown"
)

// Step is one thing to do with one object.
type Step struct {
	Verb Verb
	Lane Lane
	// Object is the composed object; for Remove and Await its apiVersion, kind, namespace and name suffice. A Secret's
	// stringData holds Masked in place of each value.
	Object *unstructured.Unstructured
	// SecretData holds the plain values of a Secret's stringData, by key. Only the sealing and the write to the API
	// server reveal them.
	SecretData map[string]Secret
}

// Reference names the step's object.
func (s Step) Reference() ObjectReference { return ReferenceTo(s.Object) }

// Plan is what should be done, in order.
type Plan struct {
	Steps    []Step
	Notes    []string
	Warnings []string
}

// Objects returns the references of the steps with the verb and lane, in order.
func (p Plan) Objects(verb Verb, lane Lane) []ObjectReference {
	var references []ObjectReference
	for _, step := range p.Steps {
		if step.Verb == verb && step.Lane == lane {
			references = append(references, step.Reference())
		}
	}
	return references
}
