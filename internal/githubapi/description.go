package githubapi

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// calls are the addresses and methods that stay of the description: those of the product, and those that the local
// forge answers beside them.
var calls = map[string][]string{
	"/user":                 {"get"},
	"/repos/{owner}/{repo}": {"get"},
	"/repos/{owner}/{repo}/compare/{basehead}":             {"get"},
	"/repos/{owner}/{repo}/git/ref/{ref}":                  {"get"},
	"/repos/{owner}/{repo}/git/matching-refs/{ref}":        {"get"},
	"/repos/{owner}/{repo}/commits/{ref}/check-runs":       {"get"},
	"/repos/{owner}/{repo}/commits/{ref}/status":           {"get"},
	"/repos/{owner}/{repo}/check-runs":                     {"post"},
	"/repos/{owner}/{repo}/issues/{issue_number}/comments": {"get", "post"},
	"/repos/{owner}/{repo}/issues/comments/{comment_id}":   {"patch"},
	"/app/installations/{installation_id}/access_tokens":   {"post"},
	"/repos/{owner}/{repo}/check-runs/{check_run_id}":      {"patch"},
	"/repos/{owner}/{repo}/pulls":                          {"get", "post"},
	"/repos/{owner}/{repo}/pulls/{pull_number}":            {"get", "patch"},
	"/repos/{owner}/{repo}/rules/branches/{branch}":        {"get"},
	"/repos/{owner}/{repo}/pulls/{pull_number}/merge":      {"put"},
	"/repos/{owner}/{repo}/pulls/{pull_number}/commits":    {"get"},
	"/repos/{owner}/{repo}/pulls/{pull_number}/files":      {"get"},
}

// basicError is the form of an answer that the description has for most of what is no success.
const basicError = "#/components/schemas/basic-error"

// Description is what GitHub describes of the calls in the table. Nothing changes it after Load, so judges may share it.
type Description struct {
	operations []*operation
	schemas    map[string]*schema
}

// operation is one method of one address.
type operation struct {
	method   string
	template string
	path     *regexp.Regexp
	describedOperation
}

// name is how a fault names the operation.
func (o *operation) name() string { return o.method + " " + o.template }

// The described types hold what is read of the description's own objects.
type (
	describedOperation struct {
		Parameters  []parameter         `json:"parameters"`
		RequestBody *requestBody        `json:"requestBody"`
		Responses   map[string]response `json:"responses"`
	}
	parameter struct {
		Ref      string  `json:"$ref"`
		Name     string  `json:"name"`
		In       string  `json:"in"`
		Required bool    `json:"required"`
		Schema   *schema `json:"schema"`
		// Slashes says that a path parameter may hold slashes as they are.
		Slashes bool `json:"x-multi-segment"`
	}
	requestBody struct {
		Required bool             `json:"required"`
		Content  map[string]media `json:"content"`
	}
	response struct {
		Ref     string           `json:"$ref"`
		Content map[string]media `json:"content"`
	}
	media struct {
		Schema *schema `json:"schema"`
	}
)

// Load reads a description of OpenAPI 3.0 in JSON and keeps what the calls in the table need of it.
func Load(path string) (*Description, error) {
	file, err := os.Open(path) //nolint:gosec // the test set-up names the file
	if err != nil {
		return nil, fmt.Errorf("GitHub's description: opening: %w", err)
	}
	defer func() { _ = file.Close() }()
	reader := &reader{decoder: json.NewDecoder(file), paths: map[string]map[string]json.RawMessage{}, components: map[string]json.RawMessage{}}
	if err := reader.document(); err != nil {
		return nil, fmt.Errorf("GitHub's description %s: reading: %w", path, err)
	}
	description, err := reader.prune()
	if err != nil {
		return nil, fmt.Errorf("GitHub's description %s: %w", path, err)
	}
	return description, nil
}

// reader reads a description piece by piece, so that its 13 MB are never in memory as a whole.
type reader struct {
	decoder *json.Decoder
	// paths are the methods of the addresses in the table.
	paths map[string]map[string]json.RawMessage
	// components are all of them by their reference, not yet parsed.
	components  map[string]json.RawMessage
	description *Description
}

