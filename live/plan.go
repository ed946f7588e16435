package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// requestsInFlight is how many requests are made at once. An API server answers no faster with more.
const requestsInFlight = 16

// Planned is what each step does, as decided from what is there. It is carried out once.
type Planned struct {
	servers *servers
	items   []*item
}

// item is a step with the objects it is for: one, or those of a selection.
type item struct {
	step    clustermanager.Step
	objects []*object
	// unread is why the wait ended without knowing what runs.
	unread error
}

// object is one object of a step.
type object struct {
	step      clustermanager.Step
	reference clustermanager.ObjectReference
	// live is the object as it was read, or written, last; nil: absent.
	live *unstructured.Unstructured
	// action is what the step does; "": nothing, and nothing is told.
	action  clustermanager.Action
	changes []string
	// replace says that an update has to take something off.
	replace bool
	// stuck is the reason of a removal that went wrong before and is to be tried again.
	stuck string
	// holders are the names of what keeps the object; held is why it is kept, left why it is left alone.
	holders    []string
	held, left string

	done bool
}

// writes says whether something has to be written.
func (o *object) writes() bool {
	switch o.action {
	case clustermanager.ActionCreate, clustermanager.ActionUpdate, clustermanager.ActionDelete, clustermanager.ActionRetire:
		return true
	}
	return o.stuck != ""
}

// Result is what was done, or would be.
type Result struct {
	// Changes are in the order of the steps.
	Changes  []clustermanager.Change
	Warnings []string
	// Partial says that something is pending; NextStep then says why, how much of it there is and what to do.
	Partial  bool
	NextStep string
	// Written counts the objects that were written.
	Written int
}

// Plan reads every object of the steps at once and decides what each step does. An error is a
// *clustermanager.Refusal, the first in the order of the steps, or the reason why an API server could not be asked.
func Plan(ctx context.Context, clients Clients, steps []clustermanager.Step) (*Planned, error) {
	planned := &Planned{servers: newServers(clients), items: make([]*item, len(steps))}
	faults := make([]error, len(steps))
	var reads errgroup.Group
	reads.SetLimit(requestsInFlight)
	for index, step := range steps {
		planned.items[index] = &item{step: step}
		reads.Go(func() error {
			faults[index] = planned.servers.read(ctx, planned.items[index])
			return nil
		})
	}
	_ = reads.Wait()
	for _, fault := range faults {
		if fault != nil {
			return nil, fault
		}
	}
	planned.forget()
	return planned, nil
}

// forget leaves out what keeps an object and goes itself before.
func (p *Planned) forget() {
	goes := map[string]bool{}
	for _, of := range p.items {
		for _, one := range of.objects {
			if rest := slices.DeleteFunc(slices.Clone(one.holders), func(name string) bool { return goes[name] }); len(rest) < len(one.holders) {
				one.keepFor(rest)
			}
			if one.action == clustermanager.ActionDelete {
				goes[holderName(one.reference)] = true
			}
		}
	}
}

// holderName names an object as one that keeps another.
func holderName(reference clustermanager.ObjectReference) string {
	return clustermanager.ObjectReference{Kind: reference.Kind, Namespace: reference.Namespace, Name: reference.Name}.String()
}

// Preview is the answer of a dry run.
func (p *Planned) Preview() Result {
	result := p.result(true)
	for index := range result.Changes {
		result.Changes[index].Action = result.Changes[index].Action.Would()
	}
	return result
}

// read fills in what a step would do now. What an optional step cannot find out is left.
func (s *servers) read(ctx context.Context, of *item) error {
	if of.step.Verb == clustermanager.Await {
		return nil
	}
	objects, err := s.find(ctx, of.step)
	for _, found := range objects {
		if err == nil {
			err = s.decide(ctx, found)
		}
	}
	if err != nil && of.step.Optional {
		of.objects = []*object{{step: of.step, reference: of.step.Reference(), left: err.Error()}}
		return nil
	}
	of.objects = objects
	if err != nil && clustermanager.ReasonOf(err) != clustermanager.ReasonRefused {
		return clustermanager.Refuse("%s: what is there and whose it is could not be read: %v; see to that, then call again", nameOf(of.step), err)
	}
	return err
}

// nameOf names the object of a step, or the objects.
func nameOf(step clustermanager.Step) string {
	if step.Select != nil {
		return nameOfSelection(*step.Select)
	}
	return step.Reference().String()
}

// find reads the objects of a step.
func (s *servers) find(ctx context.Context, step clustermanager.Step) ([]*object, error) {
	reference := step.Reference()
	if step.Select != nil {
		reference = clustermanager.ObjectReference{APIVersion: step.Select.APIVersion, Kind: step.Select.Kind, Namespace: step.Select.Namespace}
	}
	if step.StorageVersion {
		version, err := s.stored(ctx, step.At, reference)
		if err != nil || version == "" {
			return nil, err
		}
		reference.APIVersion = version
	}
	if step.Select == nil {
		live, err := s.get(ctx, step.At, reference)
		return []*object{{step: step, reference: reference, live: live}}, err
	}
	selection := *step.Select
	selection.APIVersion = reference.APIVersion
	chosen, err := s.list(ctx, step.At, selection)
	objects := make([]*object, 0, len(chosen))
	for _, live := range chosen {
		live.SetAPIVersion(selection.APIVersion)
		live.SetKind(selection.Kind)
		objects = append(objects, &object{step: step, reference: clustermanager.ReferenceTo(live), live: live})
	}
	return objects, err
}

