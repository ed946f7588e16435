package live_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live"
)

// list is what a call writes over a state.
type list struct {
	name string
	// scene is the state before; steps what is done.
	scene func(t *testing.T) (*scene, []clustermanager.Step)
}

var lists = []list{
	{"create", func(t *testing.T) (*scene, []clustermanager.Step) {
		return newScene(t, installationObjects, ""), poolSteps(t)
	}},
	{"update", func(t *testing.T) (*scene, []clustermanager.Step) {
		s, steps := newScene(t, installationObjects, ""), poolSteps(t)
		s.apply(t, steps)
		for _, step := range steps {
			unstructuredSet(step.Object.Object, map[string]any{"x": "y"}, "data")
			if step.Object.GetKind() != "Secret" {
				unstructuredSet(step.Object.Object, "5m", "spec", "interval")
			}
		}
		s.wire.reset()
		return s, steps
	}},
	{"delete", func(t *testing.T) (*scene, []clustermanager.Step) {
		s, steps := newScene(t, installationObjects, ""), poolSteps(t)
		s.apply(t, steps)
		s.wire.reset()
		return s, removed(steps)
	}},
	{"teardown", func(t *testing.T) (*scene, []clustermanager.Step) {
		s := servingScene(t)
		s.controllerGoes(t, 1)
		return s, teardownSteps(t)
	}},
	{"teardown of a namespace that holds something", func(t *testing.T) (*scene, []clustermanager.Step) {
		s := servingScene(t)
		s.controllerGoes(t, 1)
		s.claim(t)
		return s, teardownSteps(t)
	}},
}

// finished is the state that the list ends in without any fault, and how many writes it took.
func finished(t *testing.T, of list) (map[string]any, int) {
	t.Helper()
	s, steps := of.scene(t)
	if result := s.apply(t, steps); result.Partial {
		t.Fatalf("%s: %v", of.name, result)
	}
	writes := len(s.wire.writes)
	return s.state(t), writes
}

// A process that dies between any two writes leaves what the same call finishes.
func TestKilledBetweenAnyTwoWrites(t *testing.T) {
	for _, of := range lists {
		t.Run(of.name, func(t *testing.T) {
			want, writes := finished(t, of)
			for survived := range writes {
				s, steps := of.scene(t)
				planned := s.plan(t, steps)
				ctx, kill := context.WithCancel(t.Context())
				s.wire.instead = func(n int, _ *http.Request, _ func() (*http.Response, error)) (*http.Response, error, bool) {
					if n > survived {
						kill()
						return nil, errClosed, true
					}
					return nil, nil, false
				}
				_, _ = live.Apply(ctx, planned, s.options())
				kill()
				s.wire.reset()
				if result := s.apply(t, steps); result.Partial {
					t.Fatalf("after %d writes: %v", survived, result)
				}
				if diff := cmp.Diff(want, s.state(t)); diff != "" {
					t.Errorf("after %d writes, (-never killed +killed)\n%s", survived, diff)
				}
			}
		})
	}
}

// fault is what happens to one write.
type fault struct {
	name   string
	answer func(ask func() (*http.Response, error)) (*http.Response, error)
	// finishes says that the call does the write all the same.
	finishes bool
}

var writeFaults = []fault{
	{"conflict", func(func() (*http.Response, error)) (*http.Response, error) {
		return status(http.StatusConflict, metav1.StatusReasonConflict), nil
	}, true},
	{"too many requests", func(func() (*http.Response, error)) (*http.Response, error) {
		return status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests), nil
	}, false},
	{"too many requests, for now", func(func() (*http.Response, error)) (*http.Response, error) {
		response := status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
		response.Header.Set("Retry-After", "0")
		return response, nil
	}, true},
	{"timeout, and it was not done", func(func() (*http.Response, error)) (*http.Response, error) {
		return status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout), nil
	}, true},
	{"timeout, and it was done", func(ask func() (*http.Response, error)) (*http.Response, error) {
		_, _ = ask()
		return status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout), nil
	}, true},
	{"forbidden", func(func() (*http.Response, error)) (*http.Response, error) {
		return status(http.StatusForbidden, metav1.StatusReasonForbidden), nil
	}, false},
	{"closed before it was done", func(func() (*http.Response, error)) (*http.Response, error) { return nil, errClosed }, true},
	{"closed after it was done", func(ask func() (*http.Response, error)) (*http.Response, error) {
		_, _ = ask()
		return nil, errClosed
	}, true},
	{"an internal error", func(func() (*http.Response, error)) (*http.Response, error) {
		return status(http.StatusInternalServerError, metav1.StatusReasonInternalError), nil
	}, true},
}

