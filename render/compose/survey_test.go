package compose

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// surveyOf reads testdata/surveys/<name>.json, afresh for each test so that it may be changed.
func surveyOf(t *testing.T, name string) clustermanager.Survey {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "surveys", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var survey clustermanager.Survey
	if err := json.Unmarshal(text, &survey); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return survey
}

// pool is a request for a plain pool of a cluster in mode commit.
func pool(cluster, name string) clustermanager.CreateNodePoolRequest {
	return clustermanager.CreateNodePoolRequest{Cluster: cluster, Name: name, Serving: new(false), Mode: clustermanager.ModeCommit}
}

func composed(t *testing.T, request clustermanager.CreateNodePoolRequest, survey clustermanager.Survey) Pool {
	t.Helper()
	pool, err := NodePool(request, survey)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

// documents is the YAML of the objects that a plan writes, in order.
func documents(t *testing.T, plan clustermanager.Plan) string {
	t.Helper()
	var texts []string
	for _, step := range plan.Steps {
		if step.Verb == clustermanager.Ensure {
			text, err := yaml.Marshal(step.Object.Object)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
	}
	return strings.Join(texts, "---\n")
}

// listing writes the objects that a plan writes as lines of "path = JSON scalar", keys sorted.
func listing(plan clustermanager.Plan) string {
	var lines []string
	for _, step := range plan.Steps {
		if step.Verb == clustermanager.Ensure {
			lines = append(lines, fmt.Sprintf("# doc %d: %s %s", strings.Count(strings.Join(lines, "\n"), "# doc"), step.Object.GetKind(), step.Object.GetName()))
			lines = append(lines, flat("", step.Object.Object)...)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func flat(path string, value any) []string {
	var lines []string
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			next := strings.TrimPrefix(path+"."+key, ".")
			if strings.ContainsAny(key, "./") {
				next = fmt.Sprintf("%s[%q]", path, key)
			}
			lines = append(lines, flat(next, value[key])...)
		}
		if len(value) > 0 {
			return lines
		}
	case string:
		var document map[string]any
		if strings.HasSuffix(path, `.yaml"]`) && yaml.Unmarshal([]byte(value), &document) == nil {
			for _, line := range flat("", document) {
				lines = append(lines, path+" -> "+line)
			}
			return lines
		}
	case []any:
		for i, entry := range value {
			lines = append(lines, flat(fmt.Sprintf("%s[%d]", path, i), entry)...)
		}
		if len(value) > 0 {
			return lines
		}
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	return []string{path + " = " + strings.TrimSpace(text.String())}
}
