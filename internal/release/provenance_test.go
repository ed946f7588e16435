package release

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// workflowRun is the variables of a run that calls the release workflow.
func workflowRun() map[string]string {
	return map[string]string{
		"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "example/cluster-manager",
		"GITHUB_REPOSITORY_ID": "7", "GITHUB_REPOSITORY_OWNER_ID": "8", "GITHUB_EVENT_NAME": "push",
		"GITHUB_REF": "refs/heads/main", "GITHUB_SHA": "0123456789abcdef0123456789abcdef01234567",
		"GITHUB_WORKFLOW_REF": "example/cluster-manager/.github/workflows/ci.yaml@refs/heads/main",
		"GITHUB_RUN_ID":       "9", "GITHUB_RUN_ATTEMPT": "2", "RUNNER_ENVIRONMENT": "github-hosted",
		"GITHUB_TOKEN": "made-for-this-test",
	}
}

func TestProvenance(t *testing.T) {
	t.Parallel()
	predicate, err := Provenance(workflowRun())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "buildDefinition": {
    "buildType": "https://actions.github.io/buildtypes/workflow/v1",
    "externalParameters": {"workflow": {
      "ref": "refs/heads/main", "repository": "https://github.com/example/cluster-manager", "path": ".github/workflows/ci.yaml"}},
    "internalParameters": {"github": {
      "event_name": "push", "repository_id": "7", "repository_owner_id": "8", "runner_environment": "github-hosted"}},
    "resolvedDependencies": [{
      "uri": "git+https://github.com/example/cluster-manager@refs/heads/main",
      "digest": {"gitCommit": "0123456789abcdef0123456789abcdef01234567"}}]},
  "runDetails": {
    "builder": {"id": "https://github.com/example/cluster-manager/.github/workflows/release.yaml@refs/heads/main"},
    "metadata": {"invocationId": "https://github.com/example/cluster-manager/actions/runs/9/attempts/2"}}}`
	var got, wanted any
	if err := json.Unmarshal(predicate, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("predicate (-want +got):\n%s", diff)
	}
	if strings.Contains(string(predicate), "made-for-this-test") {
		t.Error("the predicate holds a token")
	}
}

func TestProvenanceHasNoGap(t *testing.T) {
	t.Parallel()
	for _, name := range needed {
		variables := maps.Clone(workflowRun())
		delete(variables, name)
		if _, err := Provenance(variables); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: error %v", name, err)
		}
	}
}
