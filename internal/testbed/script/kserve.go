package script

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/clustermanager/cluster-manager/internal/testbed"
)

const (
	controllerLabel   = "llmisvc-controller-manager"
	webhookService    = "llmisvc-webhook-server-service"
	configFinalizer   = "serving.kserve.io/llmisvcconfig-finalizer"
	servingFinalizer  = "serving.kserve.io/llmisvc-finalizer"
	configsStay       = "llmisvc-configs-stay"
	servingGroup      = "serving.kserve.io"
	webhookOfServices = "llminferenceservice.serving.kserve.io"
)

var (
	services = resource(servingGroup, "v1alpha1", "llminferenceservices")
	configs  = resource(servingGroup, "v1alpha1", "llminferenceserviceconfigs")
)

// KServe plays KServe's controller of LLMInferenceServices, with what Workloads plays, for as long as a Deployment with its
// label is there: the Service of its webhook has an endpoint, a webhook configuration has a CA bundle, configs get their
// finalizer and cannot be deleted, and a service gets a predictor Pod, which runs once a Node of a pool with a free GPU is
// there. When the Deployment goes, nobody takes finalizers off.
//
// No webhook is called: its configuration says so, and a ValidatingAdmissionPolicy keeps the configs.
func KServe(t testing.TB, config *rest.Config) {
	t.Helper()
	Workloads(t, config)
	kserve := &kserve{newPlayer(t, config)}
	kserve.watch(deployments, kserve.installed, kserve.uninstalled)
	kserve.watch(configs, kserve.config, nil)
	kserve.watch(services, kserve.service, nil)
	kserve.watch(nodes, func(*unstructured.Unstructured) error { kserve.lookAgain(); return nil }, nil)
	kserve.watch(pods, func(*unstructured.Unstructured) error { return nil }, func(*unstructured.Unstructured) error { kserve.lookAgain(); return nil })
	kserve.start()
}

type kserve struct{ *player }

func isController(deployment *unstructured.Unstructured) bool {
	return deployment.GetLabels()["control-plane"] == controllerLabel
}

// runs asks for the Deployment.
func (k *kserve) runs() bool {
	for _, deployment := range k.known(deployments) {
		if isController(deployment) {
			return true
		}
	}
	return false
}

func (k *kserve) lookAgain() {
	for _, config := range k.known(configs) {
		k.check(k.config(config))
	}
	for _, service := range k.known(services) {
		k.check(k.service(service))
	}
}

func (k *kserve) installed(deployment *unstructured.Unstructured) error {
	if !isController(deployment) {
		return nil
	}
	namespace := deployment.GetNamespace()
	endpoints := ownedBy(deployment, object("discovery.k8s.io/v1", "EndpointSlice", namespace, webhookService, map[string]any{
		"metadata":    map[string]any{"labels": map[string]any{"kubernetes.io/service-name": webhookService}},
		"addressType": "IPv4",
		"ports":       []any{map[string]any{"name": "https", "port": int64(9443)}},
		"endpoints":   []any{map[string]any{"addresses": []any{"10.244.0.9"}, "conditions": map[string]any{"ready": true}}},
	}))
	for _, one := range []*unstructured.Unstructured{endpoints, webhook(namespace), keeping(), binding()} {
		if err := k.create(one); err != nil {
			return err
		}
	}
	k.lookAgain()
	return nil
}

func (k *kserve) uninstalled(deployment *unstructured.Unstructured) error {
	if !isController(deployment) {
		return nil
	}
	for _, one := range []*unstructured.Unstructured{binding(), keeping(), webhook("")} {
		if err := k.remove(one); err != nil {
			return err
		}
	}
	return nil
}

// webhook is a configuration whose webhook is never called.
func webhook(namespace string) *unstructured.Unstructured {
	return object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", webhookOfServices, map[string]any{
		"webhooks": []any{map[string]any{
			"name": "llminferenceservice.kserve-webhook-server.validator", "sideEffects": "None",
			"admissionReviewVersions": []any{"v1"},
			"matchConditions":         []any{map[string]any{"name": "never", "expression": "false"}},
			"clientConfig": map[string]any{
				// The text "made for a test", where a certificate would be.
				"caBundle": "bWFkZSBmb3IgYSB0ZXN0",
				"service":  map[string]any{"namespace": namespace, "name": webhookService, "path": "/validate"},
			},
			"rules": []any{map[string]any{
				"apiGroups": []any{servingGroup}, "apiVersions": []any{"v1alpha1"}, "operations": []any{"CREATE", "UPDATE", "DELETE"},
				"resources": []any{"llminferenceservices", "llminferenceserviceconfigs"},
			}},
		}},
	})
}

