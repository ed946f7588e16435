package live_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live"
)

// clusterObjects are the releases of cluster dev01, and what an uninstall leaves of it.
const clusterObjects = `
apiVersion: v1
kind: ConfigMap
metadata: {name: model-backend-kserve-dev01, namespace: agent-platform, labels: {app.kubernetes.io/managed-by: cluster-manager, giantswarm.io/cluster: dev01}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: dev01, namespace: org-acme, labels: {app.kubernetes.io/managed-by: cluster-manager, app.kubernetes.io/name: release-aws, giantswarm.io/cluster: dev01}}
spec: {interval: 10m}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: dev01, namespace: org-acme, labels: {app.kubernetes.io/managed-by: cluster-manager, app.kubernetes.io/name: release-aws, giantswarm.io/cluster: dev01}}
spec: {interval: 10m}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: dev01-values, namespace: org-acme, labels: {app.kubernetes.io/managed-by: cluster-manager, app.kubernetes.io/name: release-aws, giantswarm.io/cluster: dev01}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: dev01-cilium, namespace: org-acme, labels: {app.kubernetes.io/managed-by: Helm, giantswarm.io/cluster: dev01}}
spec: {interval: 10m}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: dev01-cilium, namespace: org-acme, labels: {app.kubernetes.io/managed-by: Helm, giantswarm.io/cluster: dev01}}
spec: {interval: 10m}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: dev01-by-hand, namespace: org-acme, labels: {giantswarm.io/cluster: dev01}}
spec: {interval: 10m}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: dev01-in-git, namespace: org-acme, labels: {app.kubernetes.io/managed-by: Helm, giantswarm.io/cluster: dev01, kustomize.toolkit.fluxcd.io/name: fleet, kustomize.toolkit.fluxcd.io/namespace: flux}}
spec: {interval: 10m}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: fleet, namespace: flux}
status: {inventory: {entries: [{id: org-acme_dev01-in-git_helm.toolkit.fluxcd.io_HelmRelease, v: v2}]}}
`

func removing(apiVersion, kind, namespace, name string, labels map[string]string) clustermanager.Step {
	return clustermanager.Step{Verb: clustermanager.Remove, Lane: clustermanager.Teardown, Object: reference(apiVersion, kind, namespace, name, labels)}
}

// clusterSteps are the writes of delete_cluster's first pass.
func clusterSteps() []clustermanager.Step {
	of := func(chart string) map[string]string {
		labels := map[string]string{"app.kubernetes.io/managed-by": "cluster-manager", "giantswarm.io/cluster": "dev01"}
		if chart != "" {
			labels["app.kubernetes.io/name"] = chart
		}
		return labels
	}
	return []clustermanager.Step{
		removing("v1", "ConfigMap", "agent-platform", "model-backend-kserve-dev01", of("")),
		removing("helm.toolkit.fluxcd.io/v2", "HelmRelease", "org-acme", "dev01", of("release-aws")),
		removing("source.toolkit.fluxcd.io/v1", "OCIRepository", "org-acme", "dev01", of("release-aws")),
		removing("v1", "ConfigMap", "org-acme", "dev01-values", of("release-aws")),
	}
}

// leftover is a step for what Helm made of the cluster.
func leftover(apiVersion, kind, name string) clustermanager.Step {
	step := removing(apiVersion, kind, "org-acme", name, map[string]string{"app.kubernetes.io/managed-by": "Helm", "giantswarm.io/cluster": "dev01"})
	step.Ownership = clustermanager.Labelled
	return step
}

