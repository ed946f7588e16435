package compose

import (
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// servingOf is the survey of a name with everything that serving is decided from: nothing runs on the cluster yet, the
// Gateway API is there, and the server reads no chart registry.
func servingOf(t *testing.T, name string) clustermanager.Survey {
	t.Helper()
	survey := surveyOf(t, name)
	survey.Settings.ModelManagerNamespace, survey.Settings.ServingNamespace, survey.Settings.ServingCacheClaim = "agent-platform", "model-serving", "hf-cache"
	survey.Settings.ModelsCertificateIssuer = "letsencrypt-giantswarm"
	survey.Nodes = clustermanager.Known([]clustermanager.Node{{Name: "a", OSImage: "Flatcar Container Linux by Kinvolk 4459.2.1"}})
	survey.GPUOperator = clustermanager.Component{Status: clustermanager.ComponentAbsent}
	survey.Serving = clustermanager.ServingSurvey{
		Endpoint: clustermanager.Known(clustermanager.Endpoint{
			Server: "https://api.wc1.acme.example.io:6443", CABundle: "-----BEGIN CERTIFICATE-----\nMIIBfixture\n-----END CERTIFICATE-----\n",
		}),
		Component:   clustermanager.Component{Status: clustermanager.ComponentAbsent},
		Slice:       clustermanager.Known[*clustermanager.Slice](nil),
		OtherSlices: clustermanager.Known([]clustermanager.Slice{}),
		Platform:    clustermanager.Known(platform()),
		GatewayAPI:  clustermanager.Known(clustermanager.GatewayAPI{Installed: true, Version: "v1.4.0", Channel: "standard"}),
		Issuer:      clustermanager.Known(clustermanager.CertificateIssuer{Name: "letsencrypt-giantswarm", Solver: "http01"}),
		Backends:    clustermanager.Known([]clustermanager.Backend{}),
		Presets:     clustermanager.Known([]clustermanager.Preset{}),
		CacheClaims: clustermanager.Known([]clustermanager.CacheClaim{}),
		Namespace:   clustermanager.Known[*clustermanager.ServingNamespace](nil),
		Configs:     clustermanager.Known(clustermanager.ServingConfigs{Namespace: "agent-platform", ControllerRuns: clustermanager.Known(false)}),
		Models:      clustermanager.Known([]clustermanager.ServedModel{}),
	}
	for _, reference := range servingObjects(survey, "gpu-l4", "gpu-l40s", "gpu-t4", "gpu-a10g") {
		survey.Live[clustermanager.LiveKey(reference)] = clustermanager.Known[*clustermanager.LiveObject](nil)
	}
	return survey
}

func servingObjects(survey clustermanager.Survey, pools ...string) []clustermanager.ObjectReference {
	references := append(clustermanager.OperatorObjects(survey.Cluster).References(), clustermanager.SliceObjects(survey.Cluster).References()...)
	references = append(references, clustermanager.BackendReference(survey.Cluster, survey.Settings), clustermanager.SharedBackendReference(survey.Settings))
	for _, pool := range pools {
		references = append(references, clustermanager.NodePool(survey.Cluster, pool).References()...)
	}
	return references
}

func platform() clustermanager.Platform {
	return clustermanager.Platform{
		Release: clustermanager.NamespacedName{Namespace: "flux-giantswarm", Name: "agent-platform"}, ChartVersion: "4.85.0",
		Domain: "gazelle.example.io", TLSSecret: "gazelle-wildcard-tls", Namespace: "agent-platform",
		Identity: map[string]any{
			"issuerUrl": "https://dex.gazelle.example.io", "clientId": "dex-k8s-authenticator", "existingSecret": "agent-platform-identity",
		},
		ModelManagerVersion: clustermanager.Known("1.12.0"),
	}
}

// change returns a reading with its value changed.
func changed[T any](reading clustermanager.Reading[T], change func(*T)) clustermanager.Reading[T] {
	value, _ := reading.Get()
	change(&value)
	return clustermanager.Known(value)
}

// runs makes the cluster's slice one that is there: ours, at the platform's version, with the values.
func runs(survey *clustermanager.Survey, values map[string]any) {
	reference := clustermanager.SliceReference(survey.Cluster)
	survey.Serving.Component = clustermanager.Component{Status: clustermanager.ComponentPresent, Provider: clustermanager.ProviderClusterManager}
	survey.Serving.Slice = clustermanager.Known(&clustermanager.Slice{
		ReleaseUptake: clustermanager.ReleaseUptake{Finalized: true, Generation: 2, ObservedGeneration: 2},
		Cluster:       survey.Cluster.Name, Release: clustermanager.NamespacedName{Namespace: reference.Namespace, Name: reference.Name},
		Owned: true, Values: clustermanager.NewValues(values), Range: ">=4.85.0 <5.0.0", Deployed: "4.85.0",
	})
	for _, object := range clustermanager.SliceObjects(survey.Cluster).References() {
		survey.Live[clustermanager.LiveKey(object)] = clustermanager.Known(&clustermanager.LiveObject{Reference: object, Labels: map[string]string{
			clustermanager.LabelManagedBy: clustermanager.ManagedBy, clustermanager.LabelChart: clustermanager.ChartAgentPlatform, clustermanager.LabelCluster: survey.Cluster.Name,
		}})
	}
}

// serving is a request for a pool with model serving in mode commit.
func serving(cluster, name string) clustermanager.CreateNodePoolRequest {
	request := pool(cluster, name)
	request.Serving = nil
	return request
}

// only are the steps of a plan whose objects have one of the names.
func only(plan clustermanager.Plan, names ...string) clustermanager.Plan {
	var kept clustermanager.Plan
	for _, step := range plan.Steps {
		for _, name := range names {
			if step.Object.GetName() == name {
				kept.Steps = append(kept.Steps, step)
			}
		}
	}
	return kept
}

// order are a plan's steps in words.
func order(plan clustermanager.Plan) []string {
	var words []string
	for _, step := range plan.Steps {
		words = append(words, string(step.Verb)+" "+string(step.Lane)+" "+step.Reference().String())
	}
	return words
}

// own gives the own cluster the UID that the slice's listings have.
func own(t *testing.T) clustermanager.Survey {
	survey := servingOf(t, "gazelle")
	survey.Cluster.UID = "6f1c0c1e-8a4a-4c1e-9c3a-000000000000"
	return survey
}
