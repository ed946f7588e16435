package compose

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// maxConfigMap is how many bytes Kubernetes lets a ConfigMap hold.
const maxConfigMap = 1 << 20

// steps are the cluster's: source, values, release.
func (d *clusterDecision) steps(cluster map[string]any) ([]clustermanager.Step, error) {
	text, err := yaml.Marshal(cluster)
	if err != nil {
		return nil, clustermanager.Refuse("%s: values cannot be written as YAML: give a JSON object", d.named())
	}
	if len(text) > maxConfigMap {
		return nil, clustermanager.Refuse("%s: values has %d bytes as YAML, and a ConfigMap holds %d: give less", d.named(), len(text), maxConfigMap)
	}
	objects := clustermanager.ClusterRelease(d.survey.Cluster)
	source, values, release := d.object(objects.Source), d.object(objects.Values), d.object(objects.Release)
	source.Object["spec"] = ociRepositorySpec(catalog.Source{URL: catalog.ReleaseChartURL(d.request.Provider), Tag: d.release.Version})
	values.Object["data"] = map[string]any{clustermanager.ValuesKey: string(text)}
	release.Object["spec"] = d.releaseSpec(objects)
	var steps []clustermanager.Step
	for _, object := range []*unstructured.Unstructured{source, values, release} {
		steps = append(steps, clustermanager.Step{Verb: clustermanager.Ensure, Lane: clustermanager.Declared, Object: object})
	}
	return steps, nil
}

// object starts one of the cluster's objects. No Cluster owns them: they make it.
func (d *clusterDecision) object(reference clustermanager.ObjectReference) *unstructured.Unstructured {
	cluster := d.survey.Cluster
	cluster.UID = ""
	return owned(cluster, reference, clusterLabels(cluster, clustermanager.ReleaseChartPrefix+d.request.Provider))
}

func clusterLabels(cluster clustermanager.Cluster, chart string) map[string]string {
	return map[string]string{
		clustermanager.LabelManagedBy:    clustermanager.ManagedBy,
		clustermanager.LabelChart:        chart,
		clustermanager.LabelCluster:      cluster.Name,
		clustermanager.LabelOrganization: cluster.Organization,
	}
}

func (d *clusterDecision) releaseSpec(objects clustermanager.ClusterObjects) map[string]any {
	spec := helmReleaseSpec(objects.Source.Name, objects.Release.Name)
	if account := d.survey.Settings.TenantServiceAccount; account != "" {
		spec["serviceAccountName"] = account
	}
	from := func(name string) map[string]any {
		return map[string]any{"kind": "ConfigMap", "name": name, "valuesKey": clustermanager.ValuesKey}
	}
	spec["valuesFrom"] = []any{from(clustermanager.InstallationValues), from(objects.Values.Name)}
	return spec
}

// guardOwnership lets a step touch what does not exist or is this cluster's.
func (d *clusterDecision) guardOwnership(steps []clustermanager.Step) error {
	for _, step := range steps {
		reference := step.Reference()
		reading := d.survey.Live[clustermanager.LiveKey(reference)]
		live, known := reading.Get()
		switch {
		case !known:
			return clustermanager.Refuse("%s: whether it exists and whose it is could not be read: %s; see to that, then call again", reference, reading.Reason())
		case live == nil:
			continue
		case live.Labels[clustermanager.LabelManagedBy] != clustermanager.ManagedBy:
			return clustermanager.Refuse("%s: it exists and create_cluster did not make it (%s): choose another cluster name, or remove it first", reference, ownerOf(*live))
		}
		if theirs := otherLabels(step.Object.GetLabels(), live.Labels); len(theirs) > 0 {
			return clustermanager.Refuse("%s: it exists and belongs to another release of ours (%s): choose another cluster name, or name the provider and organization that it has", reference, strings.Join(theirs, ", "))
		}
		if err := d.guardInventory(reference, live.InInventoryOf); err != nil {
			return err
		}
	}
	return d.guardKustomization()
}

