package compose

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// dice makes random surveys and requests.
type dice struct{ *rand.Rand }

func (d dice) pick(list ...string) string { return list[d.IntN(len(list))] }
func (d dice) flip() bool                 { return d.IntN(2) == 0 }

// reading is the value most of the time, else a read that failed, was refused, or was not made.
func reading[T any](d dice, value T) clustermanager.Reading[T] {
	switch d.IntN(90) {
	case 0:
		return clustermanager.Unknown[T]("forbidden")
	case 1:
		return clustermanager.Read(value, clustermanager.Refuse("Thing x: refused"))
	case 2:
		return clustermanager.Reading[T]{}
	}
	return clustermanager.Known(value)
}

func (d dice) component() clustermanager.Component {
	return clustermanager.Component{
		Status:   clustermanager.ComponentStatus(d.pick("present", "present", "absent", "absent", "absent", "absent", "absent", "absent", "unknown", "")),
		Provider: clustermanager.Provider(d.pick("chart", "manual", "cluster-manager", "cluster-manager")),
	}
}

func (d dice) claims() []clustermanager.CacheClaim {
	var list []clustermanager.CacheClaim
	for range d.IntN(4) {
		list = append(list, clustermanager.CacheClaim{
			Namespace: "model-serving", Name: d.pick("hf-cache", "hf-cache-eu-central-1a", "hf-cache-eu-central-1b", "hf-cache-x"),
			Phase: d.pick("Bound", "Bound", "Pending", "Lost"), Volume: d.pick("", "pvc-1"), Zone: d.pick("", "eu-central-1a", "eu-central-1b", "z"), Error: d.pick("", "", "forbidden"),
		})
	}
	return list
}

func (d dice) live(survey clustermanager.Survey, pool string) map[string]clustermanager.Reading[*clustermanager.LiveObject] {
	live := map[string]clustermanager.Reading[*clustermanager.LiveObject]{}
	for _, reference := range servingObjects(survey, pool) {
		var object *clustermanager.LiveObject
		if d.IntN(30) == 0 {
			object = &clustermanager.LiveObject{Reference: reference, Labels: map[string]string{
				clustermanager.LabelManagedBy: d.pick("cluster-manager", "cluster-manager", "Helm"), clustermanager.LabelCluster: survey.Cluster.Name,
				clustermanager.LabelChart: d.pick("gpu-node-pool", "gpu-operator", "agent-platform"),
			}}
		}
		live[clustermanager.LiveKey(reference)] = reading(d, object)
	}
	return live
}

// values are those of a slice, with whatever in the places that are read.
func (d dice) values() clustermanager.Values {
	anything := func() any {
		return []any{true, false, nil, "x", map[string]any{"enabled": d.flip()}, []any{"y"}, 3.5}[d.IntN(7)]
	}
	return clustermanager.NewValues(map[string]any{
		"components":   map[string]any{"gateway-api-crds": anything(), "modelServing": anything(), "kagent": anything()},
		"modelServing": map[string]any{"cache": map[string]any{"enabled": anything(), "pvc": map[string]any{"name": anything()}}},
	})
}

// catalogVersion is the version that a registry would be asked for, and now and then another.
func catalogVersion(platform string, d dice) string {
	version, _, _ := strings.Cut(platform, "+")
	return d.pick(version, version, "4.117.0")
}

