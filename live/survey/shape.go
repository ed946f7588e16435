package survey

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// form is what a field must hold to be read; its text says what one that does not is not.
type form string

const (
	text   form = "text"
	number form = "whole number"
	truth  form = "boolean"
	moment form = "time"
	amount form = "quantity"
)

// shape are the fields that readers take of an object, by their form. A path's parts are separated by spaces; "*" is
// each element of a list.
type shape map[form][]string

// shapes are those of the kinds. An API server that knows a kind's schema lets nothing else in; one that does not, and
// a folder, may hold anything.
var shapes = map[string]shape{
	"AWSCluster": {text: {"spec region", "spec network subnets * availabilityZone", "spec network subnets * tags " + subnetRole}},
	"App":        {text: {"spec name", "spec kubeConfig secret name"}, truth: {"spec kubeConfig inCluster"}},
	"Certificate": {text: {
		"spec secretName", "spec dnsNames *",
	}},
	"Challenge":                {text: {"spec dnsName", "spec type", "status state", "status reason"}},
	"ClusterPolicy":            {text: {"status state"}},
	"CustomResourceDefinition": {text: {"spec versions * name"}, truth: {"spec versions * storage"}},
	"DaemonSet":                {number: {"status desiredNumberScheduled", "status numberReady"}},
	"Deployment":               {number: {"spec replicas", "status readyReplicas"}},
	"EndpointSlice":            {text: {"endpoints * addresses *"}, truth: {"endpoints * conditions ready"}},
	"Event":                    {text: {"involvedObject name", "reason", "message"}, moment: {"lastTimestamp", "eventTime"}},
	"Gateway": {text: {
		"spec listeners * name", "spec listeners * hostname",
		"spec listeners * tls certificateRefs * kind", "spec listeners * tls certificateRefs * name", "status listeners * name",
		"status listeners * conditions * type", "status listeners * conditions * status",
		"status listeners * conditions * reason", "status listeners * conditions * message",
	}},
	"GitRepository": {text: {
		"spec url", "spec interval", "spec ignore", "spec ref branch", "spec ref tag", "spec ref semver", "spec ref name", "spec ref commit",
	}, truth: {"spec suspend"}},
	"HelmRelease": {text: {
		"spec chart spec chart", "spec chart spec version", "spec chartRef kind", "spec chartRef name", "spec chartRef namespace",
		"spec kubeConfig secretRef name", "status lastAttemptedRevision", "status history * chartVersion", "status history * namespace",
	}, number: {"status observedGeneration"}},
	"Job": {number: {"spec activeDeadlineSeconds"}, moment: {"status completionTime"}},
	"Kustomization": {text: {
		"spec path", "spec interval", "spec deletionPolicy", "spec decryption provider",
		"spec sourceRef kind", "spec sourceRef name", "spec sourceRef namespace",
	}, truth: {"spec prune", "spec suspend"}},
	"MachinePool": {text: {
		"spec template spec version", "spec template spec infrastructureRef apiVersion", "spec template spec infrastructureRef kind",
		"spec template spec infrastructureRef name", "spec template spec infrastructureRef namespace",
	}, number: {"spec replicas", "status readyReplicas"}, truth: {"status infrastructureReady"}},
	"MutatingWebhookConfiguration":   webhookShape,
	"ValidatingWebhookConfiguration": webhookShape,
	"Node":                           {text: {"spec providerID", "status nodeInfo osImage"}, amount: {"status allocatable " + gpuResource}},
	"NodeClaim":                      {text: {"status nodeName", "status providerID"}, moment: {"status lastPodEventTime"}},
	"OCIRepository":                  {text: {"spec url", "spec ref tag", "spec ref semver"}},
	"PersistentVolume": {text: {
		"spec persistentVolumeReclaimPolicy", "spec nodeAffinity required nodeSelectorTerms * matchExpressions * key",
		"spec nodeAffinity required nodeSelectorTerms * matchExpressions * values *",
	}},
	"PersistentVolumeClaim": {
		text: {
			"spec volumeName", "spec storageClassName", "status phase", "status capacity storage", "spec resources requests storage",
		},
		amount: {"status capacity storage", "spec resources requests storage"},
	},
	"Pod": {
		text: {
			"spec nodeName", "status phase", "status reason", "status message",
			"status containerStatuses * name", "status containerStatuses * state terminated reason",
		},
		number: {"spec priority", "status containerStatuses * state terminated exitCode"},
		moment: {"status startTime"},
		amount: {
			"spec containers * resources limits " + gpuResource, "spec containers * resources requests " + gpuResource,
			"spec initContainers * resources limits " + gpuResource, "spec initContainers * resources requests " + gpuResource,
		},
	},
	"Release":      {text: {"spec state", "spec date", "spec components * name", "spec components * version"}},
	"StorageClass": {text: {"parameters type", "parameters iops", "parameters throughput"}},
}

