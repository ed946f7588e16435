package proof

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"strings"
	"sync"
	"unicode"

	"github.com/fluxcd/pkg/kustomize"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

var (
	// slots bounds the builds of the process, those that were given up at their deadline and still run included.
	slots = make(chan struct{}, 4)
	// schema guards kustomize's process-wide OpenAPI schema: builds share it, one that changes it is alone.
	schema sync.RWMutex
)

// outcome is what a build gave: objects, or the fault that Flux would meet.
type outcome struct {
	objects []*unstructured.Unstructured
	fault   error
}

// run builds a tree as Flux does, substitution included. It gives up when the context ends, with its cause; the build
// then ends by itself, since its input is bounded.
func run(ctx context.Context, t *tree, post substitution) (outcome, error) {
	if t.fault != nil || t.absent {
		return outcome{fault: t.fault}, nil
	}
	if add(t.size(), post.growth(t)) > maxTreeBytes {
		return outcome{}, &tooLarge{fmt.Sprintf("its variables make it larger than %d MiB", maxTreeBytes>>20)}
	}
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return outcome{}, context.Cause(ctx)
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() { <-slots }()
		done <- build(ctx, t, post)
	}()
	select {
	case built := <-done:
		if cause := context.Cause(ctx); cause != nil && errors.Is(built.fault, cause) {
			return outcome{}, cause
		}
		var limit *tooLarge
		if errors.As(built.fault, &limit) {
			return outcome{}, limit
		}
		return built, nil
	case <-ctx.Done():
		return outcome{}, context.Cause(ctx)
	}
}

func build(ctx context.Context, t *tree, post substitution) (built outcome) {
	defer recovered(&built.fault)
	fsys, err := inMemory(t)
	if err != nil {
		return outcome{fault: err}
	}
	resources, err := kustomizeBuild(fsys, path.Join("/", t.root), t.openAPI)
	if err != nil {
		return outcome{fault: err}
	}
	for _, object := range resources.Resources() {
		if ctx.Err() != nil {
			return outcome{fault: context.Cause(ctx)}
		}
		if err := post.apply(ctx, object); err != nil {
			return outcome{fault: err}
		}
		flat, err := flatten(object)
		if err != nil {
			return outcome{fault: err}
		}
		built.objects = append(built.objects, flat)
	}
	return built
}

func inMemory(t *tree) (filesys.FileSystem, error) {
	fsys := filesys.MakeFsInMemory()
	for dir := range t.folders {
		if err := fsys.MkdirAll(path.Join("/", dir)); err != nil {
			return nil, unusual(dir, err)
		}
	}
	for name, content := range t.files {
		if err := fsys.WriteFile(path.Join("/", name), content); err != nil {
			return nil, unusual(name, err)
		}
	}
	return fsys, nil
}

// unusual tells a name that the file system in memory does not take, though a disk would, from other faults: it is this
// check's limit, and no fault of the tree.
func unusual(name string, err error) error {
	if strings.Contains(err.Error(), "illegal name") {
		return &tooLarge{fmt.Sprintf("%q has a name that this check cannot hold", name)}
	}
	return fmt.Errorf("%s: %w", name, err)
}

// kustomizeBuild runs kustomize with the options of Flux's own build: files outside the folder may be loaded, no
// plugins but the builtin ones. Flux resets the process-wide schema around each build, which costs ten times the build
// of a small tree; it is needed only around one that changes the schema.
func kustomizeBuild(fsys filesys.FileSystem, dir string, openAPI bool) (resmap.ResMap, error) {
	if openAPI {
		schema.Lock()
		defer schema.Unlock()
		openapi.ResetOpenAPI()
		defer openapi.ResetOpenAPI()
	} else {
		schema.RLock()
		defer schema.RUnlock()
	}
	openapi.Schema()
	return krusty.MakeKustomizer(&krusty.Options{
		LoadRestrictions: types.LoadRestrictionsNone,
		PluginConfig:     types.DisabledPluginConfig(),
	}).Run(fsys, dir)
}

// flatten turns a built object into what the API server is given.
func flatten(object *resource.Resource) (*unstructured.Unstructured, error) {
	if object.GetName() == "" || object.GetKind() == "" || object.GetApiVersion() == "" {
		return nil, fmt.Errorf("%s %q: an object needs apiVersion, kind and metadata.name", object.GetKind(), object.GetName())
	}
	text, err := marshal(object)
	if err != nil {
		return nil, fmt.Errorf("%s %s: reading what was built: %w", object.GetKind(), object.GetName(), err)
	}
	flat := &unstructured.Unstructured{}
	if err := flat.UnmarshalJSON(text); err != nil {
		return nil, fmt.Errorf("%s %s: reading what was built: %w", object.GetKind(), object.GetName(), err)
	}
	return flat, nil
}

