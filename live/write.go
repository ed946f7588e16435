package live

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// write does what was decided, in one request but for a removal that takes finalizers off.
func (r *run) write(ctx context.Context, o *object) error {
	objects, err := r.objects(o.step.At, o.reference)
	if err != nil {
		return err
	}
	doing := "writing"
	switch {
	case o.stuck != "":
		doing, err = "asking it to try again", r.annotate(ctx, objects, o, map[string]string{
			clustermanager.AnnotationRequestedAt: r.options.Clock.Now().UTC().Format(time.RFC3339Nano),
		})
	case o.action == clustermanager.ActionCreate:
		doing, err = "creating", r.create(ctx, objects, o)
	case o.action == clustermanager.ActionUpdate && o.step.Verb == clustermanager.Ensure:
		doing, err = "changing", r.update(ctx, objects, o)
	case o.action == clustermanager.ActionUpdate:
		doing, err = "annotating", r.annotate(ctx, objects, o, o.step.Object.GetAnnotations())
	case o.action == clustermanager.ActionRetire:
		doing, err = "retiring", r.annotate(ctx, objects, o, map[string]string{clustermanager.AnnotationRetired: o.retiredMark(r.options.Time)})
	case o.action == clustermanager.ActionDelete:
		doing, err = "deleting", r.remove(ctx, objects, o)
	}
	switch {
	case err == nil:
		return nil
	case err.Error() == "":
		return fmt.Errorf("%s: %s: the API server answered %s and no more%w", o.reference, doing, apierrors.ReasonForError(err), err)
	}
	return fmt.Errorf("%s: %s: %w", o.reference, doing, err)
}

// create makes the object, and fails when somebody else made one meanwhile, which an apply would take over.
func (r *run) create(ctx context.Context, objects dynamic.ResourceInterface, o *object) error {
	made, err := objects.Create(ctx, written(o.step), metav1.CreateOptions{
		FieldManager: clustermanager.ManagedBy, FieldValidation: metav1.FieldValidationStrict,
	})
	if err == nil {
		o.live = made
	}
	return err
}

// update applies the object over the one that was read. What has to go from it is taken off by a replacement, since an
// apply leaves alone what others set.
func (r *run) update(ctx context.Context, objects dynamic.ResourceInterface, o *object) error {
	var made *unstructured.Unstructured
	var err error
	if o.replace {
		made, err = objects.Update(ctx, replacing(o.step, o.live), metav1.UpdateOptions{
			FieldManager: clustermanager.ManagedBy, FieldValidation: metav1.FieldValidationStrict,
		})
	} else {
		object := written(o.step)
		object.SetResourceVersion(o.live.GetResourceVersion())
		made, err = patch(ctx, objects, o, types.ApplyPatchType, object.Object)
	}
	if err == nil {
		o.live = made
	}
	return err
}

func patch(ctx context.Context, objects dynamic.ResourceInterface, o *object, kind types.PatchType, content map[string]any) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: clustermanager.ManagedBy}
	if kind == types.ApplyPatchType {
		options.Force, options.FieldValidation = new(true), metav1.FieldValidationStrict
	}
	return objects.Patch(ctx, o.reference.Name, kind, body, options)
}

// annotate sets annotations, or takes those with the value "" off, of the object that was read and no other.
func (r *run) annotate(ctx context.Context, objects dynamic.ResourceInterface, o *object, annotations map[string]string) error {
	values := map[string]any{}
	for key, value := range annotations {
		values[key] = value
		if value == "" {
			values[key] = nil
		}
	}
	_, err := patch(ctx, objects, o, types.MergePatchType, map[string]any{
		"metadata": map[string]any{"uid": string(o.live.GetUID()), "annotations": values},
	})
	if isMissing(err) {
		return nil
	}
	return err
}

// remove deletes the object that was read and no other, and takes off what nobody else will.
func (r *run) remove(ctx context.Context, objects dynamic.ResourceInterface, o *object) error {
	if o.live.GetDeletionTimestamp() == nil {
		err := objects.Delete(ctx, o.reference.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: new(o.live.GetUID())}, PropagationPolicy: new(metav1.DeletePropagationBackground),
		})
		if isMissing(err) || (err == nil && len(o.step.Finalizers) == 0) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	live, err := objects.Get(ctx, o.reference.Name, metav1.GetOptions{})
	if isMissing(err) || (err == nil && live.GetUID() != o.live.GetUID()) {
		return nil
	}
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(live.GetFinalizers(), o.takesOff)
	if len(kept) == len(live.GetFinalizers()) {
		return nil
	}
	_, err = patch(ctx, objects, o, types.MergePatchType, map[string]any{
		"metadata": map[string]any{"resourceVersion": live.GetResourceVersion(), "finalizers": kept},
	})
	if isMissing(err) {
		return nil
	}
	return err
}
