package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const root = "../../.."

// pinned is an action at a commit, with the version that this is; a workflow of this repository has the commit's own.
var pinned = regexp.MustCompile(`^(\S+@[0-9a-f]{40} # v\d+(\.\d+)*|\./\.github/workflows/\S+\.yaml)$`)

// complaints are what a workflow leaves open.
func complaints(source string) []string {
	var found []string
	for line := range strings.SplitSeq(source, "\n") {
		_, used, uses := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), "uses:")
		if uses && !strings.HasPrefix(strings.TrimSpace(line), "#") && !pinned.MatchString(strings.TrimSpace(used)) {
			found = append(found, "not pinned: "+strings.TrimSpace(used))
		}
	}
	var workflow struct {
		Permissions *map[string]string `json:"permissions"`
		Jobs        map[string]struct {
			Permissions *map[string]string `json:"permissions"`
		} `json:"jobs"`
	}
	if err := yaml.Unmarshal([]byte(source), &workflow); err != nil {
		return append(found, err.Error())
	}
	if workflow.Permissions == nil || len(*workflow.Permissions) > 0 {
		found = append(found, "the workflow itself has permissions")
	}
	if len(workflow.Jobs) == 0 {
		found = append(found, "no job")
	}
	for name, job := range workflow.Jobs {
		if job.Permissions == nil {
			found = append(found, "job "+name+" states no permissions")
		}
	}
	return found
}

func TestWorkflowsArePinnedAndStatePermissions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(root + "/.github/workflows/*.y*ml")
	if err != nil || len(files) == 0 {
		t.Fatalf("workflows: %v, %v", files, err)
	}
	for _, file := range files {
		for _, complaint := range complaints(read(t, file)) {
			t.Errorf("%s: %s", filepath.Base(file), complaint)
		}
	}
	for _, used := range []string{"a/b@v4", "a/b@main # v4.2.2", "a/b@11bd71901bbe5b1630ceea73d27597364c9af683", "docker://x:1"} {
		if len(complaints("permissions: {}\njobs:\n  x:\n    permissions: {}\n    steps:\n      - uses: "+used+"\n")) != 1 {
			t.Errorf("uses: %s passes", used)
		}
	}
	for _, source := range []string{"permissions: {}\njobs:\n  x: {}\n", "jobs:\n  x:\n    permissions: {}\n", "permissions: {}\njobs: {}\n"} {
		if len(complaints(source)) != 1 {
			t.Errorf("passes:\n%s", source)
		}
	}
}

func TestTheDockerfileGivesWhatKoGives(t *testing.T) {
	t.Parallel()
	dockerfile, made := read(t, root+"/Dockerfile"), read(t, root+"/Makefile")
	for _, line := range []string{`ENTRYPOINT ["` + entrypoint + `"]`, "USER " + user, "COPY dist/cluster-manager-linux-amd64 " + entrypoint} {
		if !strings.Contains(dockerfile, "\n"+line+"\n") {
			t.Errorf("the Dockerfile lacks %s", line)
		}
	}
	if strings.Contains(dockerfile, "\nCMD") {
		t.Error("the Dockerfile has a command, which ko gives none of")
	}
	if !strings.Contains(made, "--image-user "+user+" ") {
		t.Errorf("the Makefile has ko give another user than %s", user)
	}
	var ko struct {
		DefaultBaseImage string
		Builds           []struct{ Main string }
	}
	if err := yaml.Unmarshal([]byte(read(t, root+"/.ko.yaml")), &ko); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(dockerfile, "\nARG BASE="+ko.DefaultBaseImage+"\n") {
		t.Errorf("the Dockerfile's base is not ko's, %s", ko.DefaultBaseImage)
	}
	// ko names the entrypoint after the folder of the program.
	if len(ko.Builds) != 1 || "/ko-app/"+filepath.Base(ko.Builds[0].Main) != entrypoint {
		t.Errorf("ko builds %+v, not %s", ko.Builds, entrypoint)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
