package offline

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// maxBody is the most that a write may hold, as with an API server.
const maxBody = 3 << 20

// write answers a create, update, patch or delete. Under the lock of the store, what is read is what is replaced.
func (a *apiServer) write(r *http.Request, served *resource, named target) (int, any, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil || len(body) > maxBody {
		return 0, nil, apierrors.NewRequestEntityTooLargeError("the body is larger than 3 MiB")
	}
	dryRun := slices.Contains(r.URL.Query()["dryRun"], metav1.DryRunAll)
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	w := &writing{store: a.store, served: served, named: named, dryRun: dryRun}
	w.live = a.store.objects[served.groupResource()][named.name]
	var object *unstructured.Unstructured
	code := http.StatusOK
	switch {
	case r.Method == http.MethodPost && named.name.Name == "":
		code = http.StatusCreated
		object, err = w.create(body)
	case named.name.Name == "":
		return 0, nil, apierrors.NewMethodNotSupported(served.groupResource(), verbOf(r))
	case r.Method == http.MethodPut:
		object, err = w.update(body)
	case r.Method == http.MethodPatch:
		if w.live == nil {
			code = http.StatusCreated
		}
		object, err = w.patch(types.PatchType(r.Header.Get("Content-Type")), body)
	case r.Method == http.MethodDelete:
		object, err = w.remove(body)
	default:
		return 0, nil, apierrors.NewMethodNotSupported(served.groupResource(), verbOf(r))
	}
	if err != nil {
		return 0, nil, err
	}
	answered := object.DeepCopy()
	answered.SetAPIVersion(named.version.String())
	return code, answered.Object, nil
}

// writing is one write of one object.
type writing struct {
	store  *store
	served *resource
	named  target
	dryRun bool
	// live is the object as it stands; nil: absent.
	live *unstructured.Unstructured
}

func (w *writing) create(body []byte) (*unstructured.Unstructured, error) {
	object, err := w.decode(body)
	if err != nil {
		return nil, err
	}
	w.named.name.Name = object.GetName()
	if w.store.objects[w.served.groupResource()][w.named.name] != nil {
		return nil, apierrors.NewAlreadyExists(w.served.groupResource(), object.GetName())
	}
	if object.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	return w.begin(object)
}

// begin puts a new object in.
func (w *writing) begin(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	object.SetUID(w.store.newUID(clustermanager.ReferenceTo(object)))
	object.SetCreationTimestamp(metav1.NewTime(w.store.now().UTC().Truncate(time.Second)))
	object.SetDeletionTimestamp(nil)
	delete(object.Object, "status")
	if object.Object["spec"] != nil {
		object.SetGeneration(1)
	}
	return object, w.keep(object)
}

func (w *writing) update(body []byte) (*unstructured.Unstructured, error) {
	if w.live == nil {
		return nil, apierrors.NewNotFound(w.served.groupResource(), w.named.name.Name)
	}
	object, err := w.decode(body)
	if err != nil {
		return nil, err
	}
	return w.replace(object)
}

