package gitops

import (
	"strings"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

func poolMessage() Message {
	return Message{
		Tool: "create_node_pool", Login: "jane", Scope: "wc1", Summary: "add GPU node pool gpu-l4", Subject: "gazelle/wc1/gpu-l4", Cluster: "org-acme/wc1",
		Releases: []Release{{Name: "wc1-gpu-l4", Chart: "gpu-node-pool", Version: ">=0.8.0 <1.0.0"}},
		Files: []clustermanager.FileChange{
			{Path: "clusters/wc1/cluster-manager/wc1-gpu-l4.yaml", Action: clustermanager.FileAdd},
			{Path: "clusters/wc1/kustomization.yaml", Action: clustermanager.FileUnchanged},
		},
		Objects: []clustermanager.ObjectDiff{{
			ObjectReference: clustermanager.ObjectReference{APIVersion: "helm.toolkit.fluxcd.io/v2", Kind: "HelmRelease", Namespace: "org-acme", Name: "wc1-gpu-l4"},
			Action:          clustermanager.DiffChange, Changes: []string{"spec.values.pool.zones"},
		}},
		Proof: clustermanager.Proof{Built: true},
		Target: clustermanager.Target{
			Repository:    clustermanager.GitRepository{Owner: "acme", Name: "fleet", Branch: "main"},
			Kustomization: clustermanager.NamespacedName{Namespace: "flux-giantswarm", Name: "wc1"}, Interval: time.Minute,
		},
	}
}

func TestMessageOfAPool(t *testing.T) {
	message := poolMessage()
	if got, want := message.Title(), "feat(wc1): add GPU node pool gpu-l4"; got != want {
		t.Errorf("title %q, want %q", got, want)
	}
	if got, want := message.Trailer(), "create_node_pool gazelle/wc1/gpu-l4"; got != want {
		t.Errorf("trailer %q, want %q", got, want)
	}
	want := "Cluster `org-acme/wc1`: add GPU node pool gpu-l4.\n\n" +
		"Opened by @jane through cluster-manager (`create_node_pool`, mode commit).\n\n" +
		"| release | chart | version |\n| --- | --- | --- |\n| `wc1-gpu-l4` | `gpu-node-pool` | `>=0.8.0 <1.0.0` |\n\n" +
		"| file | action |\n| --- | --- |\n| `clusters/wc1/cluster-manager/wc1-gpu-l4.yaml` | add |\n\n" +
		"Flux's build of the tree was made before and after this change.\n\n" +
		"<details>\n<summary>Objects that change: 1</summary>\n\n| action | object | changes |\n| --- | --- | --- |\n" +
		"| change | `HelmRelease org-acme/wc1-gpu-l4` | `spec.values.pool.zones` |\n\n</details>\n\n" +
		"### After the merge\n\nFlux Kustomization `flux-giantswarm/wc1` applies it from `acme/fleet` at branch `main`, within 1m of the merge.\n"
	if got := message.Body(); got != want {
		t.Errorf("body:\n%s\nwant:\n%s", got, want)
	}
}

func TestBodySaysWhatAMergeDoesNotDo(t *testing.T) {
	message := poolMessage()
	message.Target.Suspended = true
	message.Proof = clustermanager.Proof{Note: "the entry https://example.test/x is not loaded"}
	message.LiveSteps = []string{"after the merge call delete_node_pool"}
	message.Warnings = []string{"the operator is not composed"}
	body := message.Body()
	for _, want := range []string{
		"once it is resumed: it is suspended today", "could not be made. the entry https://example.test/x",
		"- after the merge call delete_node_pool\n", "### Warnings\n\n- the operator is not composed\n",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the body lacks %q:\n%s", want, body)
		}
	}
}

// What a repository chose must not become Markdown of its own: no mention, tag, link, cell or line.
func TestBodyKeepsHostileNamesInTheirPlace(t *testing.T) {
	message := poolMessage()
	hostile := "x` | @everyone <img src=y> [a](b)\n# heading `` ```"
	message.Files[0].Path = hostile
	message.Objects[0].Name = hostile
	message.Warnings = []string{"<script> @everyone [a](b)\n# heading"}
	body := message.Body()
	for _, line := range strings.Split(body, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "# heading") {
			t.Errorf("a line of its own: %q", line)
		}
	}
	for _, bad := range []string{"<script>", "- <", "] @everyone"} {
		if strings.Contains(body, bad) {
			t.Errorf("the body holds %q:\n%s", bad, body)
		}
	}
	if !strings.Contains(body, "```` x` \\| @everyone <img src=y> [a](b) # heading `` ``` ````") {
		t.Errorf("the hostile path left its code span:\n%s", body)
	}
}

func TestBodyIsBounded(t *testing.T) {
	message := poolMessage()
	for range 5000 {
		message.Objects = append(message.Objects, message.Objects[0])
	}
	if body := message.Body(); len(body) > 60_000 || !strings.Contains(body, "and 4801 more") {
		t.Errorf("%d characters for 5,001 objects", len(body))
	}
}

func TestInterval(t *testing.T) {
	for duration, want := range map[time.Duration]string{time.Minute: "1m", 10 * time.Minute: "10m", time.Hour: "1h", 90 * time.Minute: "1h30m", 30 * time.Second: "30s", 90 * time.Second: "1m30s"} {
		if got := Interval(duration); got != want {
			t.Errorf("Interval(%s) = %s, want %s", duration, got, want)
		}
	}
}
