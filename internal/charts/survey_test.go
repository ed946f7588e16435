package charts

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const connectivityEntry = `
components:
  agent-platform-connectivity:
    chart: agent-platform-connectivity
    repository: oci://gsoci.azurecr.io/charts
`

// surveyOf reads from a server that stands for every registry, as a rule that takes the platform's version.
func surveyOf(server *server) *Survey {
	registry := New(Options{Address: func(string) string { return server.host() }})
	return NewSurvey(registry, func(platform, pin string, gatewayAPI bool) (string, string, error) {
		switch {
		case platform == "":
			return "", "", clustermanager.Refuse("no version")
		case pin != "":
			platform = pin
		case gatewayAPI:
			platform = "4.117.0"
		}
		return "oci://gsoci.azurecr.io/charts/agent-platform", platform, nil
	})
}

func TestTheChartsOfASlice(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	server.publish("agent-platform", "4.86.0", map[string]string{"values.yaml": connectivityEntry + "    releasedWithChart: true\n"})
	server.publish("agent-platform", "4.117.0", map[string]string{"values.yaml": connectivityEntry + "    versionRange: \">=4.0.0 <5.0.0\"\n    semverFilter: ^4\\.8\n"})
	for version, size := range map[string]string{"4.86.0": "100Gi", "4.87.0": "200Gi", "4.9.0": "300Gi", "4.88.0-rc.1": "400Gi"} {
		server.publish("agent-platform-connectivity", version, map[string]string{
			"values.yaml":                          "modelServing: {cache: {pvc: {size: " + size + "}}}\n",
			"files/model-serving/presets/b.yaml":   "metadata: {name: b}\nspec: {requirements: {weightsGiB: 8}}\n",
			"files/model-serving/presets/a.yaml":   "metadata: {name: a}\nspec: {displayName: A, resources: {gpus: 2, requests: {cpu: \"3\", memory: 12Gi}}, requirements: {overheadGiB: 4}}\n",
			"files/model-serving/presets/c.yml":    "not a preset",
			"files/model-serving/presets/d/e.yaml": "no preset either",
		})
	}
	presets := []clustermanager.Preset{
		{Name: "a", DisplayName: "A", CPU: "3", Memory: "12Gi", GPUs: 2, OverheadGiB: 4},
		{Name: "b", GPUs: 1, WeightsGiB: 8, OverheadGiB: 30},
	}
	for name, test := range map[string]struct {
		pin                        string
		gatewayAPI                 bool
		version, connects, hasSize string
	}{
		"released with":      {"", false, "4.86.0", "4.86.0", "100Gi"},
		"pinned":             {"4.117.0", false, "4.117.0", "4.87.0", "200Gi"},
		"the range's newest": {"", true, "4.117.0", "4.87.0", "200Gi"},
	} {
		got, err := surveyOf(server).Slice(t.Context(), "4.86.0", test.pin, test.gatewayAPI)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		connectivity, known := got.Connectivity.Get()
		if !known {
			t.Errorf("%s: connectivity: %s", name, got.Connectivity.Reason())
		}
		want := clustermanager.ConnectivityChart{
			Version: test.connects, Presets: presets,
			Values: map[string]any{"modelServing": map[string]any{"cache": map[string]any{"pvc": map[string]any{"size": test.hasSize}}}},
		}
		if diff := cmp.Diff(want, connectivity); diff != "" || got.Version != test.version {
			t.Errorf("%s: version %s, connectivity:\n%s", name, got.Version, diff)
		}
		if values, known := got.Values.Get(); !known || values["components"] == nil {
			t.Errorf("%s: values %v %v", name, values, got.Values.Err())
		}
	}
}

func TestTheChartsOfASliceThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const platform, connectivity = "chart oci://gsoci.azurecr.io/charts/agent-platform 4.86.0: ", "chart oci://gsoci.azurecr.io/charts/agent-platform-connectivity"
	entry := platform + "reading components.agent-platform-connectivity of its values: "
	released := connectivityEntry + "    releasedWithChart: true\n"
	for name, test := range map[string]struct {
		// values are the platform chart's, "-" for a chart without; shipped is the connectivity chart's, nil: there is none.
		values  string
		shipped map[string]string
		want    string
		// both says that the platform's own values are unknown for the same reason.
		both bool
	}{
		"no values.yaml":        {"-", nil, platform + "it has no values.yaml", true},
		"no mapping":            {"- a\n", nil, platform + "reading its values.yaml: no mapping of YAML", true},
		"no component":          {"components: {}\n", nil, entry + "it has no such component", false},
		"no chart":              {"components: {agent-platform-connectivity: {repository: oci://x, releasedWithChart: true}}\n", nil, entry + "it names no chart or no repository", false},
		"no repository":         {"components: {agent-platform-connectivity: {chart: x, releasedWithChart: true}}\n", nil, entry + "it names no chart or no repository", false},
		"neither":               {connectivityEntry, nil, entry + "it is neither released with the chart nor has it a versionRange", false},
		"a filter alone":        {released + "    semverFilter: x\n", nil, entry + "it is neither released with the chart nor has it a versionRange", false},
		"no range":              {connectivityEntry + "    versionRange: newest\n", map[string]string{}, entry + `versionRange "newest" is no range of versions`, false},
		"no filter":             {connectivityEntry + "    versionRange: \">1\"\n    semverFilter: (\n", map[string]string{}, entry + `semverFilter "(" is no regular expression`, false},
		"none in the range":     {connectivityEntry + "    versionRange: <1\n", map[string]string{}, entry + `none of the 1 tags of oci://gsoci.azurecr.io/charts/agent-platform-connectivity is in versionRange "<1" (semverFilter "")`, false},
		"no chart to list":      {connectivityEntry + "    versionRange: <1\n", nil, connectivity + ": the registry has no such chart", false},
		"unpublished":           {released, nil, connectivity + ": version 4.86.0 is not published in the registry", false},
		"connectivity's values": {released, map[string]string{}, connectivity + " 4.86.0: it has no values.yaml", false},
		"a preset without name": {released, map[string]string{"values.yaml": "a: 1", "files/model-serving/presets/a.yaml": "spec: {}"}, connectivity + " 4.86.0: reading files/model-serving/presets/a.yaml: it has no metadata.name", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t)
			files := map[string]string{"values.yaml": test.values}
			if test.values == "-" {
				files = nil
			}
			server.publish("agent-platform", "4.86.0", files)
			if test.shipped != nil {
				server.publish("agent-platform-connectivity", "4.86.0", test.shipped)
			}
			got, err := surveyOf(server).Slice(t.Context(), "4.86.0", "", false)
			if err != nil || got.Version != "4.86.0" || got.Connectivity.Reason() != test.want {
				t.Errorf("got  %v %s\nwant %s", err, got.Connectivity.Reason(), test.want)
			}
			if unknown := got.Values.Err() != nil; unknown != test.both {
				t.Errorf("values: %v", got.Values.Err())
			}
		})
	}
}

// What can be corrected is a refusal with its way out; what the registry cannot say is none.
func TestUnpublishedChartsAreRefused(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	server.publish("giantswarm/release-aws", "36.0.0", nil)
	survey := surveyOf(server)
	if _, err := survey.Slice(t.Context(), "", "", false); clustermanager.ReasonOf(err) != clustermanager.ReasonRefused {
		t.Errorf("the rule's refusal is %v", err)
	}
	for pin, want := range map[string]clustermanager.Reason{"4.99.0": clustermanager.ReasonRefused, "": clustermanager.ReasonError} {
		got, err := survey.Slice(t.Context(), "4.86.0", pin, false)
		if err != nil || clustermanager.ReasonOf(got.Values.Err()) != want || clustermanager.ReasonOf(got.Connectivity.Err()) != want {
			t.Errorf("pin %q: %v, %v", pin, err, got.Values.Err())
		}
	}
	_, err := survey.Release(t.Context(), "aws", "36.0.1")
	want := "chart oci://gsoci.azurecr.io/charts/giantswarm/release-aws: version 36.0.1 is not published in the registry: choose a release that list_releases offers"
	if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || err.Error() != want {
		t.Errorf("got %v", err)
	}
	server.Close()
	if _, err := survey.Release(t.Context(), "aws", "36.0.1"); clustermanager.ReasonOf(err) != clustermanager.ReasonError {
		t.Errorf("a registry that does not answer is %v", err)
	}
}

