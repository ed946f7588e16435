package offline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// patch changes the live object by one of three forms. A server-side apply creates an absent object; nobody is kept as the
// owner of a field, so it never conflicts with another manager and takes nothing off.
func (w *writing) patch(form types.PatchType, body []byte) (*unstructured.Unstructured, error) {
	if w.live == nil && form != types.ApplyPatchType {
		return nil, apierrors.NewNotFound(w.served.groupResource(), w.named.name.Name)
	}
	switch form {
	case types.ApplyPatchType:
		return w.apply(body)
	case types.MergePatchType:
		var change map[string]any
		if err := utiljson.Unmarshal(body, &change); err != nil {
			return nil, apierrors.NewBadRequest("the body is no JSON object")
		}
		return w.patched(mergePatch(w.live.DeepCopy().Object, change))
	case types.JSONPatchType:
		changed, err := jsonPatch(w.live.DeepCopy().Object, body)
		if err != nil {
			return nil, apierrors.NewBadRequest("the patch cannot be applied: " + err.Error())
		}
		return w.patched(changed)
	}
	return nil, apierrors.NewGenericServerResponse(415, "patch", w.served.groupResource(), w.named.name.Name,
		fmt.Sprintf("patches of the form %q are not served here", form), 0, true)
}

// patched takes the result of a patch in. It stands at the version that is stored.
func (w *writing) patched(content any) (*unstructured.Unstructured, error) {
	fields, is := content.(map[string]any)
	if !is {
		return nil, apierrors.NewBadRequest("the patch leaves no object")
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetAPIVersion(w.named.version.String())
	if err := w.check(object); err != nil {
		return nil, err
	}
	return w.replace(object)
}

func (w *writing) apply(body []byte) (*unstructured.Unstructured, error) {
	content, err := yaml.YAMLToJSON(body)
	if err != nil {
		return nil, apierrors.NewBadRequest("the body is no YAML")
	}
	object, err := w.decode(content)
	switch {
	case err != nil:
		return nil, err
	case w.live == nil && (object.GetUID() != "" || object.GetResourceVersion() != ""):
		return nil, apierrors.NewConflict(w.served.groupResource(), w.named.name.Name, fmt.Errorf("uid or resourceVersion is given, and the object does not exist"))
	case w.live == nil:
		return w.begin(object)
	}
	owners, finalizers := w.live.GetOwnerReferences(), w.live.GetFinalizers()
	for _, owner := range object.GetOwnerReferences() {
		at := slices.IndexFunc(owners, func(live ownerReference) bool { return live.UID == owner.UID })
		if at < 0 {
			owners = append(owners, owner)
			continue
		}
		owners[at] = owner
	}
	for _, finalizer := range object.GetFinalizers() {
		if !slices.Contains(finalizers, finalizer) {
			finalizers = append(finalizers, finalizer)
		}
	}
	merged := &unstructured.Unstructured{Object: mergePatch(w.live.DeepCopy().Object, object.Object).(map[string]any)}
	merged.SetOwnerReferences(owners)
	merged.SetFinalizers(finalizers)
	return w.patched(merged.Object)
}

// mergePatch is RFC 7386's.
func mergePatch(old, change any) any {
	changes, is := change.(map[string]any)
	if !is {
		return change
	}
	fields, is := old.(map[string]any)
	if !is {
		fields = map[string]any{}
	}
	for key, value := range changes {
		if value == nil {
			delete(fields, key)
			continue
		}
		fields[key] = mergePatch(fields[key], value)
	}
	return fields
}

// operation is one of RFC 6902's; move and copy are not served.
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

func jsonPatch(document any, body []byte) (any, error) {
	var operations []operation
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&operations); err != nil {
		return nil, fmt.Errorf("no list of operations")
	}
	for _, one := range operations {
		var value any
		if one.Op == "add" || one.Op == "replace" || one.Op == "test" {
			if err := utiljson.Unmarshal(one.Value, &value); err != nil {
				return nil, fmt.Errorf("%s %s: no value", one.Op, one.Path)
			}
		}
		var err error
		if document, err = one.on(document, strings.Split(one.Path, "/")[1:], value); err != nil {
			return nil, fmt.Errorf("%s %s: %w", one.Op, one.Path, err)
		}
	}
	return document, nil
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

// on returns the value with the operation done at a path below it.
func (o operation) on(value any, path []string, given any) (any, error) {
	if len(path) == 0 {
		if o.Op == "test" && len(clustermanager.ChangedPaths(map[string]any{"": value}, map[string]any{"": given})) > 0 {
			return nil, fmt.Errorf("the value differs")
		}
		if o.Op == "test" {
			return value, nil
		}
		return given, nil
	}
	key, last := pointerEscapes.Replace(path[0]), len(path) == 1
	switch value := value.(type) {
	case map[string]any:
		element, there := value[key]
		switch {
		case !there && (!last || o.Op != "add"):
			return nil, fmt.Errorf("there is no %q", key)
		case last && o.Op == "remove":
			delete(value, key)
			return value, nil
		}
		changed, err := o.on(element, path[1:], given)
		value[key] = changed
		return value, err
	case []any:
		index, err := strconv.Atoi(key)
		if key == "-" {
			index, err = len(value), nil
		}
		added := last && o.Op == "add"
		switch {
		case err != nil, index < 0, index > len(value), index == len(value) && !added:
			return nil, fmt.Errorf("there is no element %q", key)
		case added:
			return slices.Insert(value, index, given), nil
		case last && o.Op == "remove":
			return slices.Delete(value, index, index+1), nil
		}
		value[index], err = o.on(value[index], path[1:], given)
		return value, err
	}
	return nil, fmt.Errorf("there is nothing below")
}
