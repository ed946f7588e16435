package mcptools

import (
	"encoding/json"
	"fmt"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	// bytesOfAToken is how many bytes of JSON make a token, roughly, for every model.
	bytesOfAToken = 4
	// mostTokens is what the list of all tools may take of a model's memory, mostWithoutOutput the same without output
	// schemas, which not every client hands on.
	mostTokens        = 9_000
	mostWithoutOutput = 5_000
)

// toolsList is the answer to tools/list, with the output schemas or without.
func toolsList(t testing.TB, withOutput bool) []byte {
	t.Helper()
	made, err := New(Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	var declared []any
	for _, tool := range made.List() {
		declaration := declaration(tool)
		if !withOutput {
			declaration.RawOutputSchema = nil
		}
		declared = append(declared, declaration)
	}
	return encode(t, map[string]any{"tools": declared})
}

func encode(t testing.TB, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func twentyClusters() ClusterList {
	fleet := clustermanager.Fleet{ClusterAPI: clustermanager.APIState{Group: "cluster.x-k8s.io", Version: "v1beta1", State: clustermanager.APIServed}}
	for number := range 20 {
		fleet.Clusters = append(fleet.Clusters, wholeCluster(fmt.Sprintf("wc%d", number)))
	}
	return clusterList(fleet, nil)
}

func TestWordsOfTheTools(t *testing.T) {
	for _, test := range []struct {
		name  string
		bytes []byte
		most  int
	}{
		{"tools/list", toolsList(t, true), mostTokens},
		{"tools/list without output schemas", toolsList(t, false), mostWithoutOutput},
	} {
		tokens := len(test.bytes) / bytesOfAToken
		t.Logf("%s: %d tokens", test.name, tokens)
		if tokens > test.most {
			t.Errorf("%s takes %d tokens, most %d", test.name, tokens, test.most)
		}
	}
	t.Logf("list_clusters for 20 clusters: %d tokens", len(encode(t, twentyClusters()))/bytesOfAToken)
}

func TestOutputSchemasAreShortOnTheWireAndTrue(t *testing.T) {
	for _, tool := range tools(t).List() {
		if got := len(tool.outputText); got > mostOutputBytes {
			t.Errorf("tool %s: %d bytes of output schema, most %d", tool.Name, got, mostOutputBytes)
		}
	}
	listing := tool(t, "list_clusters")
	var short map[string]any
	if err := json.Unmarshal(listing.outputText, &short); err != nil {
		t.Fatal(err)
	}
	cluster := short["properties"].(map[string]any)["clusters"].(map[string]any)["items"].(map[string]any)
	serving := cluster["properties"].(map[string]any)["serving"].(map[string]any)
	if serving["type"] != "object" || serving["properties"] != nil {
		t.Errorf("a cluster's serving is %v: as deep as fits are the fields of a cluster", serving)
	}
	if listing.Output.Properties["clusters"].Items.Properties["serving"].Properties["readiness"] == nil {
		t.Error("the whole schema, which the documentation has, is cut")
	}
}

// BenchmarkWords reports how much of a model's memory the tools and a large answer take, at four bytes a token.
func BenchmarkWords(b *testing.B) {
	for _, workload := range []struct {
		name  string
		bytes []byte
	}{
		{"tools-list", toolsList(b, true)},
		{"tools-list-without-output-schemas", toolsList(b, false)},
		{"list_clusters-20", encode(b, twentyClusters())},
	} {
		b.Run(workload.name+"/way=ours", func(b *testing.B) {
			for b.Loop() {
				_ = len(workload.bytes)
			}
			b.ReportMetric(float64(len(workload.bytes)/bytesOfAToken), "tokens")
		})
	}
}
