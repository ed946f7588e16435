package compose

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

const (
	catalogGatewayAPI    = catalog.ComponentGatewayAPI
	finalizerLLMService  = "serving.kserve.io/llmisvc-finalizer"
	kserveVersion        = "serving.kserve.io/v1alpha1"
	gatewayGroup         = "gateway.networking.k8s.io"
	definitionVersion    = "apiextensions.k8s.io/v1"
	gatewayDefinition    = "gateways.gateway.networking.k8s.io"
	agentGatewayOperator = "agentgateway.dev/agentgateway"
)

// gatewayKinds are the kinds of the Gateway API's standard channel with the definition of each, that of a Gateway last:
// it carries the mark of who brought them all. Where a kind was served at an earlier version first, its objects are
// looked for at that too: a version that is not served has none.
var gatewayKinds = []struct{ kind, plural, earlier string }{
	{"BackendTLSPolicy", "backendtlspolicies", ""},
	{"GatewayClass", "gatewayclasses", ""},
	{"GRPCRoute", "grpcroutes", ""},
	{"HTTPRoute", "httproutes", ""},
	{"ListenerSet", "listenersets", ""},
	{"ReferenceGrant", "referencegrants", "v1beta1"},
	{"TCPRoute", "tcproutes", "v1alpha2"},
	{"TLSRoute", "tlsroutes", "v1alpha2"},
	{"UDPRoute", "udproutes", "v1alpha2"},
	{"Gateway", "gateways", ""},
}

// teardown takes a serving slice off its cluster in order.
type teardown struct {
	*base
	parts clustermanager.ClusterParts
	// configs are the serving configurations of every namespace of the cluster.
	configs clustermanager.Reading[[]clustermanager.ObjectReference]
}

func (r *nodePoolRemoval) teardown() teardown {
	return teardown{r.base, r.facts.Parts, r.facts.Configs}
}

// configurations remove the controller, then once none runs what only it would clear, then the release of the
// configurations: the controller's webhook denies every removal of a configuration while it is there, and nothing takes
// its finalizer off once it is gone.
func (t teardown) configurations(namespace string) ([]clustermanager.Step, error) {
	if _, err := need(t.base, t.parts.Children, "which releases its serving slice rendered"); err != nil {
		return nil, err
	}
	t.nameHandMade()
	purges := []clustermanager.Step{t.models(), configurationsOf(namespace)}
	for index := range purges {
		// What goes all the same, by force, while the cluster cannot be read, goes without them.
		purges[index].Optional = t.configs.Err() != nil
	}
	return slices.Concat(t.removeChild(chartController), []clustermanager.Step{awaitController()}, purges, t.removeChild(chartConfigs)), nil
}

// nameHandMade names the served objects that nobody serves any more once the slice is gone, and that are not
// model-manager's to remove.
func (t teardown) nameHandMade() {
	models, known := t.survey.Serving.Models.Get()
	if !known {
		t.warn("%s: which models are served on it could not be read, and is not known: %s", t.cluster(), t.survey.Serving.Models.Reason())
	}
	var names []string
	for _, model := range models {
		if !model.Managed {
			names = append(names, model.String())
		}
	}
	if len(names) > 0 {
		t.warn("%s: not model-manager's, so they are left, and lose what serves them: %s", t.cluster(), strings.Join(names, ", "))
	}
}

func awaitController() clustermanager.Step {
	return clustermanager.Step{
		Verb: clustermanager.Await, Lane: clustermanager.Teardown, At: clustermanager.AtTarget, Until: clustermanager.UntilIdle,
		Object: bare("apps/v1", "Deployment", "", ""),
		Select: &clustermanager.Selection{APIVersion: "apps/v1", Kind: "Deployment", Labels: "control-plane=llmisvc-controller-manager"},
	}
}

// models removes every model that model-manager serves.
func (t teardown) models() clustermanager.Step {
	return purge("LLMInferenceService", t.survey.Settings.ServingNamespace, clustermanager.LabelManagedBy+"=model-manager", finalizerLLMService)
}

// configurationsOf removes the serving configurations of a namespace.
func configurationsOf(namespace string) clustermanager.Step {
	return purge("LLMInferenceServiceConfig", namespace, "", clustermanager.FinalizerServingConfig)
}

