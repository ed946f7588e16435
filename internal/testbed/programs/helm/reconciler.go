package main

import (
	"context"
	"fmt"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// reconciler looks after HelmReleases.
type reconciler struct {
	client.Client
	// reader asks the API server, so that Secrets and ConfigMaps are not kept.
	reader client.Reader
	config *rest.Config
}

// workers is how many HelmReleases are looked after at a time. One that waits holds its worker.
const workers = 16

// Failures are tried again after these times at first and at last, sooner than helm-controller does.
const firstRetry, lastRetry = 250 * time.Millisecond, 5 * time.Second

func (r *reconciler) setUp(manager ctrl.Manager) error {
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	return ctrl.NewControllerManagedBy(manager).
		For(&helmv2.HelmRelease{}, builder.WithPredicates(changed)).
		Watches(&sourcev1.OCIRepository{}, handler.EnqueueRequestsFromMapFunc(r.releasesOf)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		}).
		Complete(r)
}

// releasesOf are the HelmReleases that take their chart from a source.
func (r *reconciler) releasesOf(ctx context.Context, source client.Object) []reconcile.Request {
	var all helmv2.HelmReleaseList
	if err := r.List(ctx, &all); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for _, release := range all.Items {
		if release.HasChartRef() && sourceKey(&release) == client.ObjectKeyFromObject(source) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&release)})
		}
	}
	return requests
}

// Reconcile brings one HelmRelease to what it asks for.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	release := &helmv2.HelmRelease{}
	if err := r.Get(ctx, request.NamespacedName, release); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !release.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, r.delete(ctx, release)
	}
	if !controllerutil.ContainsFinalizer(release, helmv2.HelmReleaseFinalizer) {
		before := release.DeepCopy()
		controllerutil.AddFinalizer(release, helmv2.HelmReleaseFinalizer)
		if err := r.Patch(ctx, release, client.MergeFrom(before)); err != nil {
			return reconcile.Result{}, err
		}
	}
	if release.Spec.Suspend {
		return reconcile.Result{}, nil
	}
	err := r.update(ctx, release, func(save saver) error { return r.release(ctx, release, save) })
	return reconcile.Result{RequeueAfter: release.GetRequeueAfter()}, err
}

// saver writes the status as it is now.
type saver func(context.Context) error

// update writes the status that do leaves behind.
func (r *reconciler) update(ctx context.Context, release *helmv2.HelmRelease, do func(saver) error) error {
	written := release.DeepCopy()
	save := func(ctx context.Context) error {
		next := release.DeepCopy()
		if err := r.Status().Patch(ctx, next, client.MergeFrom(written)); err != nil {
			return client.IgnoreNotFound(err)
		}
		written = release.DeepCopy()
		return nil
	}
	doErr := do(save)
	if requested, found := meta.ReconcileAnnotationValue(release.Annotations); found {
		release.Status.SetLastHandledReconcileRequest(requested)
	}
	if doErr == nil {
		release.Status.ObservedGeneration = release.Generation
	} else if ready := apimeta.FindStatusCondition(release.Status.Conditions, meta.ReadyCondition); ready != nil {
		mark(release, meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingWithRetryReason, ready.Message)
	}
	if err := save(ctx); err != nil {
		return err
	}
	return doErr
}

// progress says that an action begins.
func progress(release *helmv2.HelmRelease, action helmv2.ReleaseAction, timeout time.Duration) {
	message := fmt.Sprintf("Running '%s' action with timeout of %s", action, timeout)
	mark(release, meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingReason, message)
	mark(release, meta.ReadyCondition, metav1.ConditionUnknown, meta.ProgressingReason, message)
}

// delete uninstalls the release and lets the HelmRelease go.
func (r *reconciler) delete(ctx context.Context, release *helmv2.HelmRelease) error {
	if !controllerutil.ContainsFinalizer(release, helmv2.HelmReleaseFinalizer) {
		return nil
	}
	if installed := release.Status.StorageNamespace != ""; installed && !release.Spec.Suspend {
		err := r.update(ctx, release, func(saver) error { return r.uninstallOf(ctx, release) })
		if err != nil {
			return err
		}
	}
	before := release.DeepCopy()
	controllerutil.RemoveFinalizer(release, helmv2.HelmReleaseFinalizer)
	return client.IgnoreNotFound(r.Patch(ctx, release, client.MergeFrom(before)))
}

// mark sets a condition of the generation that is looked after.
func mark(release *helmv2.HelmRelease, kind string, status metav1.ConditionStatus, reason, message string) {
	apimeta.SetStatusCondition(&release.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: release.Generation,
	})
}

// settle takes away what an action that is under way has set.
func settle(release *helmv2.HelmRelease) {
	apimeta.RemoveStatusCondition(&release.Status.Conditions, meta.ReconcilingCondition)
	apimeta.RemoveStatusCondition(&release.Status.Conditions, meta.StalledCondition)
}

// fail says why the release is not ready, and returns the error so that it is tried again.
func fail(release *helmv2.HelmRelease, reason string, err error) error {
	mark(release, meta.ReadyCondition, metav1.ConditionFalse, reason, err.Error())
	return err
}

// stall says why nothing is tried before the HelmRelease changes.
func stall(release *helmv2.HelmRelease, reason, message string) {
	settle(release)
	mark(release, meta.StalledCondition, metav1.ConditionTrue, reason, message)
}
