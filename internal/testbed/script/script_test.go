package script_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/clustermanager/cluster-manager/internal/testbed"
	"github.com/clustermanager/cluster-manager/internal/testbed/script"
)

var eventsResource = schema.GroupVersionResource{Version: "v1", Resource: "events"}

type bench struct {
	*testing.T
	*testbed.Client
}

func newBench(t *testing.T, sets ...testbed.Set) (bench, *testbed.Bed) {
	t.Helper()
	bed := testbed.Start(t, testbed.Options{Definitions: sets})
	client, err := testbed.NewClient(bed.Admin())
	if err != nil {
		t.Fatal(err)
	}
	return bench{t, client}, bed
}

func (b bench) object(text string) *unstructured.Unstructured {
	b.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		b.Fatal(err)
	}
	return object
}

func (b bench) apply(text string) *unstructured.Unstructured {
	b.Helper()
	object := b.object(text)
	if err := b.Apply(b.Context(), object); err != nil {
		b.Fatal(err)
	}
	return object
}

func (b bench) delete(object *unstructured.Unstructured) error {
	b.Helper()
	resource, err := b.Of(object)
	if err != nil {
		b.Fatal(err)
	}
	return resource.Delete(b.Context(), object.GetName(), metav1.DeleteOptions{})
}

// expect waits until a path of an object is as wanted.
func (b bench) expect(object *unstructured.Unstructured, want any, path ...string) {
	b.Helper()
	err := b.Until(b.Context(), object, func(found *unstructured.Unstructured) error {
		got, _, _ := unstructured.NestedFieldNoCopy(found.Object, path...)
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("%v (-want +got):\n%s", path, diff)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// condition waits until a condition has a status.
func (b bench) condition(object *unstructured.Unstructured, kind, status string) {
	b.Helper()
	err := b.Until(b.Context(), object, func(found *unstructured.Unstructured) error {
		list, _, _ := unstructured.NestedSlice(found.Object, "status", "conditions")
		for _, one := range list {
			if fields := one.(map[string]any); fields["type"] == kind && fields["status"] == status {
				return nil
			}
		}
		return fmt.Errorf("condition %s is not %s: %v", kind, status, list)
	})
	if err != nil {
		b.Fatal(err)
	}
}

func (b bench) gone(object *unstructured.Unstructured) {
	b.Helper()
	resource, err := b.Of(object)
	if err != nil {
		b.Fatal(err)
	}
	err = testbed.Eventually(b.Context(), func(ctx context.Context) error {
		_, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	})
	if err != nil {
		b.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
}

const pool = `
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: wc1-gpu-l4, namespace: default}
spec:
  clusterName: wc1
  template:
    spec:
      clusterName: wc1
      bootstrap: {dataSecretName: x}
      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSMachinePool, name: wc1-gpu-l4}
`

func TestNodesComeAndGo(t *testing.T) {
	b, bed := newBench(t, testbed.ClusterAPI, testbed.AWS, testbed.Karpenter)
	karpenter := script.NewKarpenter(t, bed.Admin())
	script.MachinePools(t, bed.Admin(), bed.Admin())
	machines := b.apply(pool)
	claimOf := func(name string) *unstructured.Unstructured {
		return b.object("{apiVersion: karpenter.sh/v1, kind: NodeClaim, metadata: {name: " + name + "}}")
	}
	nodeOf := func(name string) *unstructured.Unstructured {
		return b.object("{apiVersion: v1, kind: Node, metadata: {name: " + name + "}}")
	}
	b.expect(machines, int64(0), "status", "replicas")

	first := karpenter.Claim("wc1-gpu-l4", "g6.xlarge", "eu-central-1a")
	b.condition(claimOf(first), "Ready", "True")
	b.expect(claimOf(first), first, "status", "nodeName")
	b.expect(nodeOf(first), "1", "status", "allocatable", "nvidia.com/gpu")
	b.expect(machines, int64(1), "status", "readyReplicas")

	const message = "InsufficientInstanceCapacity: We currently do not have sufficient g6.xlarge capacity in the Availability Zone you requested (eu-central-1a)"
	karpenter.Refuse("wc1-gpu-l4", script.Refusal{Reason: "InsufficientCapacityError", Message: message})
	second := karpenter.Claim("wc1-gpu-l4", "g6.xlarge", "eu-central-1a")
	b.condition(claimOf(second), "Launched", "False")
	events, err := b.Resource(eventsResource).Namespace("default").List(t.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.kind=NodeClaim,type=Warning",
	})
	if err != nil || len(events.Items) != 1 || events.Items[0].Object["message"] != "NodeClaim "+second+" event: "+message {
		t.Errorf("events: %v %v", events, err)
	}
	b.gone(nodeOf(second))
	karpenter.Allow("wc1-gpu-l4")
	b.condition(claimOf(second), "Ready", "True")
	b.expect(machines, int64(2), "spec", "replicas")

	karpenter.HoldAt(script.Draining)
	if err := b.delete(claimOf(first)); err != nil {
		t.Fatal(err)
	}
	b.condition(claimOf(first), "Drained", "Unknown")
	karpenter.HoldAt(script.InstanceTerminating)
	b.condition(claimOf(first), "InstanceTerminating", "True")
	b.condition(claimOf(first), "Drained", "True")
	b.expect(machines, int64(2), "status", "replicas")
	karpenter.HoldAt(script.Gone)
	b.gone(claimOf(first))
	b.gone(nodeOf(first))
	b.expect(machines, int64(1), "status", "replicas")

	karpenter.Refuse("wc1-gpu-l4", script.Refusal{Reason: "InsufficientCapacityError", Message: message, Forgotten: true})
	b.gone(claimOf(karpenter.Claim("wc1-gpu-l4", "g6.xlarge", "eu-central-1a")))
}

const controller = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: llmisvc-controller-manager, namespace: default, labels: {control-plane: llmisvc-controller-manager}}
spec:
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: manager, image: manager}]}}
`

func TestModelsAreServed(t *testing.T) {
	b, bed := newBench(t, testbed.Karpenter, testbed.KServe, testbed.GPUOperator)
	karpenter := script.NewKarpenter(t, bed.Admin())
	script.GPUOperator(t, bed.Admin(), "kube-system")
	script.KServe(t, bed.Admin())

	policy := b.apply(`{apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: cluster-policy}, spec: {operator: {defaultRuntime: containerd},
  daemonsets: {}, driver: {}, toolkit: {}, dcgm: {}, dcgmExporter: {}, devicePlugin: {}, gfd: {}, nodeStatusExporter: {}}}`)
	b.expect(policy, "ready", "status", "state")
	plugin := b.object("{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: nvidia-device-plugin-daemonset, namespace: kube-system}}")
	b.expect(plugin, int64(0), "status", "desiredNumberScheduled")

	config := b.apply(`{apiVersion: serving.kserve.io/v1alpha1, kind: LLMInferenceServiceConfig, metadata: {name: small, namespace: default},
  spec: {template: {containers: [{name: main, image: main}]}}}`)
	service := b.apply(`{apiVersion: serving.kserve.io/v1alpha1, kind: LLMInferenceService, metadata: {name: llama, namespace: default},
  spec: {model: {uri: "hf://a/b", name: a}}}`)
	manager := b.apply(controller)
	b.expect(manager, int64(1), "status", "readyReplicas")
	b.condition(service, "Ready", "False")
	pod := b.object("{apiVersion: v1, kind: Pod, metadata: {name: llama-kserve, namespace: default}}")
	b.expect(pod, "Pending", "status", "phase")
	webhook := b.object("{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: llminferenceservice.serving.kserve.io}}")
	b.expect(webhook, webhook.GetName(), "metadata", "name")
	endpoints := b.object("{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: llmisvc-webhook-server-service, namespace: default}}")
	b.expect(endpoints, "llmisvc-webhook-server-service", "metadata", "labels", "kubernetes.io/service-name")

	node := karpenter.Claim("wc1-gpu-l4", "g6.xlarge", "eu-central-1a")
	b.expect(pod, node, "spec", "nodeName")
	b.expect(pod, "Running", "status", "phase")
	b.condition(service, "Ready", "True")
	b.expect(plugin, int64(1), "status", "numberReady")

	b.expect(config, []any{"serving.kserve.io/llmisvcconfig-finalizer"}, "metadata", "finalizers")
	configs, err := b.Of(config)
	if err != nil {
		t.Fatal(err)
	}
	err = testbed.Eventually(t.Context(), func(ctx context.Context) error {
		err := configs.Delete(ctx, config.GetName(), metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsForbidden(err) {
			return nil
		}
		return errors.Join(errors.New("a config is deleted while the controller runs"), err)
	})
	if err != nil {
		t.Error(err)
	}
	if err := b.delete(service); err != nil {
		t.Fatal(err)
	}
	b.gone(service)
	b.gone(pod)
	if err := b.delete(manager); err != nil {
		t.Fatal(err)
	}
	b.gone(webhook)
	b.gone(endpoints)
	err = testbed.Eventually(t.Context(), func(context.Context) error { return b.delete(config) })
	if err != nil {
		t.Errorf("deleting a config without a controller: %v", err)
	}
	b.expect(config, []any{"serving.kserve.io/llmisvcconfig-finalizer"}, "metadata", "finalizers")
	if err := b.delete(policy); err != nil {
		t.Fatal(err)
	}
	b.gone(plugin)
}

func TestModelManagerReadsStrictly(t *testing.T) {
	b, bed := newBench(t)
	manager := script.NewModelManager(t, bed.Admin(), "default", "1.11.0")
	const document = `
