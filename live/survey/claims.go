package survey

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// zoneKeys are the keys of a volume's node affinity that name its zone, the one that counts first.
var zoneKeys = []string{"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"}

const gibibyte = 1 << 30

// cacheClaims are the claims of the model cache in the cluster's serving namespace. What of a claim, its volume or its
// storage class cannot be read is said at the claim.
func (r *Reader) cacheClaims(ctx context.Context, cluster clustermanager.Cluster) ([]clustermanager.CacheClaim, error) {
	target, err := r.target(ctx, cluster)
	if err != nil {
		return nil, err
	}
	listed, err := target.listAny(ctx, claimNoun, r.options.Settings.ServingNamespace, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	base := r.options.Settings.ServingCacheClaim
	listed = slices.DeleteFunc(slices.Clone(listed), func(object unstructured.Unstructured) bool {
		return object.GetName() != base && !strings.HasPrefix(object.GetName(), base+"-")
	})
	found := make([]clustermanager.CacheClaim, len(listed))
	var reads errgroup.Group
	reads.SetLimit(maxParallel)
	for index := range listed {
		reads.Go(func() error {
			found[index] = target.claimOf(ctx, &listed[index])
			return nil
		})
	}
	_ = reads.Wait()
	slices.SortFunc(found, func(a, b clustermanager.CacheClaim) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

func (r *Reader) claimOf(ctx context.Context, object *unstructured.Unstructured) clustermanager.CacheClaim {
	claim := clustermanager.CacheClaim{
		Namespace: object.GetNamespace(), Name: object.GetName(),
		Phase: textAt(object.Object, "status", "phase"), Volume: textAt(object.Object, "spec", "volumeName"),
		StorageClass: textAt(object.Object, "spec", "storageClassName"),
		Capacity: cmp.Or(textAt(object.Object, "status", "capacity", "storage"),
			textAt(object.Object, "spec", "resources", "requests", "storage")),
	}
	if err := r.malformed(object); err != nil {
		claim.Error = err.Error()
		return claim
	}
	claim.CapacityGiB = quantity(claim.Capacity) / gibibyte
	if created := object.GetCreationTimestamp(); !created.IsZero() {
		claim.Created = new(created.UTC())
	}
	var reads errgroup.Group
	reads.Go(func() error { r.volume(ctx, &claim); return nil })
	reads.Go(func() error { r.tier(ctx, &claim, object.GetAnnotations()); return nil })
	_ = reads.Wait()
	return claim
}

// volume fills what the volume of a bound claim tells.
func (r *Reader) volume(ctx context.Context, claim *clustermanager.CacheClaim) {
	if !claim.Bound() {
		return
	}
	volume, err := r.get(ctx, volumeNoun, "", claim.Volume)
	if err != nil {
		claim.Error = err.Error()
		return
	}
	claim.ReclaimPolicy = textAt(volume.Object, "spec", "persistentVolumeReclaimPolicy")
	for _, key := range zoneKeys {
		if claim.Zone = zoneOf(volume, key); claim.Zone != "" {
			return
		}
	}
}

// zoneOf is the first value of the first expression with the key in a volume's required node affinity.
func zoneOf(volume *unstructured.Unstructured, key string) string {
	for _, term := range mapsAt(volume.Object, "spec", "nodeAffinity", "required", "nodeSelectorTerms") {
		for _, expression := range mapsAt(term, "matchExpressions") {
			values, _, _ := unstructured.NestedStringSlice(expression, "values")
			if textAt(expression, "key") == key && len(values) > 0 {
				return values[0]
			}
		}
	}
	return ""
}

// tier fills what a claim's volume costs by: of its storage class where that can be read, else of its annotations.
func (r *Reader) tier(ctx context.Context, claim *clustermanager.CacheClaim, annotations map[string]string) {
	note := "the claim names no storage class"
	if claim.StorageClass != "" {
		class, err := r.get(ctx, storageClassNoun, "", claim.StorageClass)
		if err == nil {
			parameters := mapAt(class.Object, "parameters")
			tier, fault := tierOf(textAt(parameters, "type"), textAt(parameters, "iops"), textAt(parameters, "throughput"))
			if fault != "" {
				claim.TierNote = clustermanager.ReferenceTo(class).String() + ": " + fault
				return
			}
			claim.Tier, claim.TierSource = tier, "storageClass"
			return
		}
		note = err.Error()
	}
	if annotations[annotationVolumeType] == "" {
		claim.TierNote = note + ", and the claim has no annotation " + annotationVolumeType
		return
	}
	tier, fault := tierOf(annotations[annotationVolumeType], annotations[annotationVolumeIOPS], annotations[annotationVolumeThroughput])
	if fault != "" {
		claim.TierNote = note + ", and of the claim's annotations " + strings.TrimPrefix(fault, "its ")
		return
	}
	claim.Tier, claim.TierSource = tier, "claimAnnotations"
}

// tierOf is a tier in its parts, or what of it cannot be read. A number that is left out is the type's baseline.
func tierOf(kind, iops, throughput string) (*clustermanager.VolumeTier, string) {
	if kind == "" {
		return nil, "it names no type"
	}
	tier := &clustermanager.VolumeTier{Type: kind}
	for _, part := range []struct {
		name, written string
		into          *int
	}{{"iops", iops, &tier.IOPS}, {"throughput", throughput, &tier.ThroughputMiBs}} {
		read, err := strconv.Atoi(cmp.Or(part.written, "0"))
		if err != nil || read < 0 {
			return nil, fmt.Sprintf("its %s %q is no count", part.name, part.written)
		}
		*part.into = read
	}
	return tier, ""
}

// quantity is a Kubernetes quantity as a number; 0 where it is none.
func quantity(value any) float64 {
	switch value := value.(type) {
	case string:
		parsed, err := resource.ParseQuantity(value)
		if err == nil {
			return parsed.AsApproximateFloat64()
		}
	case int64:
		return float64(value)
	}
	return 0
}
