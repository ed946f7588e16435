package live_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// twoReleases are two new releases with their sources, a registration that follows them, and a third release after it.
func twoReleases() []clustermanager.Step {
	of := func(version, kind, name string, lane clustermanager.Lane) clustermanager.Step {
		return clustermanager.Step{Verb: clustermanager.Ensure, Lane: lane, Object: reference(version, kind, "org-acme", name, map[string]string{"app.kubernetes.io/managed-by": "cluster-manager"})}
	}
	var steps []clustermanager.Step
	for _, name := range []string{"a", "b", "c"} {
		steps = append(steps, of("source.toolkit.fluxcd.io/v1", "OCIRepository", name, clustermanager.Declared), of("helm.toolkit.fluxcd.io/v2", "HelmRelease", name, clustermanager.Declared))
		if name == "b" {
			steps = append(steps, of("v1", "ConfigMap", "registration", clustermanager.Runtime))
		}
	}
	return steps
}

// New releases are made beside each other, each after its source; what is live in both modes comes after those before it,
// and before those after it.
func TestNewReleasesAreMadeBesideEachOther(t *testing.T) {
	s := newScene(t, installationObjects, "")
	var meet sync.WaitGroup
	meet.Add(2)
	s.wire.instead = func(n int, _ *http.Request, _ func() (*http.Response, error)) (*http.Response, error, bool) {
		if n <= 2 {
			meet.Done()
			met := make(chan struct{})
			go func() { meet.Wait(); close(met) }()
			select {
			case <-met:
			case <-time.After(10 * time.Second):
				t.Error("the second release waits for the first")
			}
		}
		return nil, nil, false
	}
	result := s.apply(t, twoReleases())
	if result.Partial || len(s.wire.bodies) != 7 {
		t.Fatalf("%v, %v", result, s.wire.writes)
	}
	at := func(kind, name string) int {
		return slices.IndexFunc(s.wire.bodies, func(body []byte) bool {
			return strings.Contains(string(body), `"kind":"`+kind+`"`) && strings.Contains(string(body), `"name":"`+name+`"`)
		})
	}
	for _, name := range []string{"a", "b", "c"} {
		if at("OCIRepository", name) > at("HelmRelease", name) {
			t.Errorf("release %s comes before its source: %v", name, s.wire.writes)
		}
	}
	if at("ConfigMap", "registration") != 4 {
		t.Errorf("the registration is write %d", at("ConfigMap", "registration"))
	}
}

// A release that is refused stops what comes after it; what was under way beside it is told as done.
func TestARefusedReleaseStopsThoseAfterIt(t *testing.T) {
	s := newScene(t, installationObjects, "")
	before := s.state(t)
	s.wire.instead = func(_ int, request *http.Request, _ func() (*http.Response, error)) (*http.Response, error, bool) {
		if !strings.HasSuffix(request.URL.Path, "/helmreleases") {
			return nil, nil, false
		}
		return status(http.StatusForbidden, metav1.StatusReasonForbidden), nil, true
	}
	result := s.apply(t, twoReleases())
	s.tellsTheTruth(t, before, result)
	told := actions(result.Changes)
	if !result.Partial || told[0] != "create OCIRepository org-acme/a" || !slices.Equal(told[4:], []string{"pending ConfigMap org-acme/registration", "pending OCIRepository org-acme/c", "pending HelmRelease org-acme/c"}) {
		t.Errorf("%v: %s", told, result.NextStep)
	}
}
