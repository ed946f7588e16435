package githubapi

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answering is a host that answers everything in the same way and keeps the last body that it was sent.
type answering struct {
	status int
	header http.Header
	body   io.Reader
	sent   string
}

func (a *answering) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		data, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		a.sent = string(data)
	}
	return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(a.body), Request: request}, nil
}

const pulls = "https://api.github.com/repos/acme/fleet/pulls"

func TestRequestsAreJudged(t *testing.T) {
	description := ForTest(t)
	for name, test := range map[string]struct {
		method, address, body, contentType string
		want                               []string
	}{
		"a list":                     {method: "GET", address: pulls + "?state=all&head=acme%3Atopic&sort=created&direction=desc&per_page=100&page=2"},
		"opening":                    {method: "POST", address: pulls, body: `{"title":"t","body":"b","head":"topic","base":"main"}`},
		"editing":                    {method: "PATCH", address: pulls + "/1", body: `{"title":"t","body":"b"}`},
		"editing nothing":            {method: "PATCH", address: pulls + "/1"},
		"at an enterprise server":    {method: "GET", address: "https://ghe.example.com/api/v3/user"},
		"of a renamed repository":    {method: "GET", address: "https://api.github.com/repositories/1/pulls?page=1"},
		"slashes, escaped":           {method: "GET", address: "https://api.github.com/repos/acme/fleet/rules/branches/a%2Fb"},
		"slashes, as they are":       {method: "GET", address: "https://api.github.com/repos/acme/fleet/git/ref/heads/a/b"},
		"git's own":                  {method: "GET", address: "https://github.com/acme/fleet.git/info/refs?service=git-upload-pack"},
		"unknown address":            {method: "GET", address: "https://api.github.com/repos/acme/fleet/pull", want: []string{"GET /repos/acme/fleet/pull: GitHub describes no such address, or the table of calls lacks it"}},
		"address without a name":     {method: "GET", address: "https://api.github.com/repos//fleet/pulls", want: []string{"GET /repos//fleet/pulls: GitHub describes no such address, or the table of calls lacks it"}},
		"unknown method":             {method: "DELETE", address: pulls, want: []string{"DELETE /repos/{owner}/{repo}/pulls: GitHub describes no such method, or the table of calls lacks it"}},
		"unknown query parameter":    {method: "GET", address: pulls + "?perpage=100", want: []string{"GET /repos/{owner}/{repo}/pulls: query parameter perpage is not described"}},
		"query parameter, enum":      {method: "GET", address: pulls + "?state=merged", want: []string{`GET /repos/{owner}/{repo}/pulls: query parameter state is "merged", described are ["open" "closed" "all"]`}},
		"query parameter, type":      {method: "GET", address: pulls + "?page=two", want: []string{"GET /repos/{owner}/{repo}/pulls: query parameter page is of type string, described is integer"}},
		"query parameter, twice":     {method: "GET", address: pulls + "?page=1&page=2", want: []string{"GET /repos/{owner}/{repo}/pulls: query parameter page is given more than once"}},
		"query that cannot be read":  {method: "GET", address: pulls + "?a;b", want: []string{"GET /repos/{owner}/{repo}/pulls: query: invalid semicolon separator in query"}},
		"path parameter, type":       {method: "PATCH", address: pulls + "/one", body: `{}`, want: []string{"PATCH /repos/{owner}/{repo}/pulls/{pull_number}: path parameter pull_number is of type string, described is integer"}},
		"misspelled body field":      {method: "PATCH", address: pulls + "/1", body: `{"titel":"t"}`, want: []string{"PATCH /repos/{owner}/{repo}/pulls/{pull_number}: body.titel is not described"}},
		"body field of another type": {method: "POST", address: pulls, body: `{"title":1,"head":"topic","base":"main"}`, want: []string{"POST /repos/{owner}/{repo}/pulls: body.title is of type integer, described is string"}},
		"body field, enum":           {method: "PATCH", address: pulls + "/1", body: `{"state":"merged"}`, want: []string{`PATCH /repos/{owner}/{repo}/pulls/{pull_number}: body.state is "merged", described are ["open" "closed"]`}},
		"missing body field":         {method: "POST", address: pulls, body: `{"title":"t","head":"topic"}`, want: []string{"POST /repos/{owner}/{repo}/pulls: body.base is missing"}},
		"missing body":               {method: "POST", address: pulls, want: []string{"POST /repos/{owner}/{repo}/pulls: body is missing"}},
		"body of a GET":              {method: "GET", address: pulls, body: `{}`, want: []string{"GET /repos/{owner}/{repo}/pulls: body is not described"}},
		"body that is no JSON":       {method: "POST", address: pulls, body: `{"title"`, want: []string{"POST /repos/{owner}/{repo}/pulls: body is no JSON: unexpected EOF"}},
		"body of two values":         {method: "PATCH", address: pulls + "/1", body: `{} {}`, want: []string{"PATCH /repos/{owner}/{repo}/pulls/{pull_number}: body is no JSON: more than one value"}},
		"content type":               {method: "PATCH", address: pulls + "/1", body: `{}`, contentType: "text/plain", want: []string{`PATCH /repos/{owner}/{repo}/pulls/{pull_number}: content type "text/plain" is not one of ["application/json"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			request := httptest.NewRequest(test.method, test.address, strings.NewReader(test.body))
			request.Header.Set("Content-Type", "application/json")
			if test.contentType != "" {
				request.Header.Set("Content-Type", test.contentType)
			}
			host := &answering{status: http.StatusOK, body: strings.NewReader("answer")}
			var found []string
			response, err := description.Judge(host, func(fault string) { found = append(found, fault) }).RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			if diff := cmp.Diff(test.want, found); diff != "" {
				t.Error(diff)
			}
			if body, err := io.ReadAll(response.Body); host.sent != test.body || string(body) != "answer" || err != nil {
				t.Errorf("%q was sent on, %q came back, %v", host.sent, body, err)
			}
		})
	}
}

// No call in the table has a query parameter that is required today.
func TestARequiredParameterIsMissed(t *testing.T) {
	t.Parallel()
	o := &operation{describedOperation: describedOperation{Parameters: []parameter{
		{Name: "a", In: "query", Required: true, Schema: &schema{Type: "string"}}, {Name: "b", In: "query", Schema: &schema{Type: "boolean"}},
	}}}
	found := o.parameterFaults(map[string][]string{"query parameter b": {"true"}})
	if diff := cmp.Diff([]string{"query parameter a is missing"}, found); diff != "" {
		t.Error(diff)
	}
}

func TestAnswersAreJudged(t *testing.T) {
	description := ForTest(t)
	user := func(change func(map[string]any)) string {
		fields := map[string]any{}
		for name, described := range description.schemas["#/components/schemas/private-user"].Properties {
			switch described.Type {
			case "string":
				fields[name] = "https://example.com/@2026"
			case "integer":
				fields[name] = 1
			case "boolean":
				fields[name] = true
			}
		}
		fields["updated_at"], fields["created_at"] = "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"
		change(fields)
		data, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	const asJSON, at = "application/json; charset=utf-8", "GET /user: answer "
	for name, test := range map[string]struct {
		status            int
		contentType, body string
		want              []string
	}{
		"as described":             {200, asJSON, user(func(map[string]any) {}), nil},
		"a field more":             {200, asJSON, user(func(fields map[string]any) { fields["of_tomorrow"] = 1 }), nil},
		"missing field":            {200, asJSON, user(func(fields map[string]any) { delete(fields, "login") }), []string{at + "200.login is missing"}},
		"field of another type":    {200, asJSON, user(func(fields map[string]any) { fields["id"] = "1" }), []string{at + "200.id is of type string, described is integer"}},
		"null":                     {200, asJSON, user(func(fields map[string]any) { fields["login"] = nil }), []string{at + "200.login is of type null, described is string"}},
		"no JSON":                  {200, asJSON, "<html>", []string{at + "200: no JSON: invalid character '<' looking for beginning of value"}},
		"another content type":     {200, "text/html", "<html>", []string{at + `200: content type "text/html" is not one of ["application/json"]`}},
		"a status that is unheard": {418, asJSON, "{}", []string{at + "418: the status is not described"}},
		"described, no success":    {401, asJSON, `{"message":1}`, []string{at + "401.message is of type integer, described is string"}},
		"undescribed, a limit":     {429, asJSON, `{"message":"slow down","status":"429"}`, nil},
		"undescribed, of a type":   {404, asJSON, `{"status":404}`, []string{at + "404.status is of type integer, described is string"}},
		"undescribed, a proxy's":   {502, "text/html", "<html>", nil},
		"without a body":           {304, "", "", nil},
		"a body too many":          {304, "", "x", []string{at + "304: a body is not described"}},
	} {
		t.Run(name, func(t *testing.T) {
			host := &answering{status: test.status, header: http.Header{"Content-Type": {test.contentType}}, body: strings.NewReader(test.body)}
			var found []string
			request := httptest.NewRequest(http.MethodGet, "https://api.github.com/user", nil)
			response, err := description.JudgeAnswers(host, func(fault string) { found = append(found, fault) }).RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			if diff := cmp.Diff(test.want, found); diff != "" {
				t.Error(diff)
			}
			if body, err := io.ReadAll(response.Body); string(body) != test.body || err != nil {
				t.Errorf("%q came back, %v", body, err)
			}
		})
	}
}

// A judge is no fault of its own: what breaks behind it breaks in the same way before it.
func TestABrokenConnectionStaysBroken(t *testing.T) {
	description := ForTest(t)
	cut := errors.New("connection reset, made for this test")
	report := func(fault string) { t.Error(fault) }
	request := httptest.NewRequest(http.MethodGet, "https://api.github.com/user", nil)
	none := roundTripper(func(*http.Request) (*http.Response, error) { return nil, cut })
	response, err := description.Judge(description.JudgeAnswers(none, report), report).RoundTrip(request)
	if err == nil {
		_ = response.Body.Close()
	}
	if !errors.Is(err, cut) {
		t.Errorf("no answer: %v", err)
	}
	host := &answering{status: http.StatusOK, body: io.MultiReader(strings.NewReader(`{"login"`), &broken{cut})}
	response, err = description.JudgeAnswers(host, report).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if body, err := io.ReadAll(response.Body); string(body) != `{"login"` || !errors.Is(err, cut) {
		t.Errorf("half an answer: %q, %v", body, err)
	}
}
