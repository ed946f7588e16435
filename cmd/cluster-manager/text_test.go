package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func drawn(t *testing.T, tool, answer string) string {
	t.Helper()
	var out strings.Builder
	if err := drawText(&out, tool, []byte(answer)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAnswersAsTables(t *testing.T) {
	for _, test := range []struct{ name, tool, answer, want string }{
		{"clusters", "list_clusters", `{"clusters": [
			{"name": "wc1", "namespace": "org-acme", "releaseVersion": "31.0.0", "ownCluster": false,
			 "gpuOperator": {"status": "present", "provider": "cluster-manager", "readiness": {"release": {"name": "x", "ready": true}}},
			 "serving": {"status": "present", "provider": "cluster-manager", "readiness": {"release": {"ready": false, "reason": "ChildNotReady", "message": "HelmRelease a"}, "cacheClaims": [{}, {}]}},
			 "poolReleases": [{}], "zones": ["a", "b"], "commitTarget": {"repository": "acme/fleet"}},
			{"name": "wc2", "namespace": "org-acme", "releaseVersion": "", "ownCluster": true, "deleting": true,
			 "gpuOperator": {"status": "unknown", "reason": "no answer", "readiness": {"operandsError": "no answer"}}, "serving": {"status": "absent", "readiness": {}}, "poolReleases": [], "zones": []}
		], "clusterApi": {"state": "served"}, "note": "some"}`,
			"NAMESPACE  NAME  RELEASE  OWN  STATE     GPU OPERATOR               SERVING                                             POOLS  CACHE CLAIMS  ZONES  REPOSITORY\n" +
				"org-acme   wc1   31.0.0                  present (cluster-manager)  not ready: present (cluster-manager) ChildNotReady  1      2             a, b   acme/fleet\n" +
				"org-acme   wc2            yes  deleting  unknown                    absent                                              -      ?\n" +
				"org-acme/wc1 serving.readiness.release.message: HelmRelease a\n" +
				"org-acme/wc2 gpuOperator.reason: no answer\n" +
				"note: some\n"},
		{"no cluster", "list_clusters", `{"clusters": [], "clusterApi": {"group": "cluster.x-k8s.io", "state": "absent"}}`,
			"clusters: none\nclusterApi:\n  group: cluster.x-k8s.io\n  state: absent\n"},
		{"pools", "list_node_pools", `{"cluster": "wc1", "nodePools": [{"name": "wc1-gpu", "phase": "creating", "version": "", "replicas": 2, "readyReplicas": 1,
			"instanceTypes": ["g6.xlarge"], "steps": [{"name": "release", "state": "done"}, {"name": "machinePool", "state": "inProgress", "message": "not there yet"}]}]}`,
			"NAME     PHASE     READY  INSTANCE TYPES  STEP\n" +
				"wc1-gpu  creating  1/2    g6.xlarge       machinePool inProgress: not there yet\n" +
				"cluster: wc1\n"},
		{"pools that are ready or unread", "list_node_pools", `{"nodePools": [
			{"name": "a", "phase": "ready", "replicas": 1, "readyReplicas": 1, "steps": [{"name": "nodes", "state": "done", "message": "1 node(s) ready, 1 idle"}]},
			{"name": "b", "steps": [{"name": "release", "state": "done"}, {"name": "nodes", "message": "no way in"}], "notes": ["one", "two"]}]}`,
			"NAME  PHASE  READY  STEP\n" +
				"a     ready  1/1    nodes: 1 node(s) ready, 1 idle\n" +
				"b            ?/?    nodes unknown: no way in\n" +
				"b notes: one, two\n"},
		{"pools of a cluster that are unread", "list_clusters", `{"clusters": [{"name": "wc1", "namespace": "org-acme", "ownCluster": false, "gpuOperator": {"status": "absent"}, "serving": {"status": "absent"}, "poolReleases": [], "poolReleasesNote": "forbidden"}]}`,
			"NAMESPACE  NAME  GPU OPERATOR  SERVING  POOLS  CACHE CLAIMS\norg-acme   wc1   absent        absent   ?      ?\norg-acme/wc1 poolReleasesNote: forbidden\n"},
		{"releases", "list_releases", `{"providers": ["aws"], "releases": [{"provider": "aws", "version": "36.0.0", "state": "active", "offered": true}, {"provider": "aws", "version": "37.0.0", "state": "preview", "offered": false, "note": "not active"}]}`,
			"PROVIDER  VERSION  STATE    OFFERED  NOTE\n" +
				"aws       36.0.0   active   yes\n" +
				"aws       37.0.0   preview  no       not active\n" +
				"providers:\n- aws\n"},
		{"a tool without a view", "get_info", `{"version": "1", "list": [{"a": "x", "b": 1}, {"a": "longer"}]}`,
			"version: 1\nlist:\n  A       B\n  x       1\n  longer\n"},
		{"a dry run of mode commit", "create_node_pool", `{"cluster": "wc1", "namespace": "org-acme", "mode": "commit", "dryRun": true, "objects": [], "pool": "gpu-l4", "chartVersion": "1.4.1",
			"manifests": [{"kind": "HelmRelease", "spec": {"values": {"a": "b\nc"}}}, {"kind": "Secret"}], "gpuOperator": {"status": "absent"}, "serving": {"status": "present", "provider": "chart", "evidence": ["x"]},
			"sizes": [{"instanceType": "g6.xlarge", "size": "xlarge", "vcpu": 4, "memoryGiB": 16, "gpus": 1, "gpuMemoryGiB": 24, "usableVcpu": 3.5, "pricePerHourUSD": 1.0}],
			"warnings": ["look out"], "commit": {"repository": "acme/fleet", "base": "main", "branch": "b", "kustomization": "default/wc1", "directory": "d",
				"files": [{"path": "d/x.yaml", "action": "add", "content": "apiVersion: v1\nkind: X\n"}], "objects": [{"apiVersion": "v1", "kind": "HelmRelease", "namespace": "org-acme", "name": "x", "action": "add"}],
				"proof": {"built": true, "note": "half"}, "liveSteps": ["the backend is registered"]}, "nextStep": "call again without dryRun"}`,
			"cluster org-acme/wc1, node pool gpu-l4: dry run, nothing was pushed\n" +
				"repository acme/fleet: branch b onto main, applied by Kustomization default/wc1\n" +
				"proof: built as Flux builds it: half\n" +
				"\nACTION  FILE\nadd     d/x.yaml\n" +
				"\nACTION  KIND         NAMESPACE  NAME\nadd     HelmRelease  org-acme   x\n" +
				"\nINSTANCE TYPE  VCPU  MEMORY GIB  GPUS  GPU MEMORY GIB  USD AN HOUR\ng6.xlarge      4     16          1     24              1.0\n" +
				"\nchartVersion: 1.4.1\ngpuOperator: absent\nserving: present (chart)\n" +
				"manifests: 2, shown by -o yaml and -o json\nafter the merge: the backend is registered\nwarning: look out\nnext: call again without dryRun\n"},
		{"a pull request", "delete_node_pool", `{"cluster": "wc1", "namespace": "org-acme", "mode": "commit", "dryRun": false, "objects": [], "lastPool": true,
			"commit": {"repository": "acme/fleet", "base": "main", "branch": "b", "kustomization": "default/wc1", "files": [{"path": "x", "action": "remove"}], "proof": {"built": false}, "pullRequest": "https://github.com/acme/fleet/pull/1", "number": 1}}`,
			"cluster org-acme/wc1: pull request https://github.com/acme/fleet/pull/1\n" +
				"repository acme/fleet: branch b onto main, applied by Kustomization default/wc1\nproof: not built\n" +
				"\nACTION  FILE\nremove  x\n\nlastPool: true\n"},
		{"nothing to propose", "create_node_pool", `{"cluster": "wc1", "namespace": "org-acme", "mode": "commit", "dryRun": false, "objects": [], "nextStep": "nothing"}`,
			"cluster org-acme/wc1: nothing to propose\n\nnext: nothing\n"},
		{"written in part", "delete_node_pool", `{"cluster": "wc1", "namespace": "org-acme", "mode": "apply", "dryRun": false, "objects": [{"kind": "HelmRelease", "name": "x", "action": "delete", "changes": ["a", "b"]}], "partial": true}`,
			"cluster org-acme/wc1: done in part\n\nACTION  KIND         NAME  CHANGES\ndelete  HelmRelease  x     a, b\n\n"},
		{"a view without its list", "list_clusters", `{"other": true}`, "other: true\n"},
		{"control characters", "list_changes", `{"changes": [{"repository": "a/b", "number": 7, "title": "x\u001b[2J\u009b2J", "state": "open", "url": "u"}]}`,
			"REPOSITORY  NUMBER  STATE  TITLE     URL\n" +
				"a/b         7       open   x [2J 2J  u\n"},
		{"no object", "list_clusters", `text`, "text\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, drawn(t, test.tool, test.answer)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestColoursChangeNoWidth(t *testing.T) {
	rows := [][]string{{"present (chart)", "x"}, {"absent", "y"}, {"not ready: present", "z"}}
	var plainText, coloured strings.Builder
	drawRows(&plainText, pen{}, "", []string{"A", "B"}, rows)
	drawRows(&coloured, pen{colours: true}, "", []string{"A", "B"}, rows)
	want := "\x1b[2mA\x1b[0m                   \x1b[2mB\x1b[0m\n" +
		"\x1b[32mpresent (chart)\x1b[0m     x\n\x1b[2mabsent\x1b[0m              y\n\x1b[31mnot ready: present\x1b[0m  z\n"
	if diff := cmp.Diff(want, coloured.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	stripped := strings.NewReplacer("\x1b[2m", "", "\x1b[31m", "", "\x1b[32m", "", "\x1b[0m", "").Replace(coloured.String())
	if diff := cmp.Diff(plainText.String(), stripped); diff != "" {
		t.Errorf("(-plain +coloured)\n%s", diff)
	}
}

func TestColoursOnATerminalAlone(t *testing.T) {
	var out strings.Builder
	if penFor(&out).colours {
		t.Error("colours where nobody sees them")
	}
}