// marshal is an object as JSON. Kustomize, and Flux with it, writes the object as YAML and reads that again, which is
// a third of a small tree's build; it is left out where it gives back the same.
func marshal(object *resource.Resource) ([]byte, error) {
	node := object.YNode()
	if node == nil || !survives(node) {
		return object.MarshalJSON()
	}
	content := map[string]any{}
	if err := node.Decode(&content); err != nil {
		return nil, err
	}
	return json.Marshal(content)
}

// survives says that a node is the same after it was written and read: there are no blocks of text, whose spaces and
// line breaks a writer may change, no value that is left out, no keys but names, and no tags or comments between a key
// and its list or mapping, which it may write so that nobody can read them.
func survives(node *yaml.Node) bool {
	special := yaml.LiteralStyle | yaml.FoldedStyle | yaml.TaggedStyle
	isScalar := node.Kind == yaml.ScalarNode
	switch {
	case node.Style&special != 0,
		strings.ContainsFunc(node.Value, unicode.IsControl),
		isScalar && node.Value == "" && node.Tag != yaml.NodeTagString,
		!isScalar && node.HeadComment+node.LineComment+node.FootComment != "":
		return false
	}
	for index, below := range node.Content {
		isKey := node.Kind == yaml.MappingNode && index%2 == 0
		if isKey && (below.Tag != yaml.NodeTagString || below.LineComment != "") || !survives(below) {
			return false
		}
	}
	return true
}

// substitution is Flux's post-build step as the Kustomization's spec has it.
type substitution struct {
	owner   unstructured.Unstructured
	enabled bool
	options []kustomize.SubstituteOption
}

// newSubstitution reads spec.postBuild, with the variables below its own. Strict is what the controller does by default
// since 1.9; where some variables could not be read, an unknown one is no fault.
func newSubstitution(spec map[string]any, variables map[string]clustermanager.Secret, unread bool) substitution {
	strategy, _, _ := unstructured.NestedString(spec, "postBuild", "substituteStrategy")
	return substitution{
		owner:   unstructured.Unstructured{Object: map[string]any{"spec": withVariables(spec, variables)}},
		enabled: spec["postBuild"] != nil,
		options: []kustomize.SubstituteOption{
			kustomize.SubstituteWithDryRun(true),
			kustomize.SubstituteWithStrict(!unread),
			kustomize.SubstituteWithAlways(unread || strategy == "Always"),
		},
	}
}

// withVariables is a copy of the spec whose postBuild.substitute has the variables that it does not set itself.
func withVariables(spec map[string]any, variables map[string]clustermanager.Secret) map[string]any {
	postBuild, ok := spec["postBuild"].(map[string]any)
	if !ok || len(variables) == 0 {
		return spec
	}
	substitute := map[string]any{}
	for name, value := range variables {
		substitute[name] = value.Reveal()
	}
	own, _ := postBuild["substitute"].(map[string]any)
	maps.Copy(substitute, own)
	spec, postBuild = maps.Clone(spec), maps.Clone(postBuild)
	spec["postBuild"], postBuild["substitute"] = postBuild, substitute
	return spec
}

// growth bounds what the variables add to a tree, in bytes: the longest value at each dollar sign.
func (s substitution) growth(t *tree) int {
	values, _, _ := unstructured.NestedStringMap(s.owner.Object, "spec", "postBuild", "substitute")
	longest, signs := 0, 0
	for _, value := range values {
		longest = max(longest, len(value))
	}
	for _, content := range t.files {
		signs += bytes.Count(content, []byte("$"))
	}
	return longest * signs
}

// apply replaces the variables of an object in place. A fault after the replacement may hold a variable's value, which
// may come from a Secret, so its words are not relayed.
func (s substitution) apply(ctx context.Context, object *resource.Resource) error {
	if !s.enabled {
		return nil
	}
	kind, name := object.GetKind(), object.GetName()
	_, err := kustomize.SubstituteVariables(ctx, nil, s.owner, object, s.options...)
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "variable substitution failed"):
		return fmt.Errorf("%s %s: post-build substitution: %w", kind, name, errors.New(err.Error()))
	}
	return fmt.Errorf("%s %s: post-build substitution: the text with the variables in it is no object", kind, name)
}
