package survey_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clustermanager/cluster-manager/live/survey"
	"github.com/clustermanager/cluster-manager/render/compose"
)

// scalar is a place in the objects that the API servers answer with.
type scalar struct {
	kind, name, path string
}

func forEachObject(answer any, do func(map[string]any)) {
	object, _ := answer.(map[string]any)
	items, is := object["items"].([]any)
	if !is {
		do(object)
	}
	for _, item := range items {
		forEachObject(item, do)
	}
}

// eachScalar visits the scalars of an object but those by which an API server itself finds it.
func eachScalar(object map[string]any, visit func(at scalar, value any, set func(any))) {
	metadata, _ := object["metadata"].(map[string]any)
	at := scalar{kind: fmt.Sprint(object["kind"]), name: fmt.Sprintf("%v/%v", metadata["namespace"], metadata["name"])}
	var walk func(path string, value any, set func(any))
	walk = func(path string, value any, set func(any)) {
		switch value := value.(type) {
		case map[string]any:
			for key, below := range value {
				walk(path+" "+key, below, func(other any) { value[key] = other })
			}
		case []any:
			for index, below := range value {
				walk(fmt.Sprint(path, " ", index), below, func(other any) { value[index] = other })
			}
		default:
			at.path = strings.TrimSpace(path)
			visit(at, value, set)
		}
	}
	for key, below := range object {
		if key != "apiVersion" && key != "kind" && key != "metadata" {
			walk(key, below, func(other any) { object[key] = other })
		}
	}
}

// swapped are the answers of the API servers in which one scalar is another value. None changed: the zero place.
type swapped struct {
	network *replay
	place   scalar
	with    any
	found   map[scalar]any
	mu      sync.Mutex
}

func (s *swapped) around(server string, next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		response, err := s.network.around(server, next).RoundTrip(request)
		if err != nil || response.StatusCode != http.StatusOK {
			return response, err
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, err
		}
		response.Body = io.NopCloser(bytes.NewReader(s.swap(body)))
		return response, nil
	})
}

func (s *swapped) swap(body []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var answer any
	if decoder.Decode(&answer) != nil {
		return body
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	forEachObject(answer, func(object map[string]any) {
		eachScalar(object, func(at scalar, value any, set func(any)) {
			// Events that cannot be read are left out without a word: Karpenter's claims tell of refusals too.
			if at.kind == "APIResourceList" || at.kind == "Event" {
				return
			}
			if at == s.place {
				set(s.with)
			} else if s.place == (scalar{}) {
				s.found[at] = value
			}
		})
	})
	changed, err := json.Marshal(answer)
	if err != nil {
		return body
	}
	return changed
}

// malformedTarget and malformedManagement have an object of each kind that is read of a pool, beside those of a fleet.
var (
	malformedManagement = wc1Management + icePool(", zones: [eu-central-1b], prewarm: {enabled: true}") + `
---
{apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, metadata: {name: wc1, namespace: org-acme}, spec: {version: v1.31.4}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: wc1-gpu-l40s-prewarm, namespace: org-acme}, spec: {activeDeadlineSeconds: 60}, status: {conditions: [{type: Failed, status: "True", reason: DeadlineExceeded}]}}
---
{apiVersion: release.giantswarm.io/v1alpha1, kind: Release, metadata: {name: aws-36.0.0}, spec: {state: active, date: "2026-01-01", components: [{name: kubernetes, version: 1.31.9}]}}
`
	malformedTarget = strings.ReplaceAll(claim("wc1-gpu-a10g-abcde", `creationTimestamp: "2026-08-01T09:20:00Z"`, `nodeName: ip-10-0-1-1, providerID: "aws:///eu-central-1a/i-1", lastPodEventTime: "2026-08-01T09:55:41Z", conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-08-01T09:22:00Z"}]`)+
		node("ip-10-0-1-1", "aws:///eu-central-1a/i-1", readyNode), "gpu-a10g", "gpu-l40s") +
		event("a", "wc1-gpu-l40s-5hpxb", "Warning", "InsufficientCapacityError", "2026-08-01T09:54:47Z", ice) + wc1Target
)

// says finds in an answer what says that something could not be read.
var says = regexp.MustCompile(` is no | names no | holds no | has no key | not known`)

// notes says whether an answer has such a text that another has not.
func notes(got, want string) bool {
	return slices.ContainsFunc(says.FindAllStringIndex(got, -1), func(at []int) bool {
		return !strings.Contains(want, got[max(0, at[0]-60):at[1]])
	})
}

// Each scalar that the readers of the lists read is replaced by a value of another type: the answer is the same, or it
// says what could not be read. Nothing becomes a zero, an empty text or a false.
func TestAMalformedValueIsNoted(t *testing.T) {
	snapshot := wc1With(malformedManagement, malformedTarget)
	servers := &swapped{network: newReplay(), found: map[scalar]any{}}
	snapshot.around = servers.around
	installation := snapshot.open(t)
	answers := func() []string {
		fleet, err := snapshot.connect(t, installation).Clusters(t.Context(), survey.Page{})
		if err != nil {
			t.Errorf("%+v: %s", servers.place, err)
		}
		pools, err := snapshot.connect(t, installation).NodePools(t.Context(), "org-acme", "wc1")
		if err != nil {
			t.Errorf("%+v: %s", servers.place, err)
		}
		releases, err := snapshot.connect(t, installation).Releases(t.Context())
		if err != nil {
			t.Errorf("%+v: %s", servers.place, err)
		}
		var texts []string
		for _, answer := range []any{fleet, compose.NodePools(pools), compose.Releases(releases, "")} {
			text, err := json.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
		return texts
	}
	want := answers()
	if len(servers.found) < 100 {
		t.Fatalf("%d scalars", len(servers.found))
	}
	for _, place := range slices.SortedFunc(maps.Keys(servers.found), func(a, b scalar) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) }) {
		servers.place = place
		for _, with := range []any{json.Number("7"), "x", map[string]any{"x": "y"}} {
			if reflect.TypeOf(with) == reflect.TypeOf(servers.found[place]) {
				continue
			}
			servers.with = with
			for index, got := range answers() {
				if got != want[index] && !notes(got, want[index]) {
					t.Errorf("%+v, now %v: the answer differs and says nothing\nwas %s\nis  %s", place, with, from(want[index], got), from(got, want[index]))
				}
			}
		}
	}
}

// from is a text from a little before where it differs from another.
func from(text, other string) string {
	at := 0
	for at < min(len(text), len(other)) && text[at] == other[at] {
		at++
	}
	return text[max(0, at-80):min(len(text), at+120)]
}
