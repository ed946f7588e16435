package offline

import (
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const metadataVersion = "meta.k8s.io/v1"

// everyField are the field selectors that every resource has.
var everyField = []string{"metadata.name", "metadata.namespace"}

// fieldsOf are the field selectors that a resource has besides.
var fieldsOf = map[schema.GroupResource][]string{
	{Resource: "pods"}: {"spec.nodeName", "spec.serviceAccountName", "status.phase", "status.podIP"},
	{Resource: "events"}: {
		"involvedObject.apiVersion", "involvedObject.fieldPath", "involvedObject.kind", "involvedObject.name",
		"involvedObject.namespace", "involvedObject.resourceVersion", "involvedObject.uid", "reason", "type",
	},
	{Resource: "namespaces"}:           {"status.phase"},
	{Resource: "nodes"}:                {"spec.unschedulable"},
	{Resource: "secrets"}:              {"type"},
	{Group: "batch", Resource: "jobs"}: {"status.successful"},
}

// selection is what a list asks for.
type selection struct {
	labels labels.Selector
	fields fields.Selector
	limit  int
	after  string
}

// selectionOf reads a list's query.
func selectionOf(r *http.Request, of schema.GroupResource) (selection, error) {
	query := r.URL.Query()
	var read selection
	var err error
	if read.labels, err = labels.Parse(query.Get("labelSelector")); err != nil {
		return read, apierrors.NewBadRequest("unable to parse labelSelector: " + err.Error())
	}
	if read.fields, err = fields.ParseSelector(query.Get("fieldSelector")); err != nil {
		return read, apierrors.NewBadRequest("unable to parse fieldSelector: " + err.Error())
	}
	for _, requirement := range read.fields.Requirements() {
		if !slices.Contains(everyField, requirement.Field) && !slices.Contains(fieldsOf[of], requirement.Field) {
			return read, apierrors.NewBadRequest("field label not supported: " + requirement.Field)
		}
	}
	if limit := query.Get("limit"); limit != "" {
		if read.limit, err = strconv.Atoi(limit); err != nil || read.limit < 0 {
			return read, apierrors.NewBadRequest("limit is no number: " + limit)
		}
	}
	after, err := base64.RawURLEncoding.DecodeString(query.Get("continue"))
	if err != nil {
		return read, apierrors.NewBadRequest("continue is not valid")
	}
	read.after = string(after)
	return read, nil
}

// readList answers a list, or a part of it with the token that continues it.
func (a *apiServer) readList(r *http.Request, served *resource, named target, metadataOnly bool) (any, error) {
	asked, err := selectionOf(r, served.groupResource())
	if err != nil {
		return nil, err
	}
	objects, revision := a.store.list(served.groupResource(), named.name.Namespace)
	objects = slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool {
		return !asked.matches(object)
	})
	metadata := map[string]any{"resourceVersion": strconv.FormatInt(revision, 10)}
	if asked.limit > 0 && len(objects) > asked.limit {
		metadata["remainingItemCount"] = len(objects) - asked.limit
		objects = objects[:asked.limit]
		metadata["continue"] = base64.RawURLEncoding.EncodeToString([]byte(orderOf(objects[asked.limit-1])))
	}
	items := make([]any, 0, len(objects))
	for _, object := range objects {
		object.SetAPIVersion(named.version.String())
		items = append(items, shown(object, metadataOnly))
	}
	answered := map[string]any{
		"apiVersion": named.version.String(), "kind": served.listKind, "metadata": metadata, "items": items,
	}
	if metadataOnly {
		answered["apiVersion"], answered["kind"] = metadataVersion, "PartialObjectMetadataList"
	}
	return answered, nil
}

func (s selection) matches(object *unstructured.Unstructured) bool {
	if !s.labels.Matches(labels.Set(object.GetLabels())) || (s.after != "" && orderOf(object) <= s.after) {
		return false
	}
	values := fields.Set{}
	for _, requirement := range s.fields.Requirements() {
		value, found, _ := unstructured.NestedFieldNoCopy(object.Object, strings.Split(requirement.Field, ".")...)
		if found && value != nil {
			values[requirement.Field] = fmt.Sprint(value)
		}
	}
	return s.fields.Matches(values)
}

// orderOf sorts objects as the store's list does: a NUL is below everything that a name may hold.
func orderOf(object *unstructured.Unstructured) string {
	return object.GetNamespace() + "\x00" + object.GetName()
}

// shown is the object as it is answered.
func shown(object *unstructured.Unstructured, metadataOnly bool) map[string]any {
	if !metadataOnly {
		return object.Object
	}
	return map[string]any{
		"apiVersion": metadataVersion, "kind": "PartialObjectMetadata", "metadata": object.Object["metadata"],
	}
}

// wantsMetadata says whether the first form of the Accept header that can be answered is the metadata alone.
func wantsMetadata(accept string) bool {
	for clause := range strings.SplitSeq(accept, ",") {
		mediaType, parameters, err := mime.ParseMediaType(clause)
		if err != nil || mediaType != "application/json" {
			continue
		}
		switch parameters["as"] {
		case "":
			return false
		case "PartialObjectMetadata", "PartialObjectMetadataList":
			return true
		}
	}
	return false
}
