package compose

import (
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// secretKey is the key of the values Secret that Flux reads.
const secretKey = "values.yaml"

// steps are the pool's: source, values Secret, release. Without sealed values a Secret of an earlier run is removed
// before anything is written.
func (d *decision) steps() []clustermanager.Step {
	objects := clustermanager.NodePool(d.survey.Cluster, d.request.Name)
	source := clustermanager.Step{Verb: clustermanager.Ensure, Lane: clustermanager.Declared, Object: d.object(objects.Source)}
	source.Object.Object["spec"] = ociRepositorySpec(d.source)
	secret := d.secretStep(objects.Values)
	release := clustermanager.Step{Verb: clustermanager.Ensure, Lane: clustermanager.Declared, Object: d.object(objects.Release)}
	release.Object.Object["spec"] = d.releaseSpec(objects)
	if secret.Verb == clustermanager.Remove {
		return []clustermanager.Step{secret, source, release}
	}
	return []clustermanager.Step{source, secret, release}
}

func (d *decision) object(reference clustermanager.ObjectReference) *unstructured.Unstructured {
	labels := d.labels(clustermanager.ChartGPUNodePool)
	labels[clustermanager.LabelNodePool] = d.request.Name
	return owned(d.survey.Cluster, reference, labels)
}

// releaseSpec turns two of Helm's waits off: the chart's prewarm placeholder is a Job that is meant to run for minutes,
// and a MachinePool goes only when its last instance has ended, which takes longer than Helm's default.
func (d *decision) releaseSpec(objects clustermanager.NodePoolObjects) map[string]any {
	spec := helmReleaseSpec(objects.Source.Name, objects.Release.Name)
	set(spec, true, "install", "disableWaitForJobs")
	set(spec, true, "upgrade", "disableWaitForJobs")
	set(spec, true, "uninstall", "disableWait")
	if account := d.survey.Settings.TenantServiceAccount; account != "" {
		spec["serviceAccountName"] = account
	}
	if d.values.sealed() {
		spec["valuesFrom"] = []any{map[string]any{"kind": "Secret", "name": objects.Values.Name, "valuesKey": secretKey}}
	}
	spec["values"] = map[string]any{"cluster": d.clusterBlock(), "pool": d.poolBlock()}
	return spec
}

func (d *decision) clusterBlock() map[string]any {
	block := map[string]any{
		"name":              d.survey.Cluster.Name,
		"organization":      d.survey.Cluster.Organization,
		"baseDomain":        d.values.baseDomain,
		"managementCluster": d.values.managementCluster,
		"registryMirrors":   d.values.mirrors,
	}
	if d.values.proxy != nil {
		block["proxy"] = d.values.proxy
	}
	if d.values.ipamMode != "" {
		set(block, d.values.ipamMode, "cilium", "ipamMode")
	}
	return block
}

func (d *decision) poolBlock() map[string]any {
	block := map[string]any{
		"name":              d.request.Name,
		"kubernetesVersion": d.pins.Kubernetes,
		"machineImage":      d.pins.MachineImage(),
		"accelerator":       d.request.Accelerator,
		"maxSize":           map[string]any{"nvidia.com/gpu": strconv.Itoa(*d.request.MaxGPUs)},
	}
	if len(d.request.Sizes) > 0 {
		block["sizes"] = anyList(d.request.Sizes)
	}
	if d.request.Prewarm {
		block["prewarm"] = map[string]any{"enabled": true}
	}
	if len(d.zones) > 0 {
		block["zones"] = anyList(d.zones)
	}
	if len(d.prefetch) > 0 {
		block["prefetchImages"] = anyList(d.prefetch)
	}
	return block
}

// secretStep writes the values Secret, or removes it when nothing is to be sealed.
func (d *decision) secretStep(reference clustermanager.ObjectReference) clustermanager.Step {
	step := clustermanager.Step{Verb: clustermanager.Remove, Lane: clustermanager.Declared, Object: d.object(reference)}
	if !d.values.sealed() {
		return step
	}
	step.Verb = clustermanager.Ensure
	step.Object.Object["type"] = "Opaque"
	step.Object.Object["stringData"] = map[string]any{secretKey: clustermanager.Masked}
	step.SecretData = map[string]clustermanager.Secret{secretKey: d.values.sealedYAML()}
	return step
}

// sealedYAML is the text of the values Secret.
func (v clusterValues) sealedYAML() clustermanager.Secret {
	cluster := map[string]any{}
	for endpoint, credentials := range v.credentials {
		set(cluster, revealed(credentials), "registryCredentials", endpoint)
	}
	if len(v.sealedProxy) > 0 {
		cluster["proxy"] = revealed(v.sealedProxy)
	}
	// Maps of strings always encode.
	text, _ := yaml.Marshal(map[string]any{"cluster": cluster})
	return clustermanager.NewSecret(string(text))
}

func revealed(secrets map[string]clustermanager.Secret) map[string]any {
	plain := map[string]any{}
	for key, secret := range secrets {
		plain[key] = secret.Reveal()
	}
	return plain
}

func anyList(list []string) []any {
	entries := make([]any, 0, len(list))
	for _, entry := range list {
		entries = append(entries, entry)
	}
	return entries
}

// region is the cluster's region, for prices.
func (b *base) region() clustermanager.Reading[string] {
	network, known := b.survey.Network.Get()
	switch {
	case !known:
		return clustermanager.Unknown[string](b.survey.Network.Reason())
	case network.Region == "":
		return clustermanager.Unknown[string]("the cluster's infrastructure object names none")
	}
	return clustermanager.Known(network.Region)
}
