package survey

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	modelManager = "model-manager"
	// huggingFace begins the address of a model whose id is the rest.
	huggingFace = "hf://"
)

// models are every model served on the cluster, whatever its state.
func (r *Reader) models(ctx context.Context, cluster clustermanager.Cluster) ([]clustermanager.ServedModel, error) {
	target, err := r.target(ctx, cluster)
	if err != nil {
		return nil, err
	}
	var services, llmServices []unstructured.Unstructured
	var reads errgroup.Group
	reads.Go(func() (err error) {
		services, err = target.list(ctx, inferenceServiceNoun, "", metav1.ListOptions{})
		return err
	})
	reads.Go(func() (err error) {
		llmServices, err = target.llmServices(ctx)
		return err
	})
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	found := []clustermanager.ServedModel{}
	for _, list := range [][]unstructured.Unstructured{services, llmServices} {
		for index := range list {
			found = append(found, r.modelOf(&list[index]))
		}
	}
	slices.SortFunc(found, func(a, b clustermanager.ServedModel) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found, nil
}

// llmServices lists the LLMInferenceServices. Where the version is not served that they are listed in, their definition
// tells another: an API that left would else look like a cluster without models.
func (r *Reader) llmServices(ctx context.Context) ([]unstructured.Unstructured, error) {
	found, err := r.list(ctx, llmServiceNoun, "", metav1.ListOptions{})
	if err != nil || found != nil {
		return found, err
	}
	version, err := r.storageVersion(ctx, llmServices)
	if err != nil || version == "" || version == llmServiceNoun.resource.Version {
		return nil, err
	}
	return r.list(ctx, noun{llmServiceNoun.kind, kserve(version, llmServices)}, "", metav1.ListOptions{})
}

func (r *Reader) modelOf(object *unstructured.Unstructured) clustermanager.ServedModel {
	return clustermanager.ServedModel{
		Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(), Model: modelID(object),
		Managed: object.GetLabels()[clustermanager.LabelManagedBy] == modelManager &&
			object.GetNamespace() == r.options.Settings.ServingNamespace,
		Deleting: deleting(object),
	}
}

// modelID is the id of the model that an object serves: the annotation's, else its name, else what follows hf:// in its
// address. Another address is no id, and may carry a credential.
func modelID(object *unstructured.Unstructured) string {
	for _, id := range []string{object.GetAnnotations()[annotationModel], textAt(object.Object, "spec", "model", "name")} {
		if id != "" {
			return id
		}
	}
	for _, path := range [][]string{{"spec", "model", "uri"}, {"spec", "predictor", "model", "storageUri"}} {
		if id, is := strings.CutPrefix(textAt(object.Object, path...), huggingFace); is {
			return id
		}
	}
	return ""
}

// servingConfigs are the serving configurations of a namespace of the cluster. An API that is not served has none.
func (r *Reader) servingConfigs(ctx context.Context, cluster clustermanager.Cluster, namespace string) (clustermanager.ServingConfigs, error) {
	found := clustermanager.ServingConfigs{Namespace: namespace}
	target, err := r.target(ctx, cluster)
	if err != nil {
		return found, err
	}
	var reads errgroup.Group
	var configs []unstructured.Unstructured
	reads.Go(func() error {
		version, err := target.storageVersion(ctx, llmConfigs)
		if err != nil || version == "" {
			return err
		}
		configs, err = target.list(ctx, noun{"LLMInferenceServiceConfig", kserve(version, llmConfigs)}, namespace, metav1.ListOptions{})
		return err
	})
	reads.Go(func() error {
		found.ControllerRuns = clustermanager.Read(target.controllerRuns(ctx))
		return nil
	})
	if err := reads.Wait(); err != nil {
		return found, err
	}
	found.Count = len(configs)
	for index := range configs {
		if deleting(&configs[index]) {
			found.Terminating = append(found.Terminating, configs[index].GetName())
		}
	}
	slices.Sort(found.Terminating)
	return found, nil
}

// controllerRuns says whether a replica of the llm-d controller is ready.
func (r *Reader) controllerRuns(ctx context.Context) (bool, error) {
	deployments, err := r.list(ctx, deploymentNoun, "", metav1.ListOptions{
		LabelSelector: labels.Set{labelControlPlane: llmController}.String(),
	})
	return slices.ContainsFunc(deployments, func(object unstructured.Unstructured) bool {
		ready, _, _ := unstructured.NestedInt64(object.Object, "status", "readyReplicas")
		return ready > 0
	}), err
}

// storageVersion is the version that the definition of a resource of KServe stores it in; "": there is no definition.
func (r *Reader) storageVersion(ctx context.Context, resource string) (string, error) {
	definition, err := r.get(ctx, definitionNoun, "", resource+"."+kserveGroup)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, version := range mapsAt(definition.Object, "spec", "versions") {
		if isTrueAt(version, "storage") {
			return textAt(version, "name"), nil
		}
	}
	return "", nil
}
