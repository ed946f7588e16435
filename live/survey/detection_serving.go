package survey

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	chartKServe       = "kserve-resources"
	chartKServeLLM    = "kserve-llmisvc-resources"
	classicController = "kserve-controller-manager"

	selectControllers = labelControlPlane + " in (" + llmController + "," + classicController + ")"
	selectDiscovery   = "agent-platform.giantswarm.io/model-serving-config=true"
)

// servingNouns are the APIs that tell of KServe. Helm leaves their definitions behind, so they prove nothing.
var servingNouns = []noun{inferenceServiceNoun, llmServiceNoun}

// servingFacts are what model serving is detected from.
type servingFacts struct {
	cluster clustermanager.Cluster
	// slice is the cluster's release under the slice's name, whoever owns it; nil: there is none.
	slice clustermanager.Reading[*unstructured.Unstructured]
	// children are the releases that the slice rendered, installation those that the installation has for the cluster.
	children, installation list
	// releases, controllers and discovery are the target's.
	releases, controllers, discovery list
	// configs are those of the slice's namespace; nil: their API is not served.
	configs list
	webhook clustermanager.Reading[*clustermanager.Webhook]
	// apis are those of servingNouns that the target serves.
	apis []string
}

// servingComponent says whether something serves models on the cluster, and who put it there.
func (r *Reader) servingComponent(ctx context.Context, cluster clustermanager.Cluster) clustermanager.Component {
	return r.servingFacts(ctx, cluster).component()
}

func (r *Reader) servingFacts(ctx context.Context, cluster clustermanager.Cluster) servingFacts {
	facts := servingFacts{cluster: cluster}
	served := make([]bool, len(servingNouns))
	var reads errgroup.Group
	start := func(read func()) {
		reads.Go(func() error { read(); return nil })
	}
	start(func() { facts.slice = clustermanager.Read(r.sliceRelease(ctx, cluster)) })
	start(func() { facts.children = r.sliceChildren(ctx, cluster) })
	start(func() { facts.installation = r.releasesFor(ctx, cluster) })
	start(func() { facts.releases = r.onTarget(ctx, cluster, helmReleaseNoun, "") })
	start(func() { facts.controllers = r.onTarget(ctx, cluster, deploymentNoun, selectControllers) })
	start(func() { facts.discovery = r.onTarget(ctx, cluster, configMapNoun, selectDiscovery) })
	start(func() { facts.configs = r.configObjects(ctx, cluster) })
	start(func() { facts.webhook = clustermanager.Read(r.webhook(ctx, cluster)) })
	for index, of := range servingNouns {
		start(func() { served[index] = r.targetServes(ctx, cluster, of) })
	}
	_ = reads.Wait()
	for index, of := range servingNouns {
		if served[index] {
			facts.apis = append(facts.apis, of.resource.GroupVersion().String())
		}
	}
	return facts
}

