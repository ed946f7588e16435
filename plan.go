package clustermanager

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Verb is what a step does with its object.
type Verb string

const (
	// Ensure creates the object, or changes what differs.
	Ensure Verb = "ensure"
	// Remove deletes the object, or those that the step selects. What is absent is done.
	Remove Verb = "remove"
	// Await waits until what Step.Until says is true. It is not listed in an answer; every later step waits with it.
	Await Verb = "await"
	// Annotate sets the annotations of Step.Object on the object that is there, and takes off those with the value "".
	// An absent object is left absent.
	Annotate Verb = "annotate"
	// Retire removes a namespace that none of Step.Holders is in, and marks it with AnnotationRetired where one is.
	Retire Verb = "retire"
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

// Location says on whose API server an object is.
type Location string

const (
	// AtInstallation is the installation, the zero Location.
	AtInstallation Location = ""
	// AtTarget is the cluster that the call is about; the own cluster's is the installation.
	AtTarget Location = "target"
)

// Ownership says whose an object has to be for a step to touch it. What a Kustomization has in its inventory is refused
// on the installation, whosever it is.
type Ownership string

const (
	// Composed is an object of ours: managed-by says so, and chart, cluster and node-pool labels are those of the step's
	// object, absent ones included. Another one is refused. A Remove step carries these labels too.
	Composed Ownership = ""
	// Labelled is an object that carries every label of the step's object, such as the Flux labels that name the release
	// which rendered it; without labels anybody's. Another one counts as absent.
	Labelled Ownership = "labelled"
)

// Until is what an Await step waits for, of the objects that it names or selects.
type Until string

const (
	// UntilGone is until none of them is there.
	UntilGone Until = "gone"
	// UntilIdle is until none of them, Deployments, has a ready replica. One that cannot be read counts as not running.
	UntilIdle Until = "idle"
)

// Selection chooses objects of one kind at the time when a step runs.
type Selection struct {
	APIVersion string
	Kind       string
	// Namespace of the objects; "": every namespace, or a kind that has none.
	Namespace string
	// Labels is a label selector as Kubernetes writes it; "": all.
	Labels string
	// Except leaves out the objects that one of these matches.
	Except []Match
}

// Match is an object whose labels hold all of Labels, or, with Field, one whose field of that dotted path, such as
// "status.phase", has the text Value.
type Match struct {
	Labels map[string]string
	Field  string
	Value  string
}

// Step is one thing to do with one object, or with the objects of a selection. Steps run in their order; of Ensure steps
// next to each other those that create go first. The zero value of each field is the usual case.
type Step struct {
	Verb Verb
	Lane Lane
	// Object is the composed object; for other verbs than Ensure its apiVersion, kind, namespace, name and the labels
	// that Ownership wants suffice. A Secret's stringData holds Masked in place of each value. It has no name where the
	// step is for a selection, and names kind and namespace then.
	Object *unstructured.Unstructured
	// SecretData holds the plain values of a Secret's stringData, by key. Only the sealing and the write to the API
	// server reveal them.
	SecretData map[string]Secret

	// At is where the object is.
	At Location
	// Ownership is whose the object has to be.
	Ownership Ownership
	// Select makes a Remove or Await step one for every object that it chooses, in the order of their names. Its members are
	// removed at the same time, and listed one by one.
	Select *Selection
	// StorageVersion reads and writes the object at the version that its CRD stores, whatever version Object has.
	StorageVersion bool
	// Finalizers are taken off once the object is deleted, because nothing runs that would. Such a removal is tried again
	// while the API server answers forbidden, an internal error or a timeout, since the webhook of a controller that has
	// just gone does that, and a warning names what went so.
	Finalizers []string
	// Holders keep the object: where one of them is found, a Remove step leaves it, with a warning, and a Retire step
	// retires it. Where they cannot be read, both leave it with a warning. A set of objects
	// that keep each other, such as the CRDs of an API, carries the same Holders in each step.
	Holders []Selection
	// Until is what an Await step waits for.
	Until Until
	// Optional makes a step that the API server refuses a warning, and later steps go on.
	Optional bool
	// WayOut is what a person does when the API server forbids the step: as long as nothing was written, the call is
	// refused with it.
	WayOut string
}

// Reference names the step's object.
func (s Step) Reference() ObjectReference { return ReferenceTo(s.Object) }

// Plan is what should be done, in order.
type Plan struct {
	Steps    []Step
	Warnings []string
	// Carried is the object whose file the repository must hold for the plan to be proposed, since the plan takes it away or
	// changes it for that; nil: none has to be there.
	Carried *ObjectReference
	// NotCarried is the answer where the repository holds neither that nor anything of a place that the plan gives up: a
	// *Refusal or a *NotFound.
	NotCarried error
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

// In returns the steps of the lanes, in order.
func (p Plan) In(lanes ...Lane) []Step {
	var steps []Step
	for _, step := range p.Steps {
		if slices.Contains(lanes, step.Lane) {
			steps = append(steps, step)
		}
	}
	return steps
}
