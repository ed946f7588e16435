package survey

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// liveObjects reads what is there under the references' names.
func (r *Reader) liveObjects(ctx context.Context, references []clustermanager.ObjectReference) map[string]clustermanager.Reading[*clustermanager.LiveObject] {
	found := map[string]clustermanager.Reading[*clustermanager.LiveObject]{}
	var mu sync.Mutex
	var reads errgroup.Group
	for _, reference := range references {
		reads.Go(func() error {
			live := clustermanager.Read(r.live(ctx, reference))
			mu.Lock()
			defer mu.Unlock()
			found[clustermanager.LiveKey(reference)] = live
			return nil
		})
	}
	_ = reads.Wait()
	return found
}

// objectsOfPool are the objects that a pool's composition may write, and the MachinePool that the pool's chart would make.
// Without serving, the slice's release alone says whether we serve.
func (r *Reader) objectsOfPool(cluster clustermanager.Cluster, pool string, serving bool) []clustermanager.ObjectReference {
	references := slices.Concat(clustermanager.NodePool(cluster, pool).References(), clustermanager.OperatorObjects(cluster).References(),
		[]clustermanager.ObjectReference{clustermanager.MachinePoolReference(cluster, pool)})
	if !serving {
		return append(references, clustermanager.SliceReference(cluster))
	}
	return append(references, r.objectsOfServing(cluster)...)
}

// objectsOfServing are the objects that a composition of model serving may write or remove.
func (r *Reader) objectsOfServing(cluster clustermanager.Cluster) []clustermanager.ObjectReference {
	references := append(clustermanager.SliceObjects(cluster).References(), clustermanager.BackendReference(cluster, r.options.Settings))
	if !cluster.Own {
		references = append(references, clustermanager.SharedBackendReference(r.options.Settings))
	}
	return references
}

// live reads an object's labels and whether the Kustomization that its labels name has it in its inventory; nil: it
// does not exist.
func (r *Reader) live(ctx context.Context, reference clustermanager.ObjectReference) (*clustermanager.LiveObject, error) {
	found, err := r.metadataOf(ctx, reference)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.liveOf(ctx, reference, found)
}

// liveOf is live for an object that was read already.
func (r *Reader) liveOf(ctx context.Context, reference clustermanager.ObjectReference, found metav1.Object) (*clustermanager.LiveObject, error) {
	live := &clustermanager.LiveObject{Reference: reference, Labels: found.GetLabels()}
	if deleted := found.GetDeletionTimestamp(); deleted != nil {
		live.DeletedAt = new(deleted.UTC())
	}
	owner := clustermanager.NamespacedName{
		Namespace: live.Labels[clustermanager.LabelKustomizationNamespace],
		Name:      live.Labels[clustermanager.LabelKustomizationName],
	}
	if owner.Name == "" || owner.Namespace == "" {
		return live, nil
	}
	inventory, err := r.get(ctx, kustomizationNoun, owner.Namespace, owner.Name)
	if apierrors.IsNotFound(err) {
		return live, nil
	}
	if err != nil {
		return nil, err
	}
	for _, entry := range mapsAt(inventory.Object, "status", "inventory", "entries") {
		if textAt(entry, "id") == live.Reference.InventoryID() {
			live.InInventoryOf = &owner
		}
	}
	return live, nil
}

// metadataOf reads an object's metadata. A Secret's content is not asked for; another kind's is, since other facts come
// from the same object.
func (r *Reader) metadataOf(ctx context.Context, reference clustermanager.ObjectReference) (metav1.Object, error) {
	of := nounOf(reference)
	if of.kind == secretNoun.kind {
		return r.getMetadata(ctx, of, reference.Namespace, reference.Name)
	}
	return r.get(ctx, of, reference.Namespace, reference.Name)
}