apiVersion: agent-platform.giantswarm.io/v1alpha1
kind: ModelBackend
metadata: {name: NAME}
spec:
  kind: kserve
  source: cluster-manager
  kserve:
    target: {cluster: local, organization: giantswarm, servingNamespace: model-serving}
    gpuPool: {instances: [{instanceType: g6.xlarge, size: xlarge, vcpu: 4, memoryGiB: 16, gpus: 1, gpuMemoryGiB: 24, usableVcpu: 3.3, usableMemoryGiB: 12.5EXTRA}]}
`
	register := func(name, extra, labels string) *unstructured.Unstructured {
		registered := b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", namespace: default, labels: {" + labels + "}}}")
		registered.Object["data"] = map[string]any{"backend.yaml": strings.NewReplacer("NAME", name, "EXTRA", extra).Replace(document)}
		if err := b.Apply(t.Context(), registered); err != nil {
			t.Fatal(err)
		}
		return registered
	}
	const label = `agent-platform.giantswarm.io/model-backend: "true"`
	register("stranger", "", "")
	plain := register("plain", "", label)
	register("unknown", ", pricePerHour: 1", label)
	register("capable", `, computeCapability: "8.9"`, label)
	err := testbed.Eventually(t.Context(), func(context.Context) error {
		if len(manager.Accepted()) != 1 || len(manager.Refused()) != 2 {
			return fmt.Errorf("accepted %v, refused %v", manager.Accepted(), manager.Refused())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := manager.Accepted()["plain"].Spec.KServe.GPUPool.Instances[0].UsableMemoryGiB; got != 12.5 {
		t.Errorf("usable memory is %v", got)
	}
	for name, words := range map[string]string{"unknown": "pricePerHour", "capable": "computeCapability"} {
		if !strings.Contains(manager.Refused()[name], words) {
			t.Errorf("%s: refused for %q", name, manager.Refused()[name])
		}
	}
	if err := b.delete(plain); err != nil {
		t.Fatal(err)
	}
	err = testbed.Eventually(t.Context(), func(context.Context) error {
		if len(manager.Accepted()) != 0 {
			return errors.New("it is still accepted")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