// ownerOf says whose a live object is, as far as its labels tell.
func ownerOf(live clustermanager.LiveObject) string {
	kustomization := clustermanager.NamespacedName{
		Namespace: live.Labels[clustermanager.LabelKustomizationNamespace], Name: live.Labels[clustermanager.LabelKustomizationName],
	}
	switch manager := live.Labels[clustermanager.LabelManagedBy]; {
	case live.InInventoryOf != nil:
		return "Kustomization " + live.InInventoryOf.String() + " applies it"
	case kustomization.Name != "":
		return "its labels name Kustomization " + kustomization.String()
	case manager != "":
		return "it is managed by " + manager
	}
	return "its owner is unknown"
}

// guardInventory: what a Kustomization applies is changed in its repository alone.
func (d *clusterDecision) guardInventory(reference clustermanager.ObjectReference, inventory *clustermanager.NamespacedName) error {
	target, known := d.survey.Target.Get()
	switch {
	case inventory == nil:
		return nil
	case d.request.Mode != clustermanager.ModeCommit:
		return clustermanager.Refuse("%s: Kustomization %s applies it from git: use mode %s", reference, inventory, clustermanager.ModeCommit)
	case !known, target.Brings() && target.Placement.Name == *inventory:
		return nil
	}
	return clustermanager.Refuse("%s: Kustomization %s applies it, and this cluster's files belong to another one: change it in the repository behind that", reference, inventory)
}

// guardKustomization keeps the cluster's Flux Kustomization from being one that somebody else applies.
func (d *clusterDecision) guardKustomization() error {
	target, known := d.survey.Target.Get()
	if !known || !target.Brings() || d.request.Mode != clustermanager.ModeCommit {
		return nil
	}
	reading, asked := d.survey.Live[clustermanager.LiveKey(target.Brought())]
	live, known := reading.Get()
	switch {
	case !asked || known && live == nil:
		return nil
	case !known:
		return clustermanager.Refuse("%s: whether it exists and whose it is could not be read: %s; see to that, then call again", target.Brought(), reading.Reason())
	}
	owner := clustermanager.NamespacedName{
		Namespace: live.Labels[clustermanager.LabelKustomizationNamespace], Name: live.Labels[clustermanager.LabelKustomizationName],
	}
	if owner != target.Kustomization {
		return clustermanager.Refuse("%s: it exists and Kustomization %s does not apply it (%s): choose another cluster name, or remove it first", target.Brought(), target.Kustomization, ownerOf(*live))
	}
	return nil
}

// target is the survey's, with the cluster's Flux Kustomization.
func (d *clusterDecision) target() clustermanager.Reading[clustermanager.Target] {
	target, known := d.survey.Target.Get()
	if !known || target.Placement == nil {
		return d.survey.Target
	}
	placement := *target.Placement
	placement.Kustomization = fluxKustomization(target)
	target.Placement = &placement
	return clustermanager.Known(target)
}

// inherited are the fields that a cluster's Flux Kustomization takes from its organization's, each unless it is empty.
var inherited = []string{
	"interval", "timeout", "serviceAccountName", "decryption.provider", "decryption.secretRef.name",
	"sourceRef.kind", "sourceRef.name", "sourceRef.namespace",
}

// fluxKustomization applies the cluster's directory as the organization's Kustomization applies its own, and prunes. It
// substitutes nothing: that would rewrite ${…} in a person's values.
func fluxKustomization(target clustermanager.Target) map[string]any {
	spec := map[string]any{"path": "./" + target.Placement.Directory, "prune": true}
	for _, field := range inherited {
		path := strings.Split(field, ".")
		if value := text(target.Spec, path...); value != "" {
			set(spec, value, path...)
		}
	}
	if text(spec, "decryption", "provider") == "" {
		delete(spec, "decryption")
	}
	name := target.Placement.Name
	return map[string]any{
		"apiVersion": clustermanager.KustomizationAPI.String(), "kind": "Kustomization",
		"metadata": map[string]any{"name": name.Name, "namespace": name.Namespace},
		"spec":     spec,
	}
}

// installationName is how a sentence names the installation's own cluster.
func installationName(settings clustermanager.Settings) string {
	if settings.Installation == "" {
		return "the installation's own cluster"
	}
	return fmt.Sprintf("the installation's own cluster %s", settings.Installation)
}