func TestAWholeChart(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	server.publish("agent-platform", "4.86.0", map[string]string{"values.yaml": connectivityEntry + "    releasedWithChart: true\n"})
	server.publish("agent-platform", "4.87.0", map[string]string{"values.yaml": connectivityEntry + "    releasedWithChart: true\n"})
	server.publish("agent-platform-connectivity", "4.86.0", nil)
	server.publish("release-aws", "36.0.0", nil)
	for at, want := range map[string]string{
		"agent-platform 4.86.0": "agent-platform agent-platform-connectivity", "release-aws 36.0.0": "release-aws",
		"agent-platform 4.87.0": "agent-platform version 4.87.0 is not published", "release-aws 37.0.0": "version 37.0.0 is not published",
	} {
		name, version, _ := strings.Cut(at, " ")
		charts, err := surveyOf(server).Whole(t.Context(), "oci://gsoci.azurecr.io/charts/"+name, version)
		var got []string
		for _, chart := range charts {
			got = append(got, chart.Name)
		}
		text := strings.Join(got, " ")
		if err != nil {
			_, cause, _ := strings.Cut(err.Error(), ": ")
			text = strings.TrimSpace(text + " " + cause)
		}
		if !strings.HasPrefix(text, want) {
			t.Errorf("%s: %s, want %s", at, text, want)
		}
	}
}

func TestReleaseCharts(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	publish := func(version string, files map[string]string) {
		files["Chart.yaml"] = "name: release-aws\nversion: " + version + "\n"
		server.push("giantswarm/release-aws", version, contentType, pack(t, "release-aws", files))
	}
	publish("36.0.0", map[string]string{"values.yaml": "a: 1\n", "values.schema.json": `{"type":"object"}`, rbacBootstrapFile: "bindings: []\n"})
	publish("35.0.0", map[string]string{})
	publish("34.0.0", map[string]string{"values.schema.json": "{"})
	survey := surveyOf(server)
	tags, err := survey.Tags(t.Context(), "aws")
	slices.Sort(tags)
	if err != nil || !slices.Equal(tags, []string{"34.0.0", "35.0.0", "36.0.0"}) {
		t.Errorf("tags %v, %v", tags, err)
	}
	url := "oci://gsoci.azurecr.io/charts/giantswarm/release-aws"
	for version, want := range map[string]clustermanager.ReleaseChart{
		"36.0.0": {URL: url, Version: "36.0.0", Values: map[string]any{"a": 1.0}, Schema: []byte(`{"type":"object"}`), RBACBootstrap: new("bindings: []\n")},
		"35.0.0": {URL: url, Version: "35.0.0", Values: map[string]any{}},
	} {
		got, err := survey.Release(t.Context(), "aws", version)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", version, err, diff)
		}
	}
	if _, err := survey.Release(t.Context(), "aws", "34.0.0"); err == nil || !strings.HasSuffix(err.Error(), "34.0.0: reading its values.schema.json: it is no JSON") {
		t.Errorf("got %v", err)
	}
	var unpublished *UnpublishedError
	if _, err := survey.Tags(t.Context(), "azure"); !errors.As(err, &unpublished) {
		t.Errorf("tags of no chart: %v", err)
	}
}
