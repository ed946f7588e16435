package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

func TestObjects(t *testing.T) {
	plan := steps(credentials("wc1-gpu-l4-values"), pool("wc1-gpu-l4"), removePool("wc1-old"))
	// A composer that forgot to mask must not reach an answer.
	_ = unstructured.SetNestedField(plan.Steps[0].Object.Object, madeUpPassword, "data", "forgotten")
	before := steps()
	for _, step := range plan.Steps {
		step.Object = step.Object.DeepCopy()
		before.Steps = append(before.Steps, step)
	}

	objects := Objects(plan, clustermanager.Target{})

	var kinds []string
	for _, object := range objects {
		kinds = append(kinds, object.GetKind())
		if len(object.GetOwnerReferences()) > 0 || object.Object["status"] != nil || len(object.GetAnnotations()) > 0 {
			t.Errorf("%s has ownerReferences, a status or annotations", clustermanager.ReferenceTo(object))
		}
	}
	if diff := cmp.Diff([]string{"Secret", "OCIRepository", "HelmRelease"}, kinds); diff != "" {
		t.Error(diff)
	}
	text, err := YAML(objects...)
	if err != nil || strings.Contains(string(text), madeUpPassword) {
		t.Errorf("%v, or a plain value in\n%s", err, text)
	}
	if got := objects[0].Object["stringData"]; !cmp.Equal(got, map[string]any{"values.yaml": clustermanager.Masked}) {
		t.Errorf("stringData is %v", got)
	}
	if diff := cmp.Diff(before, plan, cmp.Comparer(clustermanager.Secret.Equal)); diff != "" {
		t.Errorf("the plan was changed:\n%s", diff)
	}
}

func TestObjectsSubstitution(t *testing.T) {
	secret := func(value string) clustermanager.Plan {
		plan := steps(credentials("x"))
		plan.Steps[0].SecretData["values.yaml"] = clustermanager.NewSecret(value)
		return plan
	}
	values := func(field any) clustermanager.Plan {
		return steps(declare(clustermanager.Ensure, object("v1", "ConfigMap", "x", map[string]any{"data": field})))
	}
	for _, test := range []struct {
		name string
		plan clustermanager.Plan
		want bool
	}{
		{"an expression", values(map[string]any{"a": "x ${b} y"}), true},
		{"an unclosed expression", values(map[string]any{"a": "${"}), true},
		{"in a list", values([]any{"a", map[string]any{"b": []any{"${c}"}}}), true},
		{"in a key", values(map[string]any{"${a}": "b"}), true},
		{"a doubled dollar sign, which would be halved", values(map[string]any{"a": "pa$$"}), true},
		{"a dollar sign alone", values(map[string]any{"a": "$b $(c) {d} $ {e}", "f": int64(1), "g": nil, "h": true}), false},
		{"a Secret's plain value", secret("password: ${x}"), true},
		{"a Secret's plain value without", secret("password: x$"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			annotation := Objects(test.plan, clustermanager.Target{Substitutes: true})[0].GetAnnotations()[clustermanager.AnnotationSubstitute]
			if got := annotation == "disabled"; got != test.want {
				t.Errorf("annotation is %q, want disabled: %v", annotation, test.want)
			}
			if annotations := Objects(test.plan, clustermanager.Target{})[0].GetAnnotations(); len(annotations) > 0 {
				t.Errorf("annotated without substitution: %v", annotations)
			}
		})
	}
}

func TestObjectsKeepsAnnotations(t *testing.T) {
	release := helmRelease("x")
	release.SetAnnotations(map[string]string{"a": "${b}"})
	got := Objects(steps(declare(clustermanager.Ensure, release)), clustermanager.Target{Substitutes: true})[0].GetAnnotations()
	if diff := cmp.Diff(map[string]string{"a": "${b}", clustermanager.AnnotationSubstitute: "disabled"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestYAML(t *testing.T) {
	content, err := YAML(ociRepository("a"), ociRepository("b"))
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(content), "---\n")
	if len(documents) != 2 || !strings.HasSuffix(string(content), "gpu-node-pool\n") || strings.HasPrefix(string(content), "---") {
		t.Errorf("got\n%s", content)
	}
	var read map[string]any
	if err := yaml.Unmarshal([]byte(documents[1]), &read); err != nil || !cmp.Equal(read, ociRepository("b").Object) {
		t.Errorf("%v: read back %v", err, read)
	}
	if content, err := YAML(); err != nil || len(content) != 0 {
		t.Errorf("of nothing: %q, %v", content, err)
	}
}

// The published default pool, with the ownerReferences of mode apply, has 1734 bytes.
func TestYAMLHasThePublishedLength(t *testing.T) {
	labels := map[string]any{
		"app.kubernetes.io/managed-by": "cluster-manager", "app.kubernetes.io/name": "gpu-node-pool",
		"giantswarm.io/cluster": "wc1", "giantswarm.io/node-pool": "gpu-l4",
	}
	metadata := map[string]any{
		"labels": labels, "name": "wc1-gpu-l4", "namespace": "org-acme",
		"ownerReferences": []any{map[string]any{
			"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "name": "wc1",
			"uid": "6f1c0c1e-8a4a-4c1e-9c3a-000000000001",
		}},
	}
	retries := func(extra map[string]any) map[string]any {
		extra["remediation"] = map[string]any{"retries": int64(3)}
		return extra
	}
	repository := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository", "metadata": metadata,
		"spec": map[string]any{
			"interval": "10m", "ref": map[string]any{"semver": ">=0.8.0 <1.0.0"},
			"url": "oci://gsoci.azurecr.io/charts/giantswarm/gpu-node-pool",
		},
	}}
	release := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": metadata,
		"spec": map[string]any{
			"chartRef": map[string]any{"kind": "OCIRepository", "name": "wc1-gpu-l4"},
			"install":  retries(map[string]any{"disableWaitForJobs": true}),
			"interval": "10m", "releaseName": "wc1-gpu-l4", "serviceAccountName": "automation",
			"uninstall": map[string]any{"disableWait": true},
			"upgrade":   retries(map[string]any{"disableWaitForJobs": true}),
			"values": map[string]any{
				"cluster": map[string]any{
					"baseDomain": "acme.example.io", "cilium": map[string]any{"ipamMode": "kubernetes"},
					"managementCluster": "gazelle", "name": "wc1", "organization": "acme",
					"registryMirrors": map[string]any{"gsoci.azurecr.io": []any{"gsoci.azurecr.io"}},
				},
				"pool": map[string]any{
					"accelerator": "nvidia-l4", "kubernetesVersion": "1.31.4",
					"machineImage": "flatcar-stable-4459.2.1-kube-1.31.4-tooling-1.26.1-gs",
					"maxSize":      map[string]any{"nvidia.com/gpu": "4"}, "name": "gpu-l4",
				},
			},
		},
	}}
	content, err := YAML(repository, release)
	if err != nil || len(content) != 1734 {
		t.Errorf("%v: %d bytes\n%s", err, len(content), content)
	}
	in, err := YAML(Objects(steps(declare(clustermanager.Ensure, repository, release)), clustermanager.Target{})...)
	if err != nil || strings.Contains(string(in), "uid") || strings.Contains(string(in), "ownerReferences") {
		t.Errorf("%v: a file with a UID:\n%s", err, in)
	}
}
