package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/postrenderer"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	sigsyaml "sigs.k8s.io/yaml"
)

// origin labels what a HelmRelease renders.
type origin struct{ name, namespace string }

var _ postrenderer.PostRenderer = origin{}

func originOf(release *helmv2.HelmRelease) origin { return origin{release.Name, release.Namespace} }

// Run labels every object.
func (o origin) Run(rendered *bytes.Buffer) (*bytes.Buffer, error) {
	labelled := &bytes.Buffer{}
	err := eachObject(rendered, func(object *unstructured.Unstructured) error {
		o.label(object)
		content, err := sigsyaml.Marshal(object.Object)
		fmt.Fprintf(labelled, "---\n%s", content)
		return err
	})
	return labelled, err
}

func (o origin) label(object *unstructured.Unstructured) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[helmv2.GroupVersion.Group+"/name"], labels[helmv2.GroupVersion.Group+"/namespace"] = o.name, o.namespace
	object.SetLabels(labels)
}

func eachObject(documents io.Reader, do func(*unstructured.Unstructured) error) error {
	for decoder := yaml.NewYAMLOrJSONDecoder(documents, 4096); ; {
		object := &unstructured.Unstructured{}
		switch err := decoder.Decode(&object.Object); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(object.Object) == 0:
			continue
		}
		if err := do(object); err != nil {
			return err
		}
	}
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// applyDefinitions writes the custom resource definitions of a chart by the policy, and waits until they are established.
func (t *target) applyDefinitions(ctx context.Context, release *helmv2.HelmRelease, chart *chart.Chart, policy helmv2.CRDsPolicy) error {
	files := chart.CRDObjects()
	if policy == helmv2.Skip || len(files) == 0 {
		return nil
	}
	client, err := dynamic.NewForConfig(t.getter.config)
	if err != nil {
		return err
	}
	labelled := &bytes.Buffer{}
	for _, file := range files {
		err := eachObject(bytes.NewReader(file.File.Data), func(object *unstructured.Unstructured) error {
			originOf(release).label(object)
			content, err := sigsyaml.Marshal(object.Object)
			if err != nil {
				return err
			}
			fmt.Fprintf(labelled, "---\n%s", content)
			return writeDefinition(ctx, client, object, policy)
		})
		if err != nil {
			return fmt.Errorf("failed to apply CustomResourceDefinitions: %s: %w", file.Name, err)
		}
	}
	written, err := t.helm.KubeClient.Build(labelled, false)
	if err != nil {
		return err
	}
	waiter, err := t.helm.KubeClient.GetWaiter(kube.StatusWatcherStrategy)
	if err != nil {
		return err
	}
	if err := waiter.Wait(written, release.GetTimeout().Duration); err != nil {
		return fmt.Errorf("failed to apply CustomResourceDefinitions: waiting: %w", err)
	}
	t.getter.forget()
	return nil
}

func writeDefinition(ctx context.Context, client dynamic.Interface, object *unstructured.Unstructured, policy helmv2.CRDsPolicy) error {
	if policy == helmv2.Create {
		_, err := client.Resource(definitions).Create(ctx, object, metav1.CreateOptions{FieldManager: "helm-controller"})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	_, err := client.Resource(definitions).Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "helm-controller", Force: true})
	return err
}
