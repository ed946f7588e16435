package survey

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// liveNodePool reads what is there under the names of a pool's objects, the cluster's serving slice, and the MachinePool that the
// chart would make.
func (r *Reader) liveNodePool(ctx context.Context, cluster clustermanager.Cluster, pool string) map[string]clustermanager.Reading[*clustermanager.LiveObject] {
	references := append(clustermanager.NodePool(cluster, pool).References(),
		clustermanager.SliceReference(cluster), clustermanager.MachinePoolReference(cluster, pool))
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

// live reads an object's metadata and whether the Kustomization that its labels name has it in its inventory; nil: it
// does not exist.
func (r *Reader) live(ctx context.Context, reference clustermanager.ObjectReference) (*clustermanager.LiveObject, error) {
	object, err := r.getMetadata(ctx, nounOf(reference), reference.Namespace, reference.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	live := &clustermanager.LiveObject{Reference: reference, Labels: object.GetLabels()}
	owner := clustermanager.NamespacedName{
		Namespace: object.GetLabels()[clustermanager.LabelKustomizationNamespace],
		Name:      object.GetLabels()[clustermanager.LabelKustomizationName],
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