func purge(kind, namespace, labels, finalizer string) clustermanager.Step {
	return clustermanager.Step{
		Verb: clustermanager.Remove, Lane: clustermanager.Teardown, At: clustermanager.AtTarget, Ownership: clustermanager.Labelled,
		Object: bare(kserveVersion, kind, namespace, ""), StorageVersion: true, Finalizers: []string{finalizer},
		Select: &clustermanager.Selection{APIVersion: kserveVersion, Kind: kind, Namespace: namespace, Labels: labels},
	}
}

// removeChild removes the slice's children of a chart, whatever they are called.
func (t teardown) removeChild(chart string) []clustermanager.Step {
	slice := clustermanager.SliceReference(t.survey.Cluster)
	var steps []clustermanager.Step
	for _, name := range t.children(chart) {
		steps = append(steps, clustermanager.Step{
			Verb: clustermanager.Remove, Lane: clustermanager.Teardown, Ownership: clustermanager.Labelled,
			Object: owned(clustermanager.Cluster{}, childReference(t.survey.Cluster, name), renderedBy(slice.Namespace, slice.Name)),
		})
	}
	return steps
}

// children are the names of the slice's children of the charts.
func (t teardown) children(charts ...string) []string {
	var names []string
	for _, chart := range charts {
		for _, child := range t.parts.Children.Or(nil) {
			if child.Chart == chart {
				names = append(names, child.Name)
			}
		}
	}
	return names
}

// release removes the slice's release. That it brought the Gateway API is noted before.
func (t teardown) release(slice *clustermanager.Slice) ([]clustermanager.Step, error) {
	var steps []clustermanager.Step
	if isOn(slice.Values.Reveal(), catalogGatewayAPI) {
		steps = append(steps, t.markGatewayAPI())
	}
	parts, err := t.removePart(clustermanager.ChartAgentPlatform, clustermanager.SliceObjects(t.survey.Cluster).References()...)
	return append(steps, parts...), err
}

// markGatewayAPI notes on the definition of a Gateway whose slice brought it, so that a later call knows what to remove.
func (t teardown) markGatewayAPI() clustermanager.Step {
	step := clustermanager.Step{
		Verb: clustermanager.Annotate, Lane: clustermanager.Teardown, At: clustermanager.AtTarget, Ownership: clustermanager.Labelled, Optional: true,
		Object: bare(definitionVersion, "CustomResourceDefinition", "", gatewayDefinition),
	}
	step.Object.SetAnnotations(map[string]string{clustermanager.AnnotationGatewayAPIComposedBy: t.mark()})
	return step
}

// mark names the slice as the definition of a Gateway does.
func (t teardown) mark() string {
	slice := clustermanager.SliceReference(t.survey.Cluster)
	return clustermanager.NamespacedName{Namespace: slice.Namespace, Name: slice.Name}.String()
}

// remains removes the serving namespace and the definitions of the Gateway API that the slice brought, each once the
// releases are gone that use them. What still holds something is kept.
func (t teardown) remains() []clustermanager.Step {
	var steps []clustermanager.Step
	if namespace := t.servingNamespace(); namespace != nil {
		steps = append(steps, t.awaitRelease(namespace.RenderedBy.Name), t.retire(*namespace))
	}
	if !t.broughtGatewayAPI() {
		return steps
	}
	for _, name := range t.children(chartConnectivity, chartAgentGateway) {
		steps = append(steps, t.awaitRelease(name))
	}
	holders := t.gatewayHolders()
	for _, kind := range gatewayKinds {
		steps = append(steps, clustermanager.Step{
			Verb: clustermanager.Remove, Lane: clustermanager.Teardown, At: clustermanager.AtTarget, Ownership: clustermanager.Labelled, Optional: true,
			Object: bare(definitionVersion, "CustomResourceDefinition", "", kind.plural+"."+gatewayGroup), Holders: holders,
		})
	}
	return steps
}

