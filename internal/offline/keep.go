package offline

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

type ownerReference = metav1.OwnerReference

// annotationDeleted marks a file of the kept state that stands for an object of the snapshot which was deleted.
const annotationDeleted = "cluster-manager.giantswarm.io/offline-deleted"

// withoutDeleted leaves out the objects that a kept state says are gone.
func withoutDeleted(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool {
		return object.GetAnnotations()[annotationDeleted] != ""
	})
}

// save writes an object into the kept state as it stands.
func (s *store) save(object *unstructured.Unstructured) error {
	if s.folder == "" {
		return nil
	}
	content, err := yaml.Marshal(object.Object)
	if err != nil {
		return err
	}
	of := s.kinds[object.GroupVersionKind().GroupKind()]
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = "cluster-scoped"
	}
	folder := filepath.Join(s.folder, namespace)
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return fmt.Errorf("kept state: %w", err)
	}
	name := filepath.Join(folder, strings.Trim(of.plural+"."+of.group, ".")+"-"+object.GetName()+".yaml")
	// A process that dies while it writes leaves the file as it was; the other name is none of an object's.
	if err := os.WriteFile(name+".new", content, 0o600); err != nil {
		return fmt.Errorf("kept state: %w", err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		return fmt.Errorf("kept state: %w", err)
	}
	return nil
}

func (s *store) saveDeleted(object *unstructured.Unstructured) error {
	stone := &unstructured.Unstructured{Object: map[string]any{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind()}}
	stone.SetNamespace(object.GetNamespace())
	stone.SetName(object.GetName())
	stone.SetAnnotations(map[string]string{annotationDeleted: "true"})
	return s.save(stone)
}

// newUID is another one for each object that is created, also of the same name.
func (s *store) newUID(of clustermanager.ObjectReference) types.UID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s@%d@%d", of.Identity().InventoryID(), s.revision, s.now().UnixNano()))
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}