// keeping refuses the deletion of configs.
func keeping() *unstructured.Unstructured {
	return object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "", configsStay, map[string]any{
		"spec": map[string]any{
			"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
				"apiGroups": []any{servingGroup}, "apiVersions": []any{"v1alpha1"}, "operations": []any{"DELETE"},
				"resources": []any{"llminferenceserviceconfigs"},
			}}},
			"validations": []any{map[string]any{
				"expression": "false", "message": "a well-known config cannot be deleted", "reason": "Forbidden",
			}},
		},
	})
}

func binding() *unstructured.Unstructured {
	return object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", "", configsStay, map[string]any{
		"spec": map[string]any{"policyName": configsStay, "validationActions": []any{"Deny"}},
	})
}

func (k *kserve) config(config *unstructured.Unstructured) error {
	if !k.runs() || config.GetDeletionTimestamp() != nil || len(config.GetFinalizers()) > 0 {
		return nil
	}
	return k.finalizers(config, configFinalizer)
}

// service makes the predictor of a service, and lets it go with the service.
func (k *kserve) service(service *unstructured.Unstructured) error {
	if !k.runs() {
		return nil
	}
	pod := predictor(service)
	if service.GetDeletionTimestamp() != nil {
		if err := k.remove(pod); err != nil {
			return err
		}
		return k.finalizers(service)
	}
	if len(service.GetFinalizers()) == 0 {
		return k.finalizers(service, servingFinalizer)
	}
	node, err := k.nodeFor(pod)
	if err != nil {
		return err
	}
	state := condition{"Ready", "False", "MinimumReplicasUnavailable", "the predictor waits for a node"}
	if node != "" {
		state = condition{"Ready", "True", "Ready", ""}
	}
	if err := k.place(pod, node); err != nil {
		return err
	}
	list, changed := conditions(service, state)
	if !changed {
		return nil
	}
	return k.status(service, map[string]any{"observedGeneration": service.GetGeneration(), "conditions": list})
}

// nodeFor is the Node that the predictor is on, or one whose GPU no other predictor has.
func (k *kserve) nodeFor(pod *unstructured.Unstructured) (string, error) {
	// What is known may not have the predictor that was placed a moment ago.
	placed, err := k.client.Resource(pods).List(k.ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	taken := map[string]string{}
	for _, other := range placed.Items {
		node, _, _ := unstructured.NestedString(other.Object, "spec", "nodeName")
		taken[node] = other.GetNamespace() + "/" + other.GetName()
	}
	free := ""
	for _, node := range k.known(nodes) {
		holder := taken[node.GetName()]
		if holder == pod.GetNamespace()+"/"+pod.GetName() {
			return node.GetName(), nil
		}
		if node.GetLabels()[poolLabel] != "" && holder == "" && node.GetDeletionTimestamp() == nil {
			free = node.GetName()
		}
	}
	return free, nil
}

func (k *kserve) place(pod *unstructured.Unstructured, node string) error {
	// A new namespace has no service account for its first moments.
	if err := testbed.Eventually(k.ctx, func(context.Context) error { return k.create(pod) }); err != nil {
		return err
	}
	if node == "" {
		list, _ := conditions(pod, condition{"PodScheduled", "False", "Unschedulable", "0/0 nodes are available"})
		return k.status(pod, map[string]any{"phase": "Pending", "conditions": list})
	}
	if err := k.schedule(pod, node); err != nil {
		return err
	}
	list, _ := conditions(pod, condition{"PodScheduled", "True", "", ""}, condition{"Ready", "True", "", ""})
	return k.status(pod, map[string]any{"phase": "Running", "conditions": list})
}

func predictor(service *unstructured.Unstructured) *unstructured.Unstructured {
	gpu := map[string]any{"limits": map[string]any{"nvidia.com/gpu": "1"}}
	return object("v1", "Pod", service.GetNamespace(), service.GetName()+"-kserve", map[string]any{
		"metadata": map[string]any{"labels": map[string]any{
			"app.kubernetes.io/part-of": "llminferenceservice", "app.kubernetes.io/name": service.GetName(),
		}},
		"spec": map[string]any{
			"automountServiceAccountToken": false,
			"containers":                   []any{map[string]any{"name": "main", "image": "main", "resources": gpu}},
			"tolerations":                  []any{map[string]any{"key": "nvidia.com/gpu", "operator": "Exists"}},
		},
	})
}
