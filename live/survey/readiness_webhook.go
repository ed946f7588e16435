package survey

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clustermanager "github.com/clustermanager/cluster-manager"
)

var (
	endpointSliceNoun = noun{"EndpointSlice", schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}}
	// admissionNouns are the kinds that configure admission.
	admissionNouns = []noun{
		{"MutatingWebhookConfiguration", admission("mutatingwebhookconfigurations")},
		{"ValidatingWebhookConfiguration", admission("validatingwebhookconfigurations")},
	}
)

// What keeps the webhook from answering.
const (
	reasonNoConfiguration = "NoConfiguration"
	reasonNoEndpoints     = "NoEndpoints"
	reasonNoCABundle      = "NoCABundle"

	labelService = "kubernetes.io/service-name"
)

func admission(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
}

// admitting are the configurations that admit LLMInferenceServices.
type admitting struct {
	configurations []string
	// service is what the first of their webhooks calls that names one.
	service clustermanager.NamespacedName
	// withoutCA are the webhooks without an authority.
	withoutCA []string
}

// webhook is the admission webhook of LLMInferenceServices on the cluster. It is unknown when the configurations cannot
// be listed.
func (r *Reader) webhook(ctx context.Context, cluster clustermanager.Cluster) (*clustermanager.Webhook, error) {
	found := make([]list, len(admissionNouns))
	var reads errgroup.Group
	for index, of := range admissionNouns {
		reads.Go(func() error { found[index] = r.onTarget(ctx, cluster, of, ""); return found[index].Err() })
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	var admits admitting
	for index, of := range admissionNouns {
		admits.add(of.resource.Resource, found[index].Or(nil))
	}
	if admits.service.Name == "" {
		return new(webhookOf(admits, clustermanager.Known[[]unstructured.Unstructured](nil))), nil
	}
	endpoints := clustermanager.Read(r.endpointSlices(ctx, cluster, admits.service))
	return new(webhookOf(admits, endpoints)), nil
}

func (r *Reader) endpointSlices(ctx context.Context, cluster clustermanager.Cluster, service clustermanager.NamespacedName) ([]unstructured.Unstructured, error) {
	target, err := r.target(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return target.list(ctx, endpointSliceNoun, service.Namespace, metav1.ListOptions{
		LabelSelector: labels.SelectorFromSet(labels.Set{labelService: service.Name}).String(),
	})
}

// add takes in those of the configurations that admit.
func (a *admitting) add(resource string, configurations []unstructured.Unstructured) {
	for _, configuration := range sortedByName(configurations) {
		name, admits := resource+"/"+configuration.GetName(), false
		for _, webhook := range mapsAt(configuration.Object, "webhooks") {
			if !admitsModels(webhook) {
				continue
			}
			admits = true
			service := mapAt(webhook, "clientConfig", "service")
			if a.service.Name == "" {
				a.service = clustermanager.NamespacedName{Namespace: textAt(service, "namespace"), Name: textAt(service, "name")}
			}
			if textAt(webhook, "clientConfig", "caBundle") == "" {
				a.withoutCA = append(a.withoutCA, textAt(webhook, "name")+" of "+name)
			}
		}
		if admits {
			a.configurations = append(a.configurations, name)
		}
	}
}

// admitsModels says whether a rule of a webhook covers LLMInferenceServices.
func admitsModels(webhook map[string]any) bool {
	return slices.ContainsFunc(mapsAt(webhook, "rules"), func(rule map[string]any) bool {
		groups, _, _ := unstructured.NestedStringSlice(rule, "apiGroups")
		resources, _, _ := unstructured.NestedStringSlice(rule, "resources")
		covers := func(values []string, names ...string) bool {
			return slices.ContainsFunc(values, func(value string) bool { return slices.Contains(names, value) })
		}
		return covers(groups, kserveGroup, "*") && covers(resources, llmServices, "*", "*/*")
	})
}

// webhookOf is the webhook's state. Of several problems the first gives the reason, and the message has all.
func webhookOf(admits admitting, endpoints list) clustermanager.Webhook {
	made := clustermanager.Webhook{
		Configurations: append([]string{}, admits.configurations...),
		Namespace:      admits.service.Namespace, Service: admits.service.Name,
	}
	if len(admits.configurations) == 0 {
		made.Endpoints, made.Ready = new(0), new(false)
		made.Reason, made.Message = reasonNoConfiguration, "no configuration admits LLMInferenceServices"
		return made
	}
	objects, is := endpoints.Get()
	if !is {
		made.Message = endpoints.Reason()
		return made
	}
	addresses, ready := endpointsOf(objects)
	made.Endpoints = &ready
	var problems, messages []string
	problem := func(reason, message string) {
		problems, messages = append(problems, reason), append(messages, message)
	}
	switch {
	case admits.service.Name == "":
	case addresses == 0:
		problem(reasonNoEndpoints, fmt.Sprintf("Service %s has no address", admits.service))
	case ready == 0:
		problem(reasonNoEndpoints, fmt.Sprintf("Service %s has %d addresses, none is ready", admits.service, addresses))
	}
	if len(admits.withoutCA) > 0 {
		problem(reasonNoCABundle, "no CA bundle in "+strings.Join(admits.withoutCA, ", "))
	}
	made.Ready = new(len(problems) == 0)
	if len(problems) > 0 {
		made.Reason, made.Message = problems[0], strings.Join(messages, "; ")
	}
	return made
}

// endpointsOf counts the addresses of EndpointSlices and those of them that are ready. One that does not say is.
func endpointsOf(objects []unstructured.Unstructured) (addresses, ready int) {
	for _, object := range objects {
		for _, endpoint := range mapsAt(object.Object, "endpoints") {
			named, _, _ := unstructured.NestedStringSlice(endpoint, "addresses")
			addresses += len(named)
			if state, says, _ := unstructured.NestedBool(endpoint, "conditions", "ready"); state || !says {
				ready += len(named)
			}
		}
	}
	return addresses, ready
}

// webhookRemark is the evidence of a webhook that does not answer, or of which that is not known; "" of one that does.
func webhookRemark(webhook clustermanager.Reading[*clustermanager.Webhook]) string {
	state, is := webhook.Get()
	switch {
	case !is:
		return ""
	case state == nil, state.Ready != nil && *state.Ready:
		return ""
	case state.Ready == nil:
		return "webhook of LLMInferenceServices: not known to be ready" + because("", state.Message)
	}
	return "webhook of LLMInferenceServices: not ready" + because(state.Reason, state.Message)
}
