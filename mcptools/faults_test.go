package mcptools

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// fault is what a write meets instead of its answer; do does it.
type fault struct {
	name   string
	answer func(w http.ResponseWriter, do func())
}

// broken breaks the connection before anything is done.
func broken(http.ResponseWriter, func()) { panic(http.ErrAbortHandler) }

// answers is an API server that answers with a status; after is a Retry-After.
func answers(code int, reason, after string) func(http.ResponseWriter, func()) {
	return func(w http.ResponseWriter, _ func()) {
		w.Header().Set("Content-Type", "application/json")
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": reason, "code": code})
	}
}

// done lets the write be done first.
func done(then func(http.ResponseWriter, func())) func(http.ResponseWriter, func()) {
	return func(w http.ResponseWriter, do func()) {
		do()
		then(w, nil)
	}
}

var faults = []fault{
	{"conflict", answers(http.StatusConflict, "Conflict", "")},
	{"too many requests", answers(http.StatusTooManyRequests, "TooManyRequests", "")},
	{"too many requests, for now", answers(http.StatusTooManyRequests, "TooManyRequests", "0")},
	{"timeout", answers(http.StatusGatewayTimeout, "Timeout", "")},
	{"timeout, and it was done", done(answers(http.StatusGatewayTimeout, "Timeout", ""))},
	{"forbidden", answers(http.StatusForbidden, "Forbidden", "")},
	{"closed", broken},
	{"closed, and it was done", done(broken)},
}

// faultsAtAWrite is how many of the faults a write meets here, each in a call of its own. One after the other, the
// writes of the lists meet them all; package live lets every write of its lists meet every one.
const faultsAtAWrite = 2

// At each write of each tool's list: the answer tells what was done, what is pending and what to do, or that nothing was
// done, and the same call again ends as if nothing had happened.
func TestAFaultAtEveryWrite(t *testing.T) {
	t.Parallel()
	reader := chartReader(t)
	for scene, of := range everyWrite() {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			whole := of.life(t, reader)
			whole.done(t, of, nil)
			want, writes := whole.state(t), len(whole.writes)
			for at := 1; at <= writes; at++ {
				for more := range faultsAtAWrite {
					fault := faults[(scene+at+more*len(faults)/faultsAtAWrite)%len(faults)]
					l := of.life(t, reader)
					l.meets = func(write int) func(http.ResponseWriter, func()) {
						if write == at {
							return fault.answer
						}
						return nil
					}
					name := fmt.Sprintf("%s at write %d", fault.name, at)
					for _, wrong := range l.untrue(t, l.run(t.Context(), t, of, nil)) {
						t.Errorf("%s: %s", name, wrong)
					}
					l.reset()
					if again := l.run(t.Context(), t, of, nil); again.Reason != "" && again.Reason != clustermanager.ReasonNotFound {
						t.Errorf("%s, and again: %s", name, again.Texts)
					}
					if diff := cmp.Diff(want, l.state(t)); diff != "" {
						t.Errorf("%s, and again (-without the fault +with it)\n%s", name, diff)
					}
				}
			}
		})
	}
}

// counted are the numbers that a partial answer's next step ends with.
var counted = regexp.MustCompile(`: (\d+) done, (\d+) pending; (see to that, then )?call again with the same arguments, which goes on from here$`)

// untrue is what an answer tells otherwise than it is, where the state was untouched before.
func (l *life) untrue(t *testing.T, result Result) (wrong []string) {
	t.Helper()
	stands := map[string]map[string]any{}
	for _, object := range l.state(t) {
		object := object.(map[string]any)
		metadata := object["metadata"].(map[string]any)
		stands[fmt.Sprint(object["kind"], " ", metadata["name"])] = metadata
	}
	if result.Reason != "" {
		if len(stands) > 0 || result.Reason != clustermanager.ReasonRefused {
			wrong = append(wrong, fmt.Sprintf("%s after %d objects were written: %s", result.Reason, len(stands), result.Texts))
		}
		return wrong
	}
	var answer clustermanager.WriteResult
	if err := json.Unmarshal([]byte(result.Texts[0]), &answer); err != nil {
		t.Fatal(err)
	}
	written, pending := 0, 0
	for _, change := range answer.Objects {
		name := change.Kind + " " + change.Name
		metadata, touched := stands[name]
		annotations, _ := metadata["annotations"].(map[string]any)
		gone := metadata["deletionTimestamp"] != nil || annotations["cluster-manager.giantswarm.io/offline-deleted"] != nil
		fine := touched
		switch change.Action {
		case clustermanager.ActionPending:
			pending++
			// What has a finalizer taken off goes in two writes.
			fine = !touched || gone && strings.HasPrefix(change.Kind, "LLMInferenceService")
		case clustermanager.ActionDelete:
			written++
			fine = gone
		case clustermanager.ActionCreate, clustermanager.ActionUpdate:
			written++
			fine = touched && !gone
		default:
			written++
		}
		if !fine {
			wrong = append(wrong, fmt.Sprintf("it is told as %s: %s is %v", change.Action, name, metadata))
		}
		delete(stands, name)
	}
	for name := range stands {
		wrong = append(wrong, name+" was written and is not told")
	}
	numbers := counted.FindStringSubmatch(answer.NextStep)
	switch {
	case answer.Partial != (pending > 0), answer.Partial != (numbers != nil):
		wrong = append(wrong, fmt.Sprintf("partial %t with %d pending: %s", answer.Partial, pending, answer.NextStep))
	case answer.Partial && (numbers[1] != fmt.Sprint(written) || numbers[2] != fmt.Sprint(pending)):
		wrong = append(wrong, fmt.Sprintf("%d done and %d pending: %s", written, pending, answer.NextStep))
	}
	return wrong
}