// replace puts a changed object in the place of the live one. What the API server decides stays as it is, the status
// too, since that is written through its own subresource, which is not served here.
func (w *writing) replace(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource, name := w.served.groupResource(), w.named.name.Name
	if uid := object.GetUID(); uid != "" && uid != w.live.GetUID() {
		return nil, apierrors.NewConflict(resource, name, fmt.Errorf("the uid in the precondition is %s, the object's is %s", uid, w.live.GetUID()))
	}
	if version := object.GetResourceVersion(); version != "" && version != w.live.GetResourceVersion() {
		return nil, apierrors.NewConflict(resource, name, fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	object.SetUID(w.live.GetUID())
	object.SetResourceVersion(w.live.GetResourceVersion())
	object.SetCreationTimestamp(w.live.GetCreationTimestamp())
	object.SetDeletionTimestamp(w.live.GetDeletionTimestamp())
	object.SetGeneration(w.live.GetGeneration())
	object.SetManagedFields(nil)
	delete(object.Object, "status")
	if status, there := w.live.Object["status"]; there {
		object.Object["status"] = status
	}
	encodeSecret(object)
	if len(clustermanager.ChangedPaths(w.live.Object, object.Object)) == 0 {
		return w.live, nil
	}
	if len(clustermanager.ChangedPaths(map[string]any{"spec": w.live.Object["spec"]}, map[string]any{"spec": object.Object["spec"]})) > 0 {
		object.SetGeneration(w.live.GetGeneration() + 1)
	}
	if object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0 {
		return object, w.forget()
	}
	return object, w.keep(object)
}

func (w *writing) remove(body []byte) (*unstructured.Unstructured, error) {
	resource, name := w.served.groupResource(), w.named.name.Name
	if w.live == nil {
		return nil, apierrors.NewNotFound(resource, name)
	}
	var options metav1.DeleteOptions
	if len(body) > 0 {
		if err := json.Unmarshal(body, &options); err != nil {
			return nil, apierrors.NewBadRequest("the body is no DeleteOptions")
		}
	}
	w.dryRun = w.dryRun || slices.Contains(options.DryRun, metav1.DryRunAll)
	if wanted := options.Preconditions; wanted != nil {
		if (wanted.UID != nil && *wanted.UID != w.live.GetUID()) ||
			(wanted.ResourceVersion != nil && *wanted.ResourceVersion != w.live.GetResourceVersion()) {
			return nil, apierrors.NewConflict(resource, name, fmt.Errorf("the precondition does not hold: the object's uid is %s, its resourceVersion %s", w.live.GetUID(), w.live.GetResourceVersion()))
		}
	}
	if len(w.live.GetFinalizers()) == 0 {
		return w.live, w.forget()
	}
	if w.live.GetDeletionTimestamp() != nil {
		return w.live, nil
	}
	object := w.live.DeepCopy()
	object.SetDeletionTimestamp(new(metav1.NewTime(w.store.now().UTC().Truncate(time.Second))))
	return object, w.keep(object)
}

// decode reads an object that the path names.
func (w *writing) decode(body []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(body, &object.Object); err != nil || object.Object == nil {
		return nil, apierrors.NewBadRequest("the body is no JSON object")
	}
	return object, w.check(object)
}

func (w *writing) check(object *unstructured.Unstructured) error {
	switch {
	case object.GetKind() != w.served.kind, object.GroupVersionKind().GroupVersion() != w.named.version:
		return apierrors.NewBadRequest(fmt.Sprintf("the object is a %s %s, the path names %s at %s",
			object.GetAPIVersion(), object.GetKind(), w.served.plural, w.named.version))
	case object.GetName() == "":
		return apierrors.NewBadRequest("metadata.name is missing; a name is not generated here")
	case w.named.name.Name != "" && object.GetName() != w.named.name.Name:
		return apierrors.NewBadRequest("the name of the object does not match the name on the URL")
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(w.named.name.Namespace)
	}
	if object.GetNamespace() != w.named.name.Namespace {
		return apierrors.NewBadRequest("the namespace of the object does not match the namespace on the request")
	}
	return nil
}

// keep puts the object in, and into the folder of the state; a dry run does neither.
func (w *writing) keep(object *unstructured.Unstructured) error {
	if w.dryRun {
		encodeSecret(object)
		return nil
	}
	w.store.put(object)
	if object.GetKind() == "CustomResourceDefinition" {
		if defined := resourceOfDefinition(object); defined != nil {
			w.store.serve(defined)
		}
	}
	return w.store.save(object)
}

// forget takes the live object out. With a CRD its objects go.
func (w *writing) forget() error {
	if w.dryRun {
		return nil
	}
	w.store.revision++
	delete(w.store.objects[w.served.groupResource()], w.named.name)
	if err := w.store.saveDeleted(w.live); err != nil || w.live.GetKind() != "CustomResourceDefinition" {
		return err
	}
	defined := resourceOfDefinition(w.live)
	if defined == nil {
		return nil
	}
	for _, object := range w.store.objects[defined.groupResource()] {
		if err := w.store.saveDeleted(object); err != nil {
			return err
		}
	}
	delete(w.store.objects, defined.groupResource())
	delete(w.store.resources, defined.groupResource())
	return nil
}
