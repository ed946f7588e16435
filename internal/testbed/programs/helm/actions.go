package main

import (
	"context"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/opencontainers/go-digest"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/kube"
	ri "helm.sh/helm/v4/pkg/release"
	"helm.sh/helm/v4/pkg/release/common"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// releaseAction is an installation or an upgrade.
type releaseAction struct {
	name                    helmv2.ReleaseAction
	succeeded, failedReason string
	timeout                 func(*helmv2.HelmRelease) time.Duration
	remediation             func(*helmv2.HelmRelease) helmv2.Remediation
	run                     func(context.Context, *target, *helmv2.HelmRelease, *wanted) (*releasev1.Release, error)
}

var actions = map[helmv2.ReleaseAction]releaseAction{
	helmv2.ReleaseActionInstall: {
		helmv2.ReleaseActionInstall, helmv2.InstallSucceededReason, helmv2.InstallFailedReason,
		func(release *helmv2.HelmRelease) time.Duration {
			return release.GetInstall().GetTimeout(release.GetTimeout()).Duration
		},
		func(release *helmv2.HelmRelease) helmv2.Remediation { return release.GetInstall().GetRemediation() },
		install,
	},
	helmv2.ReleaseActionUpgrade: {
		helmv2.ReleaseActionUpgrade, helmv2.UpgradeSucceededReason, helmv2.UpgradeFailedReason,
		func(release *helmv2.HelmRelease) time.Duration {
			return release.GetUpgrade().GetTimeout(release.GetTimeout()).Duration
		},
		func(release *helmv2.HelmRelease) helmv2.Remediation { return release.GetUpgrade().GetRemediation() },
		upgrade,
	},
}

func install(ctx context.Context, target *target, release *helmv2.HelmRelease, want *wanted) (*releasev1.Release, error) {
	spec := release.GetInstall()
	if err := target.applyDefinitions(ctx, release, want.chart, policyOf(spec.CRDs, helmv2.Create)); err != nil {
		return nil, err
	}
	one := action.NewInstall(target.helm)
	one.ReleaseName, one.Namespace = release.GetReleaseName(), release.GetReleaseNamespace()
	one.CreateNamespace, one.SkipCRDs, one.Replace = spec.CreateNamespace, true, spec.Replace
	one.Timeout = spec.GetTimeout(release.GetTimeout()).Duration
	one.WaitStrategy, one.WaitForJobs = waitStrategy(spec.GetDisableWait()), !spec.DisableWaitForJobs
	one.WaitOptions = []kube.WaitOption{kube.WithWaitContext(ctx)}
	one.DisableHooks, one.DisableOpenAPIValidation = spec.DisableHooks, spec.DisableOpenAPIValidation
	one.SkipSchemaValidation, one.TakeOwnership = spec.DisableSchemaValidation, !spec.DisableTakeOwnership
	one.ServerSideApply = spec.ServerSideApply == nil || *spec.ServerSideApply
	one.ForceConflicts = one.ServerSideApply
	one.PostRenderer = originOf(release)
	return made(one.RunWithContext(ctx, want.chart, want.values))
}

func upgrade(ctx context.Context, target *target, release *helmv2.HelmRelease, want *wanted) (*releasev1.Release, error) {
	spec := release.GetUpgrade()
	if err := target.applyDefinitions(ctx, release, want.chart, policyOf(spec.CRDs, helmv2.Skip)); err != nil {
		return nil, err
	}
	one := action.NewUpgrade(target.helm)
	one.Namespace, one.SkipCRDs = release.GetReleaseNamespace(), true
	one.ResetValues, one.ReuseValues = !spec.PreserveValues, spec.PreserveValues
	one.MaxHistory = release.GetMaxHistory()
	one.Timeout = spec.GetTimeout(release.GetTimeout()).Duration
	one.WaitStrategy, one.WaitForJobs = waitStrategy(spec.GetDisableWait()), !spec.DisableWaitForJobs
	one.WaitOptions = []kube.WaitOption{kube.WithWaitContext(ctx)}
	one.DisableHooks, one.DisableOpenAPIValidation = spec.DisableHooks, spec.DisableOpenAPIValidation
	one.SkipSchemaValidation, one.TakeOwnership = spec.DisableSchemaValidation, !spec.DisableTakeOwnership
	one.ForceReplace, one.CleanupOnFail = spec.Force, spec.CleanupOnFail
	one.ForceConflicts = !spec.Force
	one.PostRenderer = originOf(release)
	return made(one.RunWithContext(ctx, release.GetReleaseName(), want.chart, want.values))
}

// uninstall is nothing when Helm has no release of the name.
func (t *target) uninstall(ctx context.Context, release *helmv2.HelmRelease) error {
	spec := release.GetUninstall()
	one := action.NewUninstall(t.helm)
	one.IgnoreNotFound, one.KeepHistory, one.DisableHooks = true, spec.KeepHistory, spec.DisableHooks
	one.Timeout = spec.GetTimeout(release.GetTimeout()).Duration
	one.WaitStrategy = waitStrategy(spec.GetDisableWait())
	one.WaitOptions = []kube.WaitOption{kube.WithWaitContext(ctx)}
	one.DeletionPropagation = spec.GetDeletionPropagation()
	_, err := one.Run(release.GetReleaseName())
	return err
}

func (t *target) rollback(ctx context.Context, release *helmv2.HelmRelease) error {
	spec := release.GetRollback()
	one := action.NewRollback(t.helm)
	one.Timeout = spec.GetTimeout(release.GetTimeout()).Duration
	one.WaitStrategy, one.WaitForJobs = waitStrategy(spec.GetDisableWait()), !spec.DisableWaitForJobs
	one.WaitOptions = []kube.WaitOption{kube.WithWaitContext(ctx)}
	one.DisableHooks, one.CleanupOnFail = spec.DisableHooks, spec.CleanupOnFail
	one.MaxHistory = release.GetMaxHistory()
	return one.Run(release.GetReleaseName())
}

// failed counts a failure and remedies it; when it was one too many, nothing is tried again.
func (a releaseAction) failed(ctx context.Context, target *target, release *helmv2.HelmRelease, err error) error {
	remediation := a.remediation(release)
	release.Status.Failures++
	remediation.IncrementFailureCount(release)
	mark(release, helmv2.ReleasedCondition, metav1.ConditionFalse, a.failedReason, err.Error())
	mark(release, fluxmeta.ReadyCondition, metav1.ConditionFalse, a.failedReason, err.Error())
	exhausted := remediation.RetriesExhausted(release)
	if remediation.GetRetries() != 0 && (!exhausted || remediation.MustRemediateLastFailure()) {
		remedy(ctx, target, release, remediation.GetStrategy())
	}
	if exhausted {
		stall(release, reasonRetries, err.Error())
		return nil
	}
	return err
}

func remedy(ctx context.Context, target *target, release *helmv2.HelmRelease, strategy helmv2.RemediationStrategy) {
	run, good, bad := target.uninstall, helmv2.UninstallSucceededReason, helmv2.UninstallFailedReason
	if strategy == helmv2.RollbackRemediationStrategy {
		run, good, bad = target.rollback, helmv2.RollbackSucceededReason, helmv2.RollbackFailedReason
	}
	message := "Helm " + string(strategy) + " remediation for release " + release.GetReleaseNamespace() + "/" + release.GetReleaseName()
	if err := run(ctx, release); err != nil {
		mark(release, helmv2.RemediatedCondition, metav1.ConditionFalse, bad, message+" failed: "+err.Error())
		return
	}
	mark(release, helmv2.RemediatedCondition, metav1.ConditionTrue, good, message+" succeeded")
}

// record puts what Helm made first in the history.
func record(release *helmv2.HelmRelease, made *releasev1.Release, want *wanted, name helmv2.ReleaseAction) {
	for _, former := range release.Status.History {
		if former.Status == common.StatusDeployed.String() && made.Info.Status == common.StatusDeployed {
			former.Status = common.StatusSuperseded.String()
		}
	}
	content, _ := json.Marshal(made)
	snapshot := &helmv2.Snapshot{
		APIVersion: helmv2.CurrentSnapshotAPIVersion, Digest: digest.FromBytes(content).String(),
		Name: made.Name, Namespace: made.Namespace, Version: made.Version, Status: made.Info.Status.String(), Action: name,
		ChartName: want.chart.Name(), ChartVersion: want.chart.Metadata.Version, AppVersion: want.chart.AppVersion(),
		ConfigDigest:  want.configDigest,
		FirstDeployed: metav1.NewTime(made.Info.FirstDeployed), LastDeployed: metav1.NewTime(made.Info.LastDeployed),
		OCIDigest: want.ociDigest,
	}
	release.Status.History = append(helmv2.Snapshots{snapshot}, release.Status.History...)
	release.Status.History.Truncate(true)
}

func waitStrategy(disabled bool) kube.WaitStrategy {
	if disabled {
		return kube.HookOnlyStrategy
	}
	return kube.StatusWatcherStrategy
}

func policyOf(given, standard helmv2.CRDsPolicy) helmv2.CRDsPolicy {
	if given == "" {
		return standard
	}
	return given
}

func made(release ri.Releaser, err error) (*releasev1.Release, error) {
	found, _ := release.(*releasev1.Release)
	return found, err
}