var webhookShape = shape{text: {
	"webhooks * name", "webhooks * clientConfig caBundle", "webhooks * clientConfig service namespace", "webhooks * clientConfig service name",
	"webhooks * rules * apiGroups *", "webhooks * rules * resources *",
}}

// conditioned is what every kind with conditions has of them.
var conditioned = shape{
	text: {
		"status conditions * type", "status conditions * status", "status conditions * reason", "status conditions * message",
	},
	moment: {"status conditions * lastTransitionTime"},
}

// shapesOf are those of a kind. Control planes and the infrastructure of MachinePools have kinds of their providers.
func shapesOf(kind string) []shape {
	of, known := shapes[kind]
	switch {
	case known:
	case strings.HasSuffix(kind, "ControlPlane"):
		of = shape{text: {"spec version", "status version"}}
	case strings.HasSuffix(kind, "MachinePool"):
		of = shape{text: {"spec awsLaunchTemplate instanceType", "spec providerIDList *", "status providerIDList *"}}
	}
	return []shape{of, conditioned}
}

// malformed says which field of an object cannot be read, since it holds something else than it should; nil: none. What
// such a field would tell is unknown, never none.
func (r *Reader) malformed(object *unstructured.Unstructured) error {
	for _, shape := range shapesOf(object.GetKind()) {
		if fault := shape.faultOf(object.Object); fault != "" {
			return &readError{clustermanager.ReferenceTo(object).String() + r.where, errors.New(fault)}
		}
	}
	return nil
}

// wellFormed are the objects, unless one of them cannot be read.
func (r *Reader) wellFormed(objects []unstructured.Unstructured, err error) ([]unstructured.Unstructured, error) {
	for index := range objects {
		if err := r.malformed(&objects[index]); err != nil {
			return nil, err
		}
	}
	return objects, err
}

// faultOf is the first path at which an object holds another form; "": none.
func (s shape) faultOf(object map[string]any) string {
	for _, of := range []form{text, number, truth, moment, amount} {
		for _, path := range s[of] {
			if fault := of.fault(object, "", path); fault != "" {
				return fault
			}
		}
	}
	return ""
}

// fault goes down a path, which has no part left at the field itself.
func (f form) fault(value any, gone, path string) string {
	part, rest, _ := strings.Cut(path, " ")
	switch value := value.(type) {
	case nil:
		return ""
	case map[string]any:
		if path != "" && part != "*" {
			return f.fault(value[part], strings.TrimPrefix(gone+"."+part, "."), rest)
		}
	case []any:
		if part != "*" {
			break
		}
		for index, element := range value {
			if fault := f.fault(element, gone+"["+strconv.Itoa(index)+"]", rest); fault != "" {
				return fault
			}
		}
		return ""
	default:
		if path == "" && f.holds(value) {
			return ""
		}
	}
	switch {
	case path == "":
		return gone + " is no " + string(f)
	case part == "*":
		return gone + " is no list"
	}
	return gone + " is no mapping"
}

// holds says whether a scalar has the form.
func (f form) holds(value any) bool {
	written, isText := value.(string)
	_, isNumber := value.(int64)
	switch f {
	case text:
		return isText
	case number:
		return isNumber
	case truth:
		_, is := value.(bool)
		return is
	case moment:
		_, err := time.Parse(time.RFC3339Nano, written)
		return isText && (written == "" || err == nil)
	}
	_, err := resource.ParseQuantity(written)
	return isNumber || isText && (written == "" || err == nil)
}