// servingNamespace is the one that the cluster's connectivity release rendered; nil: there is none.
func (t teardown) servingNamespace() *clustermanager.ServingNamespace {
	namespace := t.survey.Serving.Namespace.Or(nil)
	if namespace == nil || namespace.RenderedBy.Namespace != t.survey.Cluster.Namespace {
		return nil
	}
	for _, name := range []string{clustermanager.ReleaseName(t.survey.Cluster, chartConnectivity), chartConnectivity} {
		if namespace.RenderedBy.Name == name {
			return namespace
		}
	}
	return nil
}

// broughtGatewayAPI says that the slice brought the Gateway API, by its values or by the mark that it left.
func (t teardown) broughtGatewayAPI() bool {
	if slice := t.survey.Serving.Slice.Or(nil); slice != nil && isOn(slice.Values.Reveal(), catalogGatewayAPI) {
		return true
	}
	return t.survey.Serving.GatewayAPI.Or(clustermanager.GatewayAPI{}).ComposedBy == t.mark()
}

func (t teardown) awaitRelease(name string) clustermanager.Step {
	return clustermanager.Step{
		Verb: clustermanager.Await, Lane: clustermanager.Teardown, Until: clustermanager.UntilGone, Ownership: clustermanager.Labelled,
		Object: owned(clustermanager.Cluster{}, childReference(t.survey.Cluster, name), nil),
	}
}

func (t teardown) retire(namespace clustermanager.ServingNamespace) clustermanager.Step {
	return clustermanager.Step{
		Verb: clustermanager.Retire, Lane: clustermanager.Teardown, At: clustermanager.AtTarget, Ownership: clustermanager.Labelled,
		Object: owned(clustermanager.Cluster{}, clustermanager.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: namespace.Name},
			renderedBy(namespace.RenderedBy.Namespace, namespace.RenderedBy.Name)),
		Holders: []clustermanager.Selection{
			{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: namespace.Name},
			{APIVersion: kserveVersion, Kind: "LLMInferenceService", Namespace: namespace.Name},
			{APIVersion: "serving.kserve.io/v1alpha2", Kind: "LLMInferenceService", Namespace: namespace.Name},
			{APIVersion: "serving.kserve.io/v1beta1", Kind: "InferenceService", Namespace: namespace.Name},
			{APIVersion: "v1", Kind: "Pod", Namespace: namespace.Name, Except: []clustermanager.Match{
				{Field: "status.phase", Value: "Succeeded"}, {Field: "status.phase", Value: "Failed"},
			}},
		},
	}
}

// gatewayHolders are the objects of the Gateway API that none of the cluster's releases rendered.
func (t teardown) gatewayHolders() []clustermanager.Selection {
	slice := clustermanager.SliceReference(t.survey.Cluster)
	except := []clustermanager.Match{{Labels: renderedBy(slice.Namespace, slice.Name)}}
	for _, child := range t.parts.Children.Or(nil) {
		except = append(except, clustermanager.Match{Labels: renderedBy(slice.Namespace, child.Name)})
	}
	for _, component := range []string{chartConnectivity, chartAgentGateway} {
		except = append(except, clustermanager.Match{Labels: renderedBy(slice.Namespace, clustermanager.ReleaseName(t.survey.Cluster, component))})
	}
	var holders []clustermanager.Selection
	for _, kind := range gatewayKinds {
		selection := clustermanager.Selection{APIVersion: gatewayGroup + "/v1", Kind: kind.kind, Except: except}
		if kind.kind == "GatewayClass" {
			selection.Except = append(append([]clustermanager.Match{}, except...), clustermanager.Match{Field: "spec.controllerName", Value: agentGatewayOperator})
		}
		holders = append(holders, selection)
		if kind.earlier != "" {
			selection.APIVersion = gatewayGroup + "/" + kind.earlier
			holders = append(holders, selection)
		}
	}
	return holders
}

// renderedBy are Flux's labels of what a release rendered.
func renderedBy(namespace, name string) map[string]string {
	return map[string]string{clustermanager.LabelHelmReleaseName: name, clustermanager.LabelHelmReleaseNamespace: namespace}
}

// bare names an object, or with "" as its name the objects of a selection.
func bare(version, kind, namespace, name string) *unstructured.Unstructured {
	return owned(clustermanager.Cluster{}, clustermanager.ObjectReference{APIVersion: version, Kind: kind, Namespace: namespace, Name: name}, nil)
}