func (r *reader) document() error {
	return r.members(func(section string) error {
		switch section {
		case "paths":
			return r.members(r.path)
		case "components":
			return r.members(func(kind string) error {
				return r.members(func(name string) (err error) {
					r.components["#/components/"+kind+"/"+name], err = r.raw()
					return err
				})
			})
		}
		_, err := r.raw()
		return err
	})
}

// members calls do with the name of each member of the object that comes next; do reads the value.
func (r *reader) members(do func(name string) error) error {
	open, err := r.decoder.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('{') {
		return fmt.Errorf("byte %d: %v instead of an object", r.decoder.InputOffset(), open)
	}
	for r.decoder.More() {
		name, err := r.decoder.Token()
		if err != nil {
			return err
		}
		if err := do(name.(string)); err != nil {
			return err
		}
	}
	_, err = r.decoder.Token()
	return err
}

func (r *reader) raw() (raw json.RawMessage, err error) { return raw, r.decoder.Decode(&raw) }

func (r *reader) path(path string) error {
	raw, err := r.raw()
	if _, kept := calls[path]; !kept || err != nil {
		return err
	}
	var methods map[string]json.RawMessage
	err = json.Unmarshal(raw, &methods)
	r.paths[path] = methods
	return err
}

// prune parses the calls in the table and whatever they refer to.
func (r *reader) prune() (*Description, error) {
	r.description = &Description{schemas: map[string]*schema{}}
	for template, methods := range calls {
		for _, method := range methods {
			raw, found := r.paths[template][method]
			if !found {
				return nil, fmt.Errorf("%s %s: not described", method, template)
			}
			operation, err := r.operation(strings.ToUpper(method), template, raw)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, template, err)
			}
			r.description.operations = append(r.description.operations, operation)
		}
	}
	return r.description, r.resolve(&schema{Ref: basicError})
}

func (r *reader) operation(method, template string, raw json.RawMessage) (*operation, error) {
	o := &operation{method: method, template: template}
	if err := json.Unmarshal(raw, &o.describedOperation); err != nil {
		return nil, err
	}
	for i := range o.Parameters {
		p := &o.Parameters[i]
		if err := r.follow(p.Ref, p); err != nil {
			return nil, err
		}
		if err := r.resolve(p.Schema); err != nil {
			return nil, err
		}
	}
	bodies := []map[string]media{}
	if o.RequestBody != nil {
		bodies = append(bodies, o.RequestBody.Content)
	}
	for status, answer := range o.Responses {
		if err := r.follow(answer.Ref, &answer); err != nil {
			return nil, err
		}
		o.Responses[status] = answer
		bodies = append(bodies, answer.Content)
	}
	for _, body := range bodies {
		for _, of := range body {
			if err := r.resolve(of.Schema); err != nil {
				return nil, err
			}
		}
	}
	o.path = o.pattern()
	return o, nil
}

// follow parses the component that a reference names; none is fine.
func (r *reader) follow(ref string, into any) error {
	if ref == "" {
		return nil
	}
	raw, found := r.components[ref]
	if !found {
		return fmt.Errorf("%s: not described", ref)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", ref, err)
	}
	return nil
}

// resolve parses what a schema refers to, and what that refers to; each once.
func (r *reader) resolve(s *schema) error {
	if s == nil {
		return nil
	}
	if s.Ref != "" {
		if known, parsed := r.description.schemas[s.Ref]; parsed {
			s.target = known
			return nil
		}
		s.target = &schema{}
		r.description.schemas[s.Ref] = s.target
		if err := r.follow(s.Ref, s.target); err != nil {
			return err
		}
		return r.resolve(s.target)
	}
	for below := range s.below() {
		if err := r.resolve(below); err != nil {
			return err
		}
	}
	return nil
}

var pathParameter = regexp.MustCompile(`\\\{\w+\\\}`)

// pattern matches the escaped path of a request and has a group for each path parameter.
func (o *operation) pattern() *regexp.Regexp {
	return regexp.MustCompile("^" + pathParameter.ReplaceAllStringFunc(regexp.QuoteMeta(o.template), func(quoted string) string {
		name := strings.Trim(quoted, `\{}`)
		if slices.ContainsFunc(o.Parameters, func(p parameter) bool { return p.In == "path" && p.Name == name && p.Slashes }) {
			return "(?P<" + name + ">.+)"
		}
		return "(?P<" + name + ">[^/]+)"
	}) + "$")
}
