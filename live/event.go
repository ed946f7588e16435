package live

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// announced are the actions that an Event tells of, with its reason.
var announced = map[clustermanager.Action]string{
	clustermanager.ActionCreate: "Created",
	clustermanager.ActionUpdate: "Changed",
	clustermanager.ActionDelete: "Deleted",
}

// announce leaves an Event at each HelmRelease that was written, in what is left of the budget. Nothing depends on it, so
// a fault is not told.
func (r *run) announce(ctx context.Context, planned *Planned) {
	var writes errgroup.Group
	writes.SetLimit(requestsInFlight)
	for _, of := range planned.items {
		for _, one := range of.objects {
			if one.done && one.live != nil && one.reference.Kind == "HelmRelease" && announced[one.action] != "" {
				writes.Go(func() error {
					r.event(ctx, one)
					return nil
				})
			}
		}
	}
	_ = writes.Wait()
}

func (r *run) event(ctx context.Context, o *object) {
	now := r.options.Time.UTC()
	who := callerName(r.options.Caller)
	event := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event", "type": "Normal", "reason": announced[o.action],
		"metadata": map[string]any{
			"namespace": o.reference.Namespace, "name": fmt.Sprintf("%s.%x", o.reference.Name, r.options.Clock.Now().UnixNano()),
		},
		"message": fmt.Sprintf("%s by %s with %s", announced[o.action], who, r.options.Tool),
		"involvedObject": map[string]any{
			"apiVersion": o.reference.APIVersion, "kind": o.reference.Kind, "namespace": o.reference.Namespace,
			"name": o.reference.Name, "uid": string(o.live.GetUID()),
		},
		"source": map[string]any{"component": clustermanager.ManagedBy}, "count": int64(1),
		"firstTimestamp": now.Format(time.RFC3339), "lastTimestamp": now.Format(time.RFC3339),
		"reportingComponent": clustermanager.ManagedBy, "reportingInstance": clustermanager.ManagedBy,
	}}
	objects, err := r.objects(o.step.At, clustermanager.ReferenceTo(event))
	if err != nil {
		return
	}
	_, _ = objects.Create(ctx, event, metav1.CreateOptions{FieldManager: clustermanager.ManagedBy})
}

// callerName is the caller as an Event names them.
func callerName(email string) string {
	if email == "" {
		return "a caller without an e-mail"
	}
	return email
}
