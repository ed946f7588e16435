package githubapi

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Statuses that GitHub answers to any call though the description leaves them out, with the reason. The server errors
// come on top.
var undescribed = map[int]string{
	http.StatusMovedPermanently:  "the repository was renamed",
	http.StatusFound:             "the repository was renamed",
	http.StatusTemporaryRedirect: "the repository was renamed",
	http.StatusPermanentRedirect: "the repository was renamed",
	http.StatusBadRequest:        "the body is no JSON, or the version of the API is unknown",
	http.StatusUnauthorized:      "the token is expired or withdrawn",
	http.StatusForbidden:         "a permission is missing, single sign-on is wanted, or a limit is used up",
	http.StatusNotFound:          "what the token may not see is answered as if it did not exist",
	http.StatusTooManyRequests:   "a limit is used up",
}

// The roots that a REST API has: GitHub Enterprise Server's, and none.
const enterpriseRoot = "/api/v3"

var (
	gitAddress = regexp.MustCompile(`^/[^/]+/[^/]+/(info/refs|git-upload-pack|git-receive-pack)$`)
	// A renamed repository is redirected to an address that the description leaves out.
	byNumber = regexp.MustCompile(`^/repositories/\d+`)
)

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip is the function itself.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// Judge sends requests on to next and reports what of them GitHub does not describe: the address and the method, each
// parameter, and the body with its unknown fields. report may be called by several goroutines at the same time.
func (d *Description) Judge(next http.RoundTripper, report func(fault string)) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if gitAddress.MatchString(request.URL.Path) {
			return next.RoundTrip(request)
		}
		body, err := readAll(request.Body)
		if err != nil {
			return nil, fmt.Errorf("%s %s: reading the body: %w", request.Method, request.URL.Path, err)
		}
		judged := request.Clone(request.Context())
		if body != nil {
			judged.Body = io.NopCloser(bytes.NewReader(body))
		}
		for _, fault := range d.requestFaults(request, body) {
			report(fault)
		}
		return next.RoundTrip(judged)
	})
}

// JudgeAnswers sends requests on to next and reports what of the answers GitHub describes otherwise: the status, types,
// and required fields. A request that no operation fits has no description of its answer; [Description.Judge] reports it.
func (d *Description) JudgeAnswers(next http.RoundTripper, report func(fault string)) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil || gitAddress.MatchString(request.URL.Path) {
			return response, err
		}
		operation, _ := d.find(request)
		if operation == nil {
			return response, nil
		}
		body, err := readAll(response.Body)
		if err != nil {
			response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), &broken{err}))
			return response, nil
		}
		response.Body = io.NopCloser(bytes.NewReader(body))
		for _, fault := range d.answerFaults(operation, response, body) {
			report(fault)
		}
		return response, nil
	})
}

// broken ends an answer as the connection did.
type broken struct{ err error }

// Read fails.
func (b *broken) Read([]byte) (int, error) { return 0, b.err }

// readAll reads and closes a body; nil has none.
func readAll(body io.ReadCloser) ([]byte, error) {
	if body == nil || body == http.NoBody {
		return nil, nil
	}
	defer func() { _ = body.Close() }()
	return io.ReadAll(body)
}

// find returns the operation that a request is for, with its path parameters; nil and a fault when there is none.
func (d *Description) find(request *http.Request) (*operation, []string) {
	path := strings.TrimPrefix(request.URL.EscapedPath(), enterpriseRoot)
	path = byNumber.ReplaceAllString(path, "/repos/owner/repo")
	fault := request.Method + " " + path + ": GitHub describes no such address, or the table of calls lacks it"
	for _, o := range d.operations {
		if !o.path.MatchString(path) {
			continue
		}
		if o.method == request.Method {
			return o, o.path.FindStringSubmatch(path)[1:]
		}
		fault = request.Method + " " + o.template + ": GitHub describes no such method, or the table of calls lacks it"
	}
	return nil, []string{fault}
}