func (d dice) serving(cluster clustermanager.Cluster) clustermanager.ServingSurvey {
	var existing *clustermanager.Slice
	if d.flip() {
		existing = &clustermanager.Slice{
			Cluster: cluster.Name, Owned: d.flip(), Values: d.values(), Tag: d.pick("", "4.50.0"), Range: d.pick("", ">=4.85.0 <5.0.0"),
			Deployed: d.pick("", "4.30.0", "4.50.0", "4.85.0", "lab"), Removing: d.IntN(8) == 0,
			ReleaseUptake: clustermanager.ReleaseUptake{Finalized: d.IntN(8) > 0},
		}
	}
	release := platform()
	release.ChartVersion = d.pick("4.85.0", "4.85.0+abc", "4.27.2", "4.44.1", "4.84.0", "4.120.0", "4.85.0", "4.86.0", "4.26.0", "", "latest", "5.1.0")
	release.Namespace, release.TLSSecret = d.pick("", "agent-platform", "agent-platform"), d.pick("", "wildcard")
	release.ModelManagerVersion = reading(d, d.pick("1.12.0", "0.23.7", "x"))
	chart := chartsAt(catalogVersion(release.ChartVersion, d))
	return clustermanager.ServingSurvey{
		Endpoint:    reading(d, clustermanager.Endpoint{Server: "https://api", CABundle: "PEM"}),
		Component:   d.component(),
		Slice:       reading(d, existing),
		OtherSlices: reading(d, make([]clustermanager.Slice, d.IntN(8)/7)),
		Platform:    reading(d, release),
		GatewayAPI:  reading(d, clustermanager.GatewayAPI{Installed: d.flip(), Version: d.pick("", "v1.4.0")}),
		Issuer:      reading(d, clustermanager.CertificateIssuer{Name: "letsencrypt-giantswarm"}),
		Backends: reading(d, []clustermanager.Backend{{
			ConfigMap: clustermanager.NamespacedName{Namespace: "agent-platform", Name: d.pick("model-backend-kserve", "model-backend-kserve-wc3")},
			Cluster:   d.pick("wc3", "wc2"), Organization: d.pick("", "acme", "research"), Owned: d.flip(),
		}}),
		Presets:       reading(d, []clustermanager.Preset{{Name: "p", CPU: d.pick("", "1", "x", "-3"), Memory: d.pick("", "1Gi", "9e99"), GPUs: d.IntN(9) - 1, WeightsGiB: d.Float64() * 99}}),
		CacheClaims:   reading(d, d.claims()),
		Namespace:     reading(d, []*clustermanager.ServingNamespace{nil, {Name: "model-serving", Deleting: d.flip(), Retired: d.pick("", "x")}}[d.IntN(2)]),
		Configs:       reading(d, clustermanager.ServingConfigs{Namespace: "agent-platform", Terminating: make([]string, d.IntN(3)), ControllerRuns: reading(d, d.flip())}),
		Models:        reading(d, make([]clustermanager.ServedModel, d.IntN(2))),
		PrepullImages: reading(d, []string{"i"}),
		Charts:        reading(d, chart),
	}
}

// survey changes wc3, whose values hold credentials.
func (d dice) survey(t *testing.T, pool string) clustermanager.Survey {
	survey := servingOf(t, "wc3")
	survey.Cluster.Own, survey.Cluster.Deleting = d.flip(), d.IntN(32) == 0
	survey.Settings.SliceChartVersion = d.pick("", "", "", "0.0.0-lab", "4.50.0", "4.120.0")
	survey.Settings.TenantServiceAccount, survey.Settings.ModelsCertificateIssuer = d.pick("automation", "automation"), d.pick("", "letsencrypt-giantswarm")
	survey.GPUOperator = d.component()
	survey.Nodes = reading(d, []clustermanager.Node{{OSImage: d.pick("Flatcar", "Flatcar", "Ubuntu"), Labels: map[string]string{"nvidia.com/gpu.deploy.driver": d.pick("true", "pre-installed")}}}[:d.IntN(2)])
	survey.Pools = reading(d, []clustermanager.PoolRelease{{
		Name: d.pick("wc3-gpu-l4", "wc3-gpu-t4"), Owned: d.flip(), Accelerator: d.pick("", "nvidia-l4", "nvidia-t4", "nvidia-h100"), Sizes: []string{d.pick("xlarge", "metal", "none")}, Deleting: d.flip(),
	}}[:d.IntN(2)])
	survey.Serving = d.serving(survey.Cluster)
	survey.Live = d.live(survey, pool)
	return survey
}

func (d dice) optional() *bool { return []*bool{nil, nil, new(true), new(false)}[d.IntN(4)] }

