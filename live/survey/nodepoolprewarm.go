package survey

import (
	"context"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clustermanager "github.com/clustermanager/cluster-manager"
)

var jobNoun = noun{"Job", schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}}

// prewarm reads a pool's placeholder Job and its newest pod, which are on the installation.
func (r *Reader) prewarm(ctx context.Context, release clustermanager.PoolReleaseFacts) (clustermanager.PrewarmFacts, error) {
	var job *unstructured.Unstructured
	var pods []unstructured.Unstructured
	var reads errgroup.Group
	reads.Go(func() (err error) {
		job, err = r.get(ctx, jobNoun, release.Namespace, release.Name+"-prewarm")
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	reads.Go(func() (err error) {
		pods, err = r.list(ctx, podNoun, release.Namespace, metav1.ListOptions{LabelSelector: labels.Set{
			clustermanager.LabelChart: clustermanager.ChartGPUNodePool, "app.kubernetes.io/instance": release.Name, clustermanager.LabelMachinePool: release.Name,
		}.String()})
		return err
	})
	if err := reads.Wait(); err != nil {
		return clustermanager.PrewarmFacts{}, err
	}
	var found clustermanager.PrewarmFacts
	if job != nil {
		found.Job = &clustermanager.PrewarmJob{
			Name: job.GetName(), Created: job.GetCreationTimestamp().UTC(), Conditions: conditionsOf(job),
			Completed: momentAt(job.Object, "status", "completionTime"), DeadlineSeconds: numberAt(job.Object, "spec", "activeDeadlineSeconds"),
		}
	}
	for index := range pods {
		if pod := prewarmPod(&pods[index]); found.Pod == nil || found.Pod.Created.Before(pod.Created) {
			found.Pod = &pod
		}
	}
	return found, nil
}

func prewarmPod(object *unstructured.Unstructured) clustermanager.PrewarmPod {
	pod := clustermanager.PrewarmPod{
		Name: object.GetName(), Created: object.GetCreationTimestamp().UTC(), DeletedAt: deletedAt(object),
		Phase: textAt(object.Object, "status", "phase"), Started: momentAt(object.Object, "status", "startTime"),
		NodeName: textAt(object.Object, "spec", "nodeName"), Reason: textAt(object.Object, "status", "reason"),
		Message: textAt(object.Object, "status", "message"), Conditions: conditionsOf(object),
	}
	for _, container := range mapsAt(object.Object, "status", "containerStatuses") {
		if ended := mapAt(container, "state", "terminated"); ended != nil {
			pod.Ended = &clustermanager.EndedContainer{
				Name: textAt(container, "name"), Reason: textAt(ended, "reason"), ExitCode: numberAt(ended, "exitCode"),
			}
			break
		}
	}
	return pod
}
