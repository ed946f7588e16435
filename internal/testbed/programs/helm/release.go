package main

import (
	"context"
	"errors"
	"fmt"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/release/common"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The reasons that helm-controller gives for what comes before a release.
const (
	reasonUnsupported    = "Unsupported"
	reasonSourceNotReady = "SourceNotReady"
	reasonValues         = "ValuesError"
	reasonClient         = "RESTClientError"
	reasonState          = "StateError"
	reasonRetries        = "RetriesExceeded"
)

// wanted is what a HelmRelease asks for.
type wanted struct {
	chart *chart.Chart
	// ociDigest is the digest of the chart's manifest.
	ociDigest    string
	values       map[string]any
	configDigest string
}

// release compares what is wanted with Helm's latest release, and acts.
func (r *reconciler) release(ctx context.Context, release *helmv2.HelmRelease, save saver) error {
	if what := unsupported(release); what != "" {
		message := "the stand-in of helm-controller does not support " + what
		stall(release, reasonUnsupported, message)
		mark(release, meta.ReadyCondition, metav1.ConditionFalse, reasonUnsupported, message)
		return nil
	}
	source, why, err := r.source(ctx, release)
	if err != nil {
		return fail(release, helmv2.ArtifactFailedReason, err)
	}
	if why != "" {
		settle(release)
		mark(release, meta.ReadyCondition, metav1.ConditionFalse, reasonSourceNotReady, why)
		return nil
	}
	want := &wanted{}
	if want.values, want.configDigest, err = r.values(ctx, release); err != nil {
		return fail(release, reasonValues, err)
	}
	if want.chart, want.ociDigest, err = fetch(ctx, source); err != nil {
		return fail(release, helmv2.ArtifactFailedReason, err)
	}
	attempt(release, want)
	target, err := r.target(ctx, release)
	if err != nil {
		return fail(release, reasonClient, err)
	}
	return act(ctx, release, want, target, save)
}

// attempt writes down what is tried. Something new may fail as often as the first.
func attempt(release *helmv2.HelmRelease, want *wanted) {
	status := &release.Status
	revision := want.chart.Metadata.Version
	reset := helmv2.ShouldHandleResetRequest(release)
	if reset || status.LastAttemptedGeneration != release.Generation || status.LastAttemptedRevision != revision ||
		status.LastAttemptedConfigDigest != want.configDigest {
		status.ClearFailures()
		apimeta.RemoveStatusCondition(&status.Conditions, meta.StalledCondition)
	}
	status.LastAttemptedGeneration = release.Generation
	status.LastAttemptedRevision, status.LastAttemptedRevisionDigest = revision, want.ociDigest
	status.LastAttemptedConfigDigest = want.configDigest
}

// act installs, upgrades or does nothing.
func act(ctx context.Context, release *helmv2.HelmRelease, want *wanted, target *target, save saver) error {
	last, err := target.last(release.GetReleaseName())
	if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		return fail(release, reasonState, fmt.Errorf("cannot determine release state: %w", err))
	}
	one := actions[helmv2.ReleaseActionUpgrade]
	if last == nil {
		one = actions[helmv2.ReleaseActionInstall]
	}
	forced := helmv2.ShouldHandleForceRequest(release)
	upToDate := last != nil && isUpToDate(release, last, want)
	exhausted := release.Status.Failures > 0 && one.remediation(release).RetriesExhausted(release)
	if !forced && (upToDate || exhausted) {
		if upToDate {
			settle(release)
		}
		if released := apimeta.FindStatusCondition(release.Status.Conditions, helmv2.ReleasedCondition); released != nil {
			mark(release, meta.ReadyCondition, released.Status, released.Reason, released.Message)
		}
		return nil
	}
	progress(release, one.name, one.timeout(release))
	if err := save(ctx); err != nil {
		return err
	}
	return perform(ctx, release, want, target, one)
}