func (d dice) request() clustermanager.CreateNodePoolRequest {
	return clustermanager.CreateNodePoolRequest{
		Cluster: "wc3", Name: "gpu-l4", Accelerator: d.pick("nvidia-l4", "nvidia-a10g", "nvidia-t4", "nvidia-l40s"),
		ChartVersion: d.pick("", "", "", "0.7.9", "0.9.0"), Zones: [][]string{nil, nil, {"eu-central-1a"}, {"eu-central-1a", "eu-central-1b"}}[d.IntN(4)],
		Prewarm: d.IntN(8) == 0, Cache: d.optional(), Serving: d.optional(), Mode: clustermanager.Mode(d.pick("commit", "commit", "apply")),
	}
}

// decided is one decision in words, and its plan.
type decided struct {
	plan clustermanager.Plan
	text string
}

func decide(t *testing.T, seed uint64) []decided {
	d := dice{rand.New(rand.NewPCG(seed, 1))}
	request := d.request()
	survey := d.survey(t, request.Name)
	cache, force := d.optional(), d.flip()
	var all []decided
	pool, err := NodePool(request, survey)
	all = append(all, inWords(t, pool.Plan, pool, err))
	enabled, err := EnableServing(clustermanager.EnableModelServingRequest{Cluster: "wc3", Cache: cache, Mode: request.Mode}, survey)
	all = append(all, inWords(t, enabled.Plan, enabled, err))
	disabled, err := DisableServing(clustermanager.DisableModelServingRequest{Cluster: "wc3", Force: force, Mode: request.Mode}, clustermanager.ServingRemovalSurvey{
		Survey: survey, Parts: clustermanager.ClusterParts{Children: clustermanager.Known([]clustermanager.SliceChild{{Name: "wc3-controller", Chart: chartController}})},
	})
	return append(all, inWords(t, disabled.Plan, disabled, err))
}

func inWords(t *testing.T, plan clustermanager.Plan, answer any, err error) decided {
	t.Helper()
	var refusal *clustermanager.Refusal
	var notFound *clustermanager.NotFound
	if err != nil && !errors.As(err, &refusal) && !errors.As(err, &notFound) {
		t.Fatalf("an error that is no refusal: %v", err)
	}
	if err != nil && plan.Steps != nil {
		t.Fatal("refused, and yet a plan")
	}
	encoded, jsonErr := json.Marshal(answer)
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	return decided{plan, string(encoded) + documents(t, plan) + fmt.Sprint(err, refusal, answer)}
}

func checkDecision(t *testing.T, seed uint64) (composed, refused int) {
	t.Helper()
	first, second := decide(t, seed), decide(t, seed)
	for i, made := range first {
		if diff := cmp.Diff(documents(t, made.plan), documents(t, second[i].plan)); diff != "" {
			t.Fatalf("seed %d: not the same again: %s", seed, diff)
		}
		if strings.Contains(made.text, "made-for-a-test") {
			t.Fatalf("seed %d: a credential is in %s", seed, made.text)
		}
		if made.plan.Steps == nil {
			refused++
			continue
		}
		composed++
		checkObjects(t, made.plan)
		for _, step := range made.plan.Steps {
			step.Object.DeepCopy() // wants JSON types throughout
			if step.Verb == clustermanager.Ensure && step.Object.GetKind() == "HelmRelease" {
				if fault := policyFault(step.Object); fault != "" {
					t.Fatalf("seed %d: %s: %s", seed, step.Reference(), fault)
				}
			}
		}
	}
	return composed, refused
}

// Whatever is found and asked for: no panic, the same again, no credential, and every release passes the policy.
func FuzzDecisions(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { checkDecision(t, seed) })
}

// The random surveys reach plans and refusals alike.
func TestDecisionsAtRandom(t *testing.T) {
	var composed, refused int
	for seed := range uint64(600) {
		c, r := checkDecision(t, seed)
		composed, refused = composed+c, refused+r
	}
	if composed < 200 || refused < 400 {
		t.Errorf("%d composed and %d refused: the test misses its point", composed, refused)
	}
}