// decide settles what is done with an object as it was read.
func (s *servers) decide(ctx context.Context, o *object) error {
	o.action, o.changes, o.replace, o.stuck, o.holders, o.held, o.left = "", nil, false, "", nil, "", ""
	if o.live == nil {
		if o.step.Verb == clustermanager.Ensure {
			o.action = clustermanager.ActionCreate
		}
		return nil
	}
	owned, err := s.owned(ctx, o.step, o.live)
	if err != nil || !owned {
		return err
	}
	switch o.step.Verb {
	case clustermanager.Ensure:
		return o.decideEnsure()
	case clustermanager.Annotate:
		o.decideAnnotate()
	case clustermanager.Remove:
		o.decideRemove()
		s.keep(ctx, o)
	case clustermanager.Retire:
		o.decideRemove()
		s.keep(ctx, o)
	case clustermanager.Await:
	}
	return nil
}

func (o *object) decideEnsure() error {
	if o.live.GetDeletionTimestamp() != nil {
		return clustermanager.Refuse("%s: it is being deleted: call again once it is gone", o.reference)
	}
	found := driftOf(o.step, o.live)
	o.changes, o.replace = found.paths, found.strays
	o.action = clustermanager.ActionUpdate
	if len(found.paths) == 0 {
		o.action = clustermanager.ActionUnchanged
	}
	return nil
}

func (o *object) decideAnnotate() {
	o.action = clustermanager.ActionUnchanged
	have := o.live.GetAnnotations()
	for key, value := range o.step.Object.GetAnnotations() {
		if actual, there := have[key]; actual != value || there != (value != "") {
			o.action = clustermanager.ActionUpdate
			o.changes = append(o.changes, clustermanager.MemberPath("metadata.annotations", key))
		}
	}
	slices.Sort(o.changes)
}

func (o *object) decideRemove() {
	o.action = clustermanager.ActionDelete
	if o.live.GetDeletionTimestamp() == nil || slices.ContainsFunc(o.live.GetFinalizers(), o.takesOff) {
		return
	}
	o.action = clustermanager.ActionTerminating
	if o.reference.Kind == "HelmRelease" {
		if reason := readyReason(o.live); strings.HasSuffix(reason, "Failed") {
			o.stuck = reason
		}
	}
}

func (o *object) takesOff(finalizer string) bool {
	return slices.Contains(o.step.Finalizers, finalizer)
}

func readyReason(live *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, entry := range conditions {
		if condition, is := entry.(map[string]any); is && condition["type"] == "Ready" {
			return fmt.Sprint(condition["reason"])
		}
	}
	return ""
}

// keep looks for what holds an object that would be deleted.
func (s *servers) keep(ctx context.Context, o *object) {
	if len(o.step.Holders) == 0 || o.action != clustermanager.ActionDelete {
		return
	}
	holders, err := s.holders(ctx, o.step)
	if err != nil {
		o.action, o.left = "", "what is in it could not be read: "+err.Error()
		return
	}
	o.keepFor(holders)
}

// keepFor decides what is done with an object that others may keep.
func (o *object) keepFor(holders []string) {
	o.action, o.holders, o.held, o.left = clustermanager.ActionDelete, holders, "", ""
	switch {
	case len(holders) == 0:
	case o.step.Verb == clustermanager.Remove:
		o.action, o.left = "", "it is used by "+shortened(holders)
	default:
		o.held = shortened(holders)
		o.action = clustermanager.ActionRetire
		if _, reason, _ := strings.Cut(o.live.GetAnnotations()[clustermanager.AnnotationRetired], ": "); reason == o.retirement() {
			o.action = clustermanager.ActionUnchanged
		}
	}
}

// retirement is the reason that the mark of a retired namespace gives.
func (o *object) retirement() string { return "holds " + o.held }

// retiredMark is the mark's value.
func (o *object) retiredMark(now time.Time) string {
	return now.UTC().Format(time.RFC3339) + ": " + o.retirement()
}

// namedHolders is how many holders are named.
const namedHolders = 5

func shortened(names []string) string {
	if len(names) <= namedHolders {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:namedHolders], ", "), len(names)-namedHolders)
}

// holders are the names of the objects that keep a step's object, sorted. One that is being deleted counts: it is there.
func (s *servers) holders(ctx context.Context, step clustermanager.Step) ([]string, error) {
	found := make([][]string, len(step.Holders))
	group, ctx := errgroup.WithContext(ctx)
	for index, selection := range step.Holders {
		group.Go(func() error {
			objects, err := s.list(ctx, step.At, selection)
			for _, holder := range objects {
				found[index] = append(found[index], holderName(clustermanager.ObjectReference{
					Kind: selection.Kind, Namespace: holder.GetNamespace(), Name: holder.GetName(),
				}))
			}
			return err
		})
	}
	err := group.Wait()
	names := slices.Concat(found...)
	slices.Sort(names)
	// A kind that is served at two versions may be looked for at both.
	return slices.Compact(names), err
}

// isMissing says whether the API server has no such object.
func isMissing(err error) bool { return apierrors.IsNotFound(err) }