// perform runs an action and writes down what became of it.
func perform(ctx context.Context, release *helmv2.HelmRelease, want *wanted, target *target, one releaseAction) error {
	if one.name == helmv2.ReleaseActionInstall {
		release.Status.ClearHistory()
	}
	release.Status.StorageNamespace = release.GetStorageNamespace()
	release.Status.LastAttemptedReleaseAction = one.name
	made, err := one.run(ctx, target, release, want)
	if made != nil {
		record(release, made, want, one.name)
	}
	message := fmt.Sprintf("for release %s/%s", release.GetReleaseNamespace(), release.GetReleaseName())
	if made != nil {
		message += fmt.Sprintf(".v%d", made.Version)
	}
	message += fmt.Sprintf(" with chart %s@%s", want.chart.Name(), want.chart.Metadata.Version)
	if err != nil {
		return one.failed(ctx, target, release, fmt.Errorf("Helm %s failed %s: %w", one.name, message, err))
	}
	settle(release)
	release.Status.ClearFailures()
	apimeta.RemoveStatusCondition(&release.Status.Conditions, helmv2.RemediatedCondition)
	message = fmt.Sprintf("Helm %s succeeded %s", one.name, message)
	mark(release, helmv2.ReleasedCondition, metav1.ConditionTrue, one.succeeded, message)
	mark(release, meta.ReadyCondition, metav1.ConditionTrue, one.succeeded, message)
	return nil
}

// isUpToDate asks whether Helm's latest release is of the chart and the values that are wanted, and went well.
func isUpToDate(release *helmv2.HelmRelease, last *releasev1.Release, want *wanted) bool {
	known := release.Status.History.Latest()
	return known != nil && known.Version == last.Version && last.Info.Status == common.StatusDeployed &&
		known.ChartVersion == want.chart.Metadata.Version && known.ChartName == want.chart.Name() &&
		known.ConfigDigest == want.configDigest
}

// uninstallOf uninstalls what a deleted HelmRelease has installed.
func (r *reconciler) uninstallOf(ctx context.Context, release *helmv2.HelmRelease) error {
	target, err := r.target(ctx, release)
	if err != nil {
		return fail(release, helmv2.UninstallFailedReason, fmt.Errorf("failed to build REST client getter to uninstall release: %w", err))
	}
	message := fmt.Sprintf("for release %s/%s", release.GetReleaseNamespace(), release.GetReleaseName())
	if err := target.uninstall(ctx, release); err != nil {
		err = fmt.Errorf("Helm uninstall failed %s: %w", message, err)
		mark(release, helmv2.ReleasedCondition, metav1.ConditionFalse, helmv2.UninstallFailedReason, err.Error())
		return fail(release, helmv2.UninstallFailedReason, err)
	}
	for _, kind := range []string{helmv2.ReleasedCondition, meta.ReadyCondition} {
		mark(release, kind, metav1.ConditionFalse, helmv2.UninstallSucceededReason, "Helm uninstall succeeded "+message)
	}
	return nil
}

// unsupported names the first field that the stand-in cannot honour.
func unsupported(release *helmv2.HelmRelease) string {
	spec := release.Spec
	for _, one := range []struct {
		used bool
		what string
	}{
		{!release.HasChartRef(), "a chart without chartRef"},
		{release.HasChartRef() && spec.ChartRef.Kind != "OCIRepository", "a chartRef that is no OCIRepository"},
		{len(spec.DependsOn) > 0, "dependsOn"},
		{len(spec.PostRenderers) > 0, "postRenderers"},
		{spec.CommonMetadata != nil, "commonMetadata"},
		{spec.Test != nil, "test"},
		{spec.DriftDetection != nil, "driftDetection"},
		{len(spec.HealthCheckExprs) > 0, "healthCheckExprs"},
		{spec.KubeConfig != nil && spec.KubeConfig.SecretRef == nil, "a kubeConfig without a Secret"},
	} {
		if one.used {
			return one.what
		}
	}
	for _, from := range spec.ValuesFrom {
		if from.TargetPath != "" {
			return "valuesFrom with targetPath"
		}
	}
	return ""
}
