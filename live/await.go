package live

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// waitError is a wait that the budget did not see the end of.
type waitError struct{ what string }

func (w *waitError) Error() string { return w.what }

func (w *waitError) Unwrap() error { return errTime }

// await polls until what the step waits for is true.
func (r *run) await(ctx context.Context, of *item) error {
	for {
		missing := r.missing(ctx, of)
		if missing == "" {
			return nil
		}
		if r.isOver(ctx) {
			return &waitError{missing}
		}
		if err := r.pause(ctx); err != nil {
			return &waitError{missing}
		}
	}
}

// missing says what the wait is for; "": nothing any more. What runs and cannot be read counts as not running, which the
// item then tells.
func (r *run) missing(ctx context.Context, of *item) string {
	step := of.step
	objects, err := r.find(ctx, step)
	if err != nil {
		if step.Until == clustermanager.UntilIdle {
			of.unread = err
			return ""
		}
		return "it is not known whether " + nameOf(step) + " is gone: " + err.Error()
	}
	for _, one := range objects {
		switch {
		case one.live == nil, step.Ownership == clustermanager.Labelled && !carries(one.live.GetLabels(), step.Object.GetLabels()):
		case step.Until == clustermanager.UntilIdle && !ready(one.live):
		case step.Until == clustermanager.UntilIdle:
			return fmt.Sprintf("%s still runs", one.reference)
		default:
			return fmt.Sprintf("%s is still there", one.reference)
		}
	}
	return ""
}

// ready says whether a Deployment has a ready replica.
func ready(deployment *unstructured.Unstructured) bool {
	replicas, found, err := unstructured.NestedInt64(deployment.Object, "status", "readyReplicas")
	return err == nil && found && replicas > 0
}
