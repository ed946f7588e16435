package compose

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/testbed"
)

// definitionsOfKinds are the schemas of the kinds that are composed, by apiVersion and kind, compiled once.
var definitionsOfKinds = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	found, err := testbed.Definitions(context.Background(), testbed.FluxSource, testbed.FluxKustomize, testbed.FluxHelm)
	if err != nil {
		return nil, err
	}
	schemas := map[string]*jsonschema.Schema{}
	for _, definition := range found {
		if err := compileDefinition(schemas, definition.Object); err != nil {
			return nil, err
		}
	}
	return schemas, nil
})

// compileDefinition adds the schema of each version of a custom resource definition.
func compileDefinition(schemas map[string]*jsonschema.Schema, definition object) error {
	group, kind := text(definition, "spec", "group"), text(definition, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition, "spec", "versions")
	for _, one := range versions {
		version := one.(object)
		key := group + "/" + text(version, "name") + " " + kind
		structural, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		encoded, err := json.Marshal(strict(structural))
		if err != nil {
			return err
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
		if err != nil {
			return err
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource(schemaAddress, document); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if schemas[key], err = compiler.Compile(schemaAddress); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// strict is a structural schema as a JSON schema that knows no more keys than it names, as an API server reads it under
// strict field validation. What it leaves out are the rules in CEL; the API server of the test bed has those.
func strict(schema object) object {
	kept := maps.Clone(schema)
	for _, keyword := range []string{"items", "additionalProperties", "not"} {
		if inner, isMap := kept[keyword].(object); isMap {
			kept[keyword] = strict(inner)
		}
	}
	properties := object{}
	for key, inner := range fields(schema, "properties") {
		properties[key] = strict(inner.(object))
	}
	if kept["type"] != "object" {
		return kept
	}
	kept["properties"] = properties
	if kept["additionalProperties"] == nil && kept["x-kubernetes-preserve-unknown-fields"] != true && kept["x-kubernetes-embedded-resource"] != true {
		kept["additionalProperties"] = false
	}
	if metadata, isRoot := properties["metadata"].(object); isRoot && properties["apiVersion"] != nil {
		// Every kind has the same metadata, which metadataFaults judges.
		delete(metadata, "additionalProperties")
	}
	return kept
}

// fields is the map at a path; nil where there is none.
func fields(values object, path ...string) object {
	found, _ := lookup(values, path...).(object)
	return found
}

// coreKinds are the keys beside apiVersion, kind and metadata that the core kinds have.
var coreKinds = map[string][]string{
	"v1 ConfigMap": {"data"},
	"v1 Secret":    {"type", "stringData"},
	"v1 Namespace": {},
}

var (
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	label     = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
	dataKey   = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)
)

// objectFault is what the kind's definition, or the shape of a core kind, has against an object; "": nothing.
func objectFault(schemas map[string]*jsonschema.Schema, composed *unstructured.Unstructured) string {
	if fault := metadataFault(composed.Object); fault != "" {
		return fault
	}
	key := composed.GetAPIVersion() + " " + composed.GetKind()
	if keys, isCore := coreKinds[key]; isCore {
		return coreFault(keys, composed.Object)
	}
	schema, known := schemas[key]
	if !known {
		return "there is no definition of " + key
	}
	encoded, err := json.Marshal(composed)
	if err != nil {
		return err.Error()
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		return err.Error()
	}
	var violated *jsonschema.ValidationError
	if errors.As(schema.Validate(instance), &violated) {
		return strings.Join(violations(violated), "; ")
	}
	return ""
}

func metadataFault(composed object) string {
	metadata := fields(composed, "metadata")
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if !slices.Contains([]string{"name", "namespace", "labels", "annotations", "ownerReferences"}, key) {
			return "metadata has a key " + key
		}
	}
	if name := text(metadata, "name"); len(name) > 253 || !subdomain.MatchString(name) {
		return fmt.Sprintf("metadata.name %q is no name", name)
	}
	for key, value := range fields(metadata, "labels") {
		if content, isText := value.(string); !isText || !label.MatchString(content) {
			return fmt.Sprintf("label %s has the value %#v", key, value)
		}
	}
	owners, _ := metadata["ownerReferences"].([]any)
	for _, owner := range owners {
		for _, key := range []string{"apiVersion", "kind", "name", "uid"} {
			if text(owner.(object), key) == "" {
				return "an owner reference has no " + key
			}
		}
	}
	return ""
}

func coreFault(keys []string, composed object) string {
	for key := range composed {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata"}, key) && !slices.Contains(keys, key) {
			return "it has a key " + key
		}
	}
	for _, at := range []string{"data", "stringData"} {
		for key, value := range fields(composed, at) {
			if _, isText := value.(string); !isText || !dataKey.MatchString(key) {
				return fmt.Sprintf("%s has %q: %#v", at, key, value)
			}
		}
	}
	return ""
}

// checkObjects holds what a plan writes against the definitions of its kinds; where they are not built, nothing is held
// against them, and [TestObjectsAreHeldAgainstDefinitions] is skipped and says so.
func checkObjects(t *testing.T, plan clustermanager.Plan) {
	t.Helper()
	schemas, err := definitionsOfKinds()
	if errors.Is(err, testbed.ErrNotBuilt) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range plan.Steps {
		if step.Verb != clustermanager.Ensure {
			continue
		}
		if fault := objectFault(schemas, step.Object); fault != "" {
			t.Fatalf("%s: %s", step.Reference(), fault)
		}
	}
}

func TestObjectsAreHeldAgainstDefinitions(t *testing.T) {
	schemas, err := definitionsOfKinds()
	if errors.Is(err, testbed.ErrNotBuilt) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	plan := composed(t, serving("wc3", "gpu-l4"), servingOf(t, "wc3")).Plan
	checkObjects(t, plan)
	kinds := map[string]*unstructured.Unstructured{}
	for _, step := range plan.Steps {
		if step.Verb == clustermanager.Ensure {
			kinds[step.Object.GetKind()] = step.Object
		}
	}
	for name, test := range map[string]struct {
		kind  string
		value any
		at    []string
		want  string
	}{
		"a key that the definition lacks":     {"HelmRelease", "10m", []string{"spec", "intervall"}, "/spec/intervall: the schema knows no such key"},
		"a key deep inside":                   {"HelmRelease", 3.0, []string{"spec", "install", "remediation", "tries"}, "/spec/install/remediation/tries: the schema knows no such key"},
		"a type":                              {"HelmRelease", "3", []string{"spec", "install", "remediation", "retries"}, "/spec/install/remediation/retries: must be integer"},
		"a pattern":                           {"OCIRepository", "often", []string{"spec", "interval"}, "/spec/interval: must match the pattern"},
		"a value of a closed set":             {"HelmRelease", "Replace", []string{"spec", "install", "crds"}, "/spec/install/crds: must be one of"},
		"no other key in a map of any":        {"HelmRelease", "x", []string{"spec", "values", "anything"}, ""},
		"another URL":                         {"OCIRepository", "https://x", []string{"spec", "url"}, "/spec/url: must match the pattern"},
		"a version that is not served":        {"OCIRepository", "source.toolkit.fluxcd.io/v9", []string{"apiVersion"}, "there is no definition of source.toolkit.fluxcd.io/v9 OCIRepository"},
		"a label's value":                     {"ConfigMap", "a b", []string{"metadata", "labels", "x"}, `label x has the value "a b"`},
		"a name":                              {"ConfigMap", "A_b", []string{"metadata", "name"}, `metadata.name "A_b" is no name`},
		"a key of metadata":                   {"ConfigMap", "x", []string{"metadata", "generateName"}, "metadata has a key generateName"},
		"a number in a ConfigMap":             {"ConfigMap", 3.0, []string{"data", "x"}, `data has "x": 3`},
		"a Secret's value in the wrong place": {"Secret", object{"x": "eA=="}, []string{"data"}, "it has a key data"},
	} {
		t.Run(name, func(t *testing.T) {
			broken := kinds[test.kind].DeepCopy()
			if err := unstructured.SetNestedField(broken.Object, test.value, test.at...); err != nil {
				t.Fatal(err)
			}
			got := objectFault(schemas, broken)
			if got == "" != (test.want == "") || !strings.HasPrefix(got, test.want) {
				t.Errorf("fault %q, want %q", got, test.want)
			}
		})
	}
}