// The writes of case 17, and those of case 18.
func TestAClusterAndItsLeftoversAreDeletedInOrder(t *testing.T) {
	s := newScene(t, clusterObjects, "")
	names := []string{"ConfigMap agent-platform/model-backend-kserve-dev01", "HelmRelease org-acme/dev01", "OCIRepository org-acme/dev01", "ConfigMap org-acme/dev01-values"}
	told := func(action string) (all []string) {
		for _, name := range names {
			all = append(all, action+" "+name)
		}
		return all
	}
	if diff := cmp.Diff(told("would-delete"), actions(s.plan(t, clusterSteps()).Preview().Changes)); diff != "" || len(s.wire.writes) > 0 {
		t.Errorf("%s%v", diff, s.wire.writes)
	}
	if diff := cmp.Diff(told("delete"), actions(s.apply(t, clusterSteps()).Changes)); diff != "" {
		t.Error(diff)
	}
	want := []string{"model-backend-kserve-dev01", "dev01", "dev01", "dev01-values"}
	for index, write := range s.wire.writes {
		if !strings.HasPrefix(write, "DELETE ") || !strings.HasSuffix(write, "/"+want[index]) {
			t.Errorf("write %d: %s", index, write)
		}
	}
	second := []clustermanager.Step{
		leftover("helm.toolkit.fluxcd.io/v2", "HelmRelease", "dev01-by-hand"), leftover("helm.toolkit.fluxcd.io/v2", "HelmRelease", "dev01-cilium"),
		leftover("source.toolkit.fluxcd.io/v1", "OCIRepository", "dev01-cilium"),
	}
	if diff := cmp.Diff([]string{"delete HelmRelease org-acme/dev01-cilium", "delete OCIRepository org-acme/dev01-cilium"}, actions(s.apply(t, second).Changes)); diff != "" {
		t.Error(diff)
	}
	if _, err := s.installation.Resource(clustermanager.HelmAPI.WithResource("helmreleases")).Namespace("org-acme").Get(t.Context(), "dev01-by-hand", metav1.GetOptions{}); err != nil {
		t.Errorf("made by hand: %v", err)
	}
	if result := s.apply(t, second); len(result.Changes) > 0 || result.Partial {
		t.Errorf("later: %v", result)
	}
	_, err := live.Plan(t.Context(), s.clients(), []clustermanager.Step{leftover("helm.toolkit.fluxcd.io/v2", "HelmRelease", "dev01-in-git")})
	if want := "HelmRelease org-acme/dev01-in-git: Kustomization flux/fleet applies it from git, so it is not deleted here: use mode commit"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// An object that goes between plan and update is made anew.
func TestWhatIsDeletedMeanwhileIsMadeAnew(t *testing.T) {
	s, steps := lists[1].scene(t)
	planned := s.plan(t, steps)
	if err := s.installation.Resource(clustermanager.SourceAPI.WithResource("ocirepositories")).Namespace("org-acme").Delete(t.Context(), "wc1-gpu-l4", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	result, err := live.Apply(t.Context(), planned, s.options())
	if err != nil || result.Partial || result.Changes[0].Action != clustermanager.ActionCreate {
		t.Errorf("%v, %v", result, err)
	}
}

// What the API server wants waited for is waited for, but no longer than the budget.
func TestRetryAfterIsKeptToInsideTheBudget(t *testing.T) {
	for wait, partial := range map[string]bool{"1": false, "60": true} {
		s, steps := lists[0].scene(t)
		s.wire.instead = func(n int, _ *http.Request, _ func() (*http.Response, error)) (*http.Response, error, bool) {
			if n != 3 {
				return nil, nil, false
			}
			response := status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
			response.Header.Set("Retry-After", wait)
			return response, nil, true
		}
		options := s.options()
		options.Clock, options.Budget = live.Clock{}, clustermanager.Budget{Start: time.Now(), Limit: 2500 * time.Millisecond}
		started := time.Now()
		result, err := live.Apply(t.Context(), s.plan(t, steps), options)
		if err != nil || result.Partial != partial || time.Since(started) > 3500*time.Millisecond {
			t.Errorf("Retry-After %s: %v, %v after %v", wait, result, err, time.Since(started))
		}
		if partial && !strings.HasSuffix(result.NextStep, "2 done, 1 pending; call again with the same arguments, which goes on from here") {
			t.Error(result.NextStep)
		}
	}
}

// A call whose caller goes away writes nothing more and says so.
func TestACallThatIsGivenUpStops(t *testing.T) {
	s, steps := lists[0].scene(t)
	ctx, giveUp := context.WithCancel(t.Context())
	s.wire.instead = func(n int, _ *http.Request, _ func() (*http.Response, error)) (*http.Response, error, bool) {
		if n == 2 {
			giveUp()
			return nil, errors.Join(errClosed, ctx.Err()), true
		}
		return nil, nil, false
	}
	result, err := live.Apply(ctx, s.plan(t, steps), s.options())
	want := []string{"create OCIRepository org-acme/wc1-gpu-l4", "pending Secret org-acme/wc1-gpu-l4-values", "pending HelmRelease org-acme/wc1-gpu-l4"}
	if err != nil || !result.Partial || !slices.Equal(actions(result.Changes), want) || len(s.wire.writes) != 2 {
		t.Errorf("%v, %v, %v", result, err, s.wire.writes)
	}
}

// A write that was done while its caller went away is told as done.
func TestAWriteWithoutAnAnswerIsLookedAtAfterTheCall(t *testing.T) {
	s, steps := lists[0].scene(t)
	ctx, giveUp := context.WithCancel(t.Context())
	s.wire.instead = func(n int, _ *http.Request, ask func() (*http.Response, error)) (*http.Response, error, bool) {
		if n != 2 {
			return nil, nil, false
		}
		_, _ = ask()
		giveUp()
		return nil, errClosed, true
	}
	result, err := live.Apply(ctx, s.plan(t, steps), s.options())
	want := []string{"create OCIRepository org-acme/wc1-gpu-l4", "create Secret org-acme/wc1-gpu-l4-values", "pending HelmRelease org-acme/wc1-gpu-l4"}
	if err != nil || !result.Partial || !slices.Equal(actions(result.Changes), want) {
		t.Errorf("%v, %v", result, err)
	}
}

// A mark is set on the object that was looked at, not on another of its name.
func TestAnotherNamespaceOfTheNameGetsNoMark(t *testing.T) {
	s := servingScene(t)
	s.claim(t)
	steps := teardownSteps(t)[11:]
	namespaces := s.target.Resource(namespaceResource)
	s.wire.instead = func(n int, _ *http.Request, _ func() (*http.Response, error)) (*http.Response, error, bool) {
		if n == 1 {
			_ = namespaces.Delete(t.Context(), "model-serving", metav1.DeleteOptions{})
			if _, err := namespaces.Create(t.Context(), reference("v1", "Namespace", "", "model-serving", nil), metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
		}
		return nil, nil, false
	}
	s.apply(t, steps)
	live, err := namespaces.Get(t.Context(), "model-serving", metav1.GetOptions{})
	if err != nil || len(live.GetAnnotations()) > 0 {
		t.Errorf("%v, %v", live.GetAnnotations(), err)
	}
}

// A member of a selection that goes by itself before its turn is told as deleted, one that comes meanwhile goes along.
func TestASelectionIsThatOfItsTurn(t *testing.T) {
	s := servingScene(t)
	configs := s.target.Resource(resourceOf("serving.kserve.io", "v1alpha2", "LLMInferenceServiceConfig")).Namespace("agent-platform")
	planned := s.plan(t, teardownSteps(t)[3:4])
	if _, err := configs.Patch(t.Context(), "config-b", "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := configs.Delete(t.Context(), "config-b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := configs.Create(t.Context(), reference("serving.kserve.io/v1alpha2", "LLMInferenceServiceConfig", "agent-platform", "config-aa", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	result, err := live.Apply(t.Context(), planned, s.options())
	var want []string
	for _, name := range []string{"config-a", "config-aa", "config-b", "config-c"} {
		want = append(want, "delete LLMInferenceServiceConfig agent-platform/"+name)
	}
	if diff := cmp.Diff(want, actions(result.Changes)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if left, err := configs.List(t.Context(), metav1.ListOptions{}); err != nil || len(left.Items) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