func (d *Description) requestFaults(request *http.Request, body []byte) []string {
	operation, inPath := d.find(request)
	if operation == nil {
		return inPath
	}
	given, err := url.ParseQuery(request.URL.RawQuery)
	if err != nil {
		return []string{operation.name() + ": query: " + err.Error()}
	}
	parameters := map[string][]string{}
	for name, values := range given {
		parameters["query parameter "+name] = values
	}
	for i, name := range operation.path.SubexpNames()[1:] {
		value, err := url.PathUnescape(inPath[i])
		if err != nil {
			return []string{operation.name() + ": path: " + err.Error()}
		}
		parameters["path parameter "+name] = []string{value}
	}
	found := append(operation.parameterFaults(parameters), operation.bodyFaults(request, body)...)
	for i := range found {
		found[i] = operation.name() + ": " + found[i]
	}
	return found
}

// parameterFaults takes the values by their place and name, as a fault names them.
func (o *operation) parameterFaults(given map[string][]string) []string {
	var found []string
	described := map[string]bool{}
	for _, p := range o.Parameters {
		name := p.In + " parameter " + p.Name
		described[name] = true
		switch values := given[name]; {
		case len(values) > 1:
			found = append(found, name+" is given more than once")
		case len(values) == 1:
			found = append(found, p.Schema.faults(name, p.value(values[0]))...)
		case p.Required:
			found = append(found, name+" is missing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !described[name] {
			found = append(found, name+" is not described")
		}
	}
	return found
}

// value reads a parameter's text as the described type would be written in JSON.
func (p *parameter) value(text string) any {
	if p.Schema.resolved().Type != "string" {
		if value, err := parse([]byte(text)); err == nil {
			return value
		}
	}
	return text
}

func (o *operation) bodyFaults(request *http.Request, body []byte) []string {
	switch {
	case o.RequestBody == nil && len(body) > 0:
		return []string{"body is not described"}
	case o.RequestBody == nil:
		return nil
	case len(body) == 0 && o.RequestBody.Required:
		return []string{"body is missing"}
	case len(body) == 0:
		return nil
	}
	described, fault := mediaOf(o.RequestBody.Content, request.Header)
	if fault != "" {
		return []string{fault}
	}
	value, err := parse(body)
	if err != nil {
		return []string{"body is no JSON: " + err.Error()}
	}
	return append(described.Schema.faults("body", value), described.Schema.unknown("body", value)...)
}

// mediaOf returns what is described for the content type that a header names.
func mediaOf(content map[string]media, header http.Header) (described media, fault string) {
	name, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	described, found := content[name]
	if err != nil || !found {
		return media{}, fmt.Sprintf("content type %q is not one of %q", header.Get("Content-Type"), slices.Sorted(maps.Keys(content)))
	}
	return described, ""
}

func (d *Description) answerFaults(o *operation, response *http.Response, body []byte) []string {
	at := fmt.Sprintf("%s: answer %d", o.name(), response.StatusCode)
	answer, described := o.Responses[strconv.Itoa(response.StatusCode)]
	if !described {
		if undescribed[response.StatusCode] == "" && response.StatusCode < http.StatusInternalServerError {
			return []string{at + ": the status is not described"}
		}
		value, err := parse(body)
		if err != nil {
			return nil
		}
		return d.schemas[basicError].faults(at, value)
	}
	if len(answer.Content) == 0 {
		if len(body) > 0 {
			return []string{at + ": a body is not described"}
		}
		return nil
	}
	of, fault := mediaOf(answer.Content, response.Header)
	if fault != "" {
		return []string{at + ": " + fault}
	}
	if of.Schema.resolved().Type == "string" {
		return nil
	}
	value, err := parse(body)
	if err != nil {
		return []string{at + ": no JSON: " + err.Error()}
	}
	return of.Schema.faults(at, value)
}