// sliceRelease is the HelmRelease under the name of the cluster's slice; nil: there is none.
func (r *Reader) sliceRelease(ctx context.Context, cluster clustermanager.Cluster) (*unstructured.Unstructured, error) {
	name := clustermanager.SliceReference(cluster)
	object, err := r.get(ctx, helmReleaseNoun, name.Namespace, name.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return object, err
}

// sliceChildren are the HelmReleases that the cluster's slice rendered.
func (r *Reader) sliceChildren(ctx context.Context, cluster clustermanager.Cluster) list {
	slice := clustermanager.SliceReference(cluster)
	return clustermanager.Read(r.list(ctx, helmReleaseNoun, cluster.Namespace, metav1.ListOptions{
		LabelSelector: labels.SelectorFromSet(labels.Set{
			clustermanager.LabelHelmReleaseName: slice.Name, labelHelmReleaseNamespace: slice.Namespace,
		}).String(),
	}))
}

// targetServes says whether objects of a kind can be listed on the target. What cannot be asked is not served, since
// nothing is decided by it.
func (r *Reader) targetServes(ctx context.Context, cluster clustermanager.Cluster, of noun) bool {
	target, err := r.target(ctx, cluster)
	if err != nil {
		return false
	}
	served, err := once(target, keyOf("serves", of, "", ""), func() (bool, error) {
		ctx, cancel := target.bound(ctx)
		defer cancel()
		_, err := target.client.Dynamic.Resource(of.resource).List(ctx, metav1.ListOptions{Limit: 1})
		return err == nil, err
	})
	return served && err == nil
}

// ownSlice says whether the cluster's slice is this product's.
func (f servingFacts) ownSlice() bool {
	slice := f.slice.Or(nil)
	return slice != nil && owned(slice)
}

// findings are the traces of serving. With a slice of this product's every trace is its.
func (f servingFacts) findings() []finding {
	var found []finding
	if f.ownSlice() {
		slice := f.slice.Or(nil)
		found = append(found, finding{clustermanager.ProviderClusterManager, clustermanager.ReferenceTo(slice).String() + onInstallation(f.cluster), slice})
	}
	found = append(found, releasesOf(f.releases.Or(nil), f.cluster, "", chartKServe, chartKServeLLM)...)
	for _, controller := range f.controllers.Or(nil) {
		release := f.rendered(&controller)
		if isIdle(&controller) && release == nil && controller.GetLabels()[labelControlPlane] == classicController {
			continue
		}
		provider := clustermanager.ProviderManual
		if release != nil {
			provider = providerOf(release)
		}
		found = append(found, finding{provider: provider, text: clustermanager.ReferenceTo(&controller).String()})
	}
	for _, object := range f.discovery.Or(nil) {
		found = append(found, finding{provider: clustermanager.ProviderChart, text: clustermanager.ReferenceTo(&object).String()})
	}
	if f.ownSlice() {
		for index := range found {
			found[index].provider = clustermanager.ProviderClusterManager
		}
	}
	return found
}

// rendered is the HelmRelease that rendered an object of the target; nil: none that was read did.
func (f servingFacts) rendered(object *unstructured.Unstructured) *unstructured.Unstructured {
	name, namespace := object.GetLabels()[clustermanager.LabelHelmReleaseName], object.GetLabels()[labelHelmReleaseNamespace]
	for _, releases := range []list{f.releases, f.installation, f.children} {
		for index, release := range releases.Or(nil) {
			if name != "" && release.GetName() == name && release.GetNamespace() == namespace {
				return &releases.Or(nil)[index]
			}
		}
	}
	return nil
}

// isIdle says whether a Deployment is scaled to nothing.
func isIdle(deployment *unstructured.Unstructured) bool {
	replicas, set, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
	return set && replicas == 0
}

// remarks are evidence that decides nothing.
func (f servingFacts) remarks(present bool) []string {
	var remarks []string
	for _, api := range f.apis {
		text := "API " + api + " served"
		if !present {
			text += ": CRDs without a controller"
		}
		remarks = append(remarks, text)
	}
	for _, controller := range f.controllers.Or(nil) {
		if isIdle(&controller) && !slices.ContainsFunc(f.findings(), func(found finding) bool {
			return found.text == clustermanager.ReferenceTo(&controller).String()
		}) {
			remarks = append(remarks, clustermanager.ReferenceTo(&controller).String()+": scaled to 0 replicas, and no release renders it")
		}
	}
	for _, child := range f.children.Or(nil) {
		if state := releaseState(&child); !state.IsReady() {
			remarks = append(remarks, pendingText(state))
		}
	}
	for _, config := range f.configs.Or(nil) {
		if deleting(&config) {
			remarks = append(remarks, clustermanager.ReferenceTo(&config).String()+": terminating")
		}
	}
	if remark := webhookRemark(f.webhook); present && remark != "" && (f.expectsWebhook() || f.webhook.Or(nil).Reason != reasonNoConfiguration) {
		remarks = append(remarks, remark)
	}
	return remarks
}

// expectsWebhook says whether something was found that brings the webhook.
func (f servingFacts) expectsWebhook() bool {
	return f.ownSlice() || len(releasesOf(f.releases.Or(nil), f.cluster, "", chartKServeLLM)) > 0 ||
		slices.ContainsFunc(f.controllers.Or(nil), func(controller unstructured.Unstructured) bool {
			return controller.GetLabels()[labelControlPlane] == llmController
		})
}

func (f servingFacts) component() clustermanager.Component {
	findings := f.findings()
	component := componentOf(findings, f.remarks(len(findings) > 0), f.releases.Err(), f.controllers.Err(), f.discovery.Err())
	return undecided(component, f.slice.Err())
}

// releaseState is the state of a HelmRelease.
func releaseState(release *unstructured.Unstructured) clustermanager.ReleaseState {
	ready := conditionOf(release, conditionReady)
	state := clustermanager.ReleaseState{
		Name: release.GetName(), Namespace: release.GetNamespace(),
		Ready: ready.truth(), Reason: ready.reason, Since: ready.since, DeletedAt: timeAt(release.Object, "metadata", "deletionTimestamp"),
	}
	if !ready.isTrue() {
		state.Message = ready.message
	}
	return state
}

// pendingText names a release that is not ready, and why.
func pendingText(state clustermanager.ReleaseState) string {
	text := fmt.Sprintf("HelmRelease %s/%s: ", state.Namespace, state.Name)
	switch {
	case state.DeletedAt != nil:
		text += "being deleted since " + state.DeletedAt.Format(timeLayout)
	case state.Reason == "" && state.Ready == nil:
		text += "no Ready condition yet"
	case state.Ready == nil:
		text += "Ready Unknown"
	default:
		text += "Ready False"
	}
	return text + because(state.Reason, state.Message)
}

// because is a condition's reason and message, as they follow its status.
func because(reason, message string) string {
	switch {
	case reason == "" && message == "":
		return ""
	case message == "":
		return " (" + reason + ")"
	case reason == "":
		return " (" + message + ")"
	}
	return " (" + reason + ": " + message + ")"
}
