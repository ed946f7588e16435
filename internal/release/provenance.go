package release

import (
	"encoding/json"
	"fmt"
	"strings"
)

// buildType is GitHub's own for a workflow run; it says what each parameter below means
// (https://actions.github.io/buildtypes/workflow/v1).
const buildType = "https://actions.github.io/buildtypes/workflow/v1"

// builder is the workflow that builds and signs, which the one of the run calls: the signature's certificate names the same.
const builder = ".github/workflows/release.yaml"

// needed are the variables of a workflow run that the provenance is made of
// (https://docs.github.com/en/actions/reference/workflows-and-actions/variables).
var needed = []string{
	"GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_REPOSITORY_ID", "GITHUB_REPOSITORY_OWNER_ID", "GITHUB_EVENT_NAME",
	"GITHUB_REF", "GITHUB_SHA", "GITHUB_WORKFLOW_REF", "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "RUNNER_ENVIRONMENT",
}

// Provenance is the predicate of SLSA 1.0 (https://slsa.dev/spec/v1.0/provenance) of a workflow run, from its variables:
// which commit was built, by which workflow, in which run. A variable that is missing is an error, since a provenance
// with a gap proves nothing.
func Provenance(variables map[string]string) ([]byte, error) {
	for _, name := range needed {
		if variables[name] == "" {
			return nil, fmt.Errorf("variable %s: it is not set, so this is no workflow run", name)
		}
	}
	repository := variables["GITHUB_SERVER_URL"] + "/" + variables["GITHUB_REPOSITORY"]
	file, _, _ := strings.Cut(strings.TrimPrefix(variables["GITHUB_WORKFLOW_REF"], variables["GITHUB_REPOSITORY"]+"/"), "@")
	predicate := map[string]any{
		"buildDefinition": map[string]any{
			"buildType": buildType,
			"externalParameters": map[string]any{"workflow": map[string]any{
				"ref": variables["GITHUB_REF"], "repository": repository, "path": file,
			}},
			"internalParameters": map[string]any{"github": map[string]any{
				"event_name": variables["GITHUB_EVENT_NAME"], "repository_id": variables["GITHUB_REPOSITORY_ID"],
				"repository_owner_id": variables["GITHUB_REPOSITORY_OWNER_ID"], "runner_environment": variables["RUNNER_ENVIRONMENT"],
			}},
			"resolvedDependencies": []any{map[string]any{
				"uri": "git+" + repository + "@" + variables["GITHUB_REF"], "digest": map[string]any{"gitCommit": variables["GITHUB_SHA"]},
			}},
		},
		"runDetails": map[string]any{
			"builder": map[string]any{"id": repository + "/" + builder + "@" + variables["GITHUB_REF"]},
			"metadata": map[string]any{
				"invocationId": repository + "/actions/runs/" + variables["GITHUB_RUN_ID"] + "/attempts/" + variables["GITHUB_RUN_ATTEMPT"],
			},
		},
	}
	return json.MarshalIndent(predicate, "", "  ")
}
