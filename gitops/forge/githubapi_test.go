package forge_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clustermanager/cluster-manager/gitops/forge"
	"github.com/clustermanager/cluster-manager/internal/githubapi"
)

// GitHub's own description reads along in every test with a local forge, where it is at hand. This one wants it.
func TestGitHubDescribesEveryCall(t *testing.T) {
	githubapi.ForTest(t)
	h := newHost(t)
	h.push(t, branch, "feat: pool")
	client := h.client(t)
	before := len(h.Requests())
	inOrder := []string{"user", "rules", "list", "compare", "create", "update", "list"}
	for _, name := range inOrder {
		if err := operations[name](t.Context(), client); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if sent := len(h.Requests()) - before; sent != len(inOrder) {
		t.Errorf("%d requests for %d calls", sent, len(inOrder))
	}
}

// The local forge takes a field that it does not know, as GitHub does: only the judge sees it.
func TestTheJudgeSeesAMisnamedField(t *testing.T) {
	description := githubapi.ForTest(t)
	h := newHost(t)
	h.push(t, branch, "feat: pool")
	var faults []string
	judge := description.Judge(http.DefaultTransport, func(fault string) { faults = append(faults, fault) })
	client := newClient(t, forge.Options{
		APIURL: h.APIURL(), Owner: "acme", Repository: "fleet", Token: token, Transport: misnaming{`"body":`, `"text":`, judge},
	})
	if err := operations["create"](t.Context(), client); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"POST /repos/{owner}/{repo}/pulls: body.text is not described"}, faults); diff != "" {
		t.Error(diff)
	}
}

// misnaming renames a field of each request's body.
type misnaming struct {
	old, replacement string
	next             http.RoundTripper
}

func (m misnaming) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body == nil {
		return m.next.RoundTrip(request)
	}
	data, err := io.ReadAll(request.Body)
	if err = errors.Join(err, request.Body.Close()); err != nil {
		return nil, err
	}
	renamed := strings.Replace(string(data), m.old, m.replacement, 1)
	request = request.Clone(request.Context())
	request.Body, request.ContentLength = io.NopCloser(strings.NewReader(renamed)), int64(len(renamed))
	return m.next.RoundTrip(request)
}