// At any write: the answer tells of each object what is true, what is pending and what to do, and the same call again
// ends as if nothing had happened.
func TestFaultsAtAnyWrite(t *testing.T) {
	for index, of := range lists {
		want, writes := finished(t, of)
		// A removal that takes finalizers off tries again by itself, and what a list may be left with does not stop it.
		plain := index < 3
		for _, fault := range writeFaults {
			for at := 1; at <= writes; at++ {
				t.Run(fmt.Sprintf("%s, %s at write %d", of.name, fault.name, at), func(t *testing.T) {
					s, steps := of.scene(t)
					s.wire.instead = func(n int, _ *http.Request, ask func() (*http.Response, error)) (*http.Response, error, bool) {
						if n != at {
							return nil, nil, false
						}
						response, err := fault.answer(ask)
						return response, err, true
					}
					before := s.state(t)
					result := s.apply(t, steps)
					s.tellsTheTruth(t, before, result)
					if plain && result.Partial == fault.finishes {
						t.Errorf("%v", result)
					}
					done, pending := at-1, writes-at+1
					if !plain {
						done, pending = counted(result)
					}
					words := fmt.Sprintf(": %d done, %d pending; see to that, then call again with the same arguments, which goes on from here", done, pending)
					if result.Partial != (pending > 0) && !plain || result.Partial && !strings.HasSuffix(result.NextStep, words) {
						t.Errorf("partial %t, want %s\n%s", result.Partial, words, result.NextStep)
					}
					s.wire.reset()
					if result := s.apply(t, steps); result.Partial {
						t.Errorf("again: %v", result)
					}
					if diff := cmp.Diff(want, s.state(t)); diff != "" {
						t.Errorf("(-without the fault +with it)\n%s", diff)
					}
				})
			}
		}
	}
}

// counted are the objects of an answer that were written and that are pending.
func counted(result live.Result) (done, pending int) {
	for _, change := range result.Changes {
		switch change.Action {
		case clustermanager.ActionPending:
			pending++
		case clustermanager.ActionUnchanged, clustermanager.ActionTerminating:
		default:
			done++
		}
	}
	return done, pending
}

// tellsTheTruth compares an answer with what stands.
func (s *scene) tellsTheTruth(t *testing.T, before map[string]any, result live.Result) {
	t.Helper()
	after := s.state(t)
	for _, change := range result.Changes {
		key := "installation " + change.ObjectReference.String()
		if before[key] == nil && after[key] == nil {
			key = "target " + change.ObjectReference.String()
		}
		was, is := before[key], after[key]
		var fine bool
		switch change.Action {
		case clustermanager.ActionCreate:
			fine = was == nil && is != nil
		case clustermanager.ActionUpdate:
			fine = cmp.Diff(was, is) != ""
		case clustermanager.ActionDelete:
			fine = is == nil
		case clustermanager.ActionPending:
			// What has a finalizer taken off goes in two writes.
			fine = cmp.Diff(was, is) == "" || strings.HasPrefix(change.Kind, "LLMInferenceService") && isGoing(is)
		case clustermanager.ActionUnchanged:
			fine = cmp.Diff(was, is) == ""
		case clustermanager.ActionRetire:
			fine = cmp.Diff(was, is) != "" && is != nil
		}
		if !fine {
			t.Errorf("it is told as %s: %s\n(-before +after)\n%s", change.Action, change.ObjectReference, cmp.Diff(was, is))
		}
	}
}

func isGoing(object any) bool {
	fields, _ := object.(map[string]any)
	metadata, _ := fields["metadata"].(map[string]any)
	return metadata["deletionTimestamp"] != nil
}

// Each write is refused twice: what changes all the time stays pending.
func TestAConflictTwiceIsPending(t *testing.T) {
	s, steps := lists[1].scene(t)
	s.wire.instead = func(int, *http.Request, func() (*http.Response, error)) (*http.Response, error, bool) {
		return status(http.StatusConflict, metav1.StatusReasonConflict), nil, true
	}
	result := s.apply(t, steps)
	if !result.Partial || len(s.wire.writes) != 2 || result.Changes[0].Action != clustermanager.ActionPending {
		t.Errorf("%v, %v", result, s.wire.writes)
	}
}

// Somebody makes an object of the name between plan and write, or takes ours over.
func TestWhatAnotherMakesMeanwhileIsLeft(t *testing.T) {
	for name, index := range map[string]int{"create": 0, "update": 1, "delete": 2} {
		t.Run(name, func(t *testing.T) {
			s, steps := lists[index].scene(t)
			planned := s.plan(t, steps)
			sources := s.installation.Resource(clustermanager.SourceAPI.WithResource("ocirepositories")).Namespace("org-acme")
			theirs := steps[0].Object.DeepCopy()
			theirs.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm"})
			unstructuredSet(theirs.Object, "7m", "spec", "interval")
			_ = sources.Delete(t.Context(), theirs.GetName(), metav1.DeleteOptions{})
			if _, err := sources.Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			before := s.state(t)
			result, err := live.Apply(t.Context(), planned, s.options())
			if err != nil || !result.Partial || !strings.Contains(result.NextStep, "it exists and is managed by Helm") {
				t.Errorf("%v, %v", result, err)
			}
			if diff := cmp.Diff(before, s.state(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheBudgetCutsBeforeAWrite(t *testing.T) {
	s, steps := lists[0].scene(t)
	s.wire.instead = func(int, *http.Request, func() (*http.Response, error)) (*http.Response, error, bool) {
		s.clock.pass(3600 * time.Millisecond)
		return nil, nil, false
	}
	result := s.apply(t, steps)
	want := []string{"create OCIRepository org-acme/wc1-gpu-l4", "create Secret org-acme/wc1-gpu-l4-values", "pending HelmRelease org-acme/wc1-gpu-l4"}
	if diff := cmp.Diff(want, actions(result.Changes)); diff != "" {
		t.Error(diff)
	}
	if want := "the time of the call ran out: 2 done, 1 pending; call again with the same arguments, which goes on from here"; !result.Partial || result.NextStep != want {
		t.Errorf("got  %s\nwant %s", result.NextStep, want)
	}
}

// The deadline of the request cuts as the budget does.
func TestTheDeadlineOfTheRequestCutsToo(t *testing.T) {
	s, steps := lists[0].scene(t)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(900*time.Millisecond))
	defer cancel()
	options := s.options()
	options.Clock, options.Budget.Start = live.Clock{}, time.Now()
	result, err := live.Apply(ctx, s.plan(t, steps), options)
	if err != nil || !result.Partial || len(s.wire.writes) > 0 {
		t.Errorf("%v, %v, %v", result, err, s.wire.writes)
	}
}

// The plain value of a Secret goes to the API server alone.
func TestNoSecretIsTold(t *testing.T) {
	const plain = "made-for-the-test"
	for _, fault := range writeFaults {
		s, steps := lists[0].scene(t)
		s.wire.instead = func(n int, _ *http.Request, ask func() (*http.Response, error)) (*http.Response, error, bool) {
			if n != 2 {
				return nil, nil, false
			}
			response, err := fault.answer(ask)
			return response, err, true
		}
		if told := fmt.Sprintf("%+v %+v", s.apply(t, steps), s.plan(t, steps).Preview()); strings.Contains(told, plain) {
			t.Errorf("%s: %s", fault.name, told)
		}
	}
}

// An annotation that a step takes off goes, others stay; an absent object stays absent.
func TestAnnotate(t *testing.T) {
	s := servingScene(t)
	namespaces := s.target.Resource(namespaceResource)
	mark := []byte(`{"metadata":{"annotations":{"` + clustermanager.AnnotationRetired + `":"2026-08-01T09:00:00Z: holds x","other":"kept"}}}`)
	if _, err := namespaces.Patch(t.Context(), "model-serving", types.MergePatchType, mark, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	steps := []clustermanager.Step{
		{Verb: clustermanager.Annotate, Lane: clustermanager.Runtime, At: clustermanager.AtTarget, Ownership: clustermanager.Labelled, Object: reference("v1", "Namespace", "", "model-serving", nil)},
		{Verb: clustermanager.Annotate, Lane: clustermanager.Runtime, At: clustermanager.AtTarget, Ownership: clustermanager.Labelled, Object: reference("v1", "Namespace", "", "absent", nil)},
	}
	for index := range steps {
		steps[index].Object.SetAnnotations(map[string]string{clustermanager.AnnotationRetired: ""})
	}
	want := []string{`update Namespace model-serving metadata.annotations["cluster-manager.giantswarm.io/retired"]`}
	if diff := cmp.Diff(want, actions(s.apply(t, steps).Changes)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"unchanged Namespace model-serving"}, actions(s.apply(t, steps).Changes)); diff != "" {
		t.Error(diff)
	}
	live, err := namespaces.Get(t.Context(), "model-serving", metav1.GetOptions{})
	if err != nil || cmp.Diff(map[string]string{"other": "kept"}, live.GetAnnotations()) != "" {
		t.Errorf("%v, %v", live.GetAnnotations(), err)
	}
}
