package proof

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// places are all fields through which kustomize loads something, as text after the resources of a kustomization; %s is
// the entry.
var places = map[string]string{
	"resources":                     "- %s\n",
	"bases":                         "bases:\n- %s\n",
	"components":                    "components:\n- %s\n",
	"crds":                          "crds:\n- %s\n",
	"configurations":                "configurations:\n- %s\n",
	"openapi.path":                  "openapi:\n  path: %s\n",
	"configMapGenerator.files":      "configMapGenerator:\n- name: g\n  files:\n  - %s\n",
	"configMapGenerator.files key":  "configMapGenerator:\n- name: g\n  files:\n  - key=%s\n",
	"configMapGenerator.envs":       "configMapGenerator:\n- name: g\n  envs:\n  - %s\n",
	"configMapGenerator.env":        "configMapGenerator:\n- name: g\n  env: %s\n",
	"secretGenerator.files":         "secretGenerator:\n- name: g\n  files:\n  - %s\n",
	"secretGenerator.envs":          "secretGenerator:\n- name: g\n  envs:\n  - %s\n",
	"patches.path":                  "patches:\n- path: %s\n  target: {kind: ConfigMap}\n",
	"patchesStrategicMerge":         "patchesStrategicMerge:\n- %s\n",
	"patchesJson6902.path":          "patchesJson6902:\n- path: %s\n  target: {version: v1, kind: ConfigMap, name: wc1}\n",
	"replacements.path":             "replacements:\n- path: %s\n",
	"generators":                    "generators:\n- %s\n",
	"transformers":                  "transformers:\n- %s\n",
	"validators":                    "validators:\n- %s\n",
	"upper case":                    "Components:\n- %s\n",
	"inline PatchTransformer":       "transformers:\n- |\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: p}\n  path: %s\n  target: {kind: ConfigMap}\n",
	"inline PatchStrategicMerge":    "transformers:\n- |\n  apiVersion: builtin\n  kind: PatchStrategicMergeTransformer\n  metadata: {name: p}\n  paths: [\"%s\"]\n",
	"inline PatchJson6902":          "validators:\n- |\n  apiVersion: builtin\n  kind: PatchJson6902Transformer\n  metadata: {name: p}\n  target: {name: wc1}\n  path: %s\n",
	"inline ReplacementTransformer": "transformers:\n- |\n  apiVersion: builtin\n  kind: ReplacementTransformer\n  metadata: {name: p}\n  replacements:\n  - path: %s\n",
	"inline ValueAddTransformer":    "transformers:\n- |\n  apiVersion: builtin\n  kind: ValueAddTransformer\n  metadata: {name: p}\n  targetFilePath: %s\n",
	"inline ConfigMapGenerator":     "generators:\n- |\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n  metadata: {name: p}\n  files: [\"%s\"]\n",
	"inline SecretGenerator":        "generators:\n- |\n  apiVersion: builtin\n  kind: SecretGenerator\n  metadata: {name: p}\n  envs: [\"%s\"]\n",
}

// TestNothingIsFetchedOrRun puts addresses into every field: in the owning kustomization, and in one below it.
func TestNothingIsFetchedOrRun(t *testing.T) {
	caught := setTrap(t)
	// Every field meets one entry of each way in which kustomize fetches, and those that it reads as folders meet each
	// spelling.
	few := []string{
		"http://" + caught.address + "/x.yaml", "git@" + caught.address + ":org/repo", "github.com/org/repo", "../../../../etc/passwd",
	}
	all := slices.Concat(few, []string{
		"https://" + caught.address + "/x", "HTTPS://" + caught.address + "/x",
		"ssh://git@" + caught.address + "/org/repo", "GitHub.com/org/repo?ref", "git::https://" + caught.address + "/org/repo",
		"file:///org/repo.git", "org@host:x/y", "org@host/x/y", "https://user:made-up@192.0.2.1/o/r",
		"https://" + caught.address + "/o/_git/r", "github.com:org/repo", "/etc/passwd",
	})
	for place, text := range places {
		entries := few
		if place == "resources" || place == "components" {
			entries = all
		}
		for i, entry := range entries {
			t.Run(place+" "+entry, func(t *testing.T) {
				list := fmt.Sprintf(text, entry)
				// The tree has files and folders at the very paths that the entries spell.
				decoys := files{
					"clusters/wc1/github.com/org/repo/kustomization.yaml":  kustomization("x.yaml"),
					"clusters/wc1/github.com/org/repo/x.yaml":              configMap("decoy", "x"),
					"clusters/wc1/http:/" + caught.address + "/x.yaml":     configMap("decoy", "x"),
					"clusters/wc1/https:/" + caught.address + "/x":         configMap("decoy", "x"),
					"clusters/wc1/org@host:x/y/kustomization.yaml":         kustomization("x.yaml"),
					"clusters/wc1/sub/github.com/org/repo/broken.yaml":     "{",
					"clusters/wc1/sub/kustomization.yaml":                  kustomization("sub.yaml") + list,
					"clusters/wc1/sub/sub.yaml":                            configMap("wc1", "x"),
					"clusters/wc1/sub/github.com/org/repo/kustomization.y": "x",
				}
				for name, bases := range map[string][2]string{
					"owning": {kustomization("wc1.yaml", "quotas.yaml") + list, kustomization("wc1.yaml", "quotas.yaml", "cluster-manager") + list},
					"below":  {kustomization("quotas.yaml", "sub"), kustomization("quotas.yaml", "sub", "cluster-manager")},
				} {
					if name == "below" && i > 0 {
						continue
					}
					before := fleet.with(decoys).with(files{"clusters/wc1/kustomization.yaml": bases[0]})
					after := fleet.with(decoys).with(pool).with(files{"clusters/wc1/kustomization.yaml": bases[1]})
					result, err := proven(t, proposal(before, after))
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					if result.Proof.Built || !strings.Contains(result.Proof.Note, "not checked") ||
						!strings.Contains(result.Proof.Note, credentials.ReplaceAllString(entry, "://")) {
						t.Errorf("%s: proof is %+v, want it to name %q", name, result.Proof, entry)
					}
					if d := cmp.Diff(added("gpu"), result.Objects); d != "" {
						t.Errorf("%s: objects (-want +got):\n%s", name, d)
					}
				}
				caught.check(t)
			})
		}
	}
}

// TestNothingRuns covers what kustomize itself keeps from running.
func TestNothingRuns(t *testing.T) {
	caught := setTrap(t)
	for name, text := range map[string]string{
		"helmCharts":                  "helmCharts:\n- name: x\n  repo: http://" + caught.address + "\n  valuesFile: http://" + caught.address + "/v\n",
		"helmChartInflationGenerator": "helmChartInflationGenerator:\n- chartName: x\n  chartRepoUrl: http://" + caught.address + "\n",
		"exec function":               "transformers:\n- |\n  apiVersion: v1\n  kind: X\n  metadata:\n    name: x\n    annotations:\n      config.kubernetes.io/function: |\n        exec: {path: ./run}\n",
		"container function":          "generators:\n- |\n  apiVersion: v1\n  kind: X\n  metadata:\n    name: x\n    annotations:\n      config.kubernetes.io/function: |\n        container: {image: x}\n",
		"builtin with a function":     "generators:\n- |\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n  metadata:\n    name: x\n    annotations:\n      config.kubernetes.io/function: |\n        exec: {path: ./run}\n",
		"inline helm":                 "generators:\n- |\n  apiVersion: builtin\n  kind: HelmChartInflationGenerator\n  metadata: {name: x}\n  name: x\n  repo: http://" + caught.address + "\n",
		"exec plugin":                 "generators:\n- |\n  apiVersion: someteam.example.com/v1\n  kind: SedTransformer\n  metadata: {name: x}\n  argsFromFile: http://" + caught.address + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			before := fleet.with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "quotas.yaml") + text, "clusters/wc1/run": "#!/bin/sh\ntouch ran\n"})
			after := before.with(pool).with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "quotas.yaml", "cluster-manager") + text})
			result, err := proven(t, proposal(before, after))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(added("gpu"), result.Objects); d != "" {
				t.Errorf("objects (-want +got):\n%s", d)
			}
			caught.check(t)
		})
	}
}

// TestPluginFiles looks into plugin configurations that stand in files of their own, and at a folder of them, whose
// patches could put any address together.
func TestPluginFiles(t *testing.T) {
	caught := setTrap(t)
	plugin := "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\ntarget: {kind: ConfigMap}\npath: "
	for name, more := range map[string]files{
		"file":   {"clusters/wc1/plugin.yaml": plugin + "http://" + caught.address + "\n"},
		"list":   {"clusters/wc1/plugin.yaml": "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(plugin, "\n", "\n  ") + "http://" + caught.address + "\n"},
		"folder": {"clusters/wc1/plugin.yaml/kustomization.yaml": kustomization("p.yaml") + "patches:\n- patch: '[{op: replace, path: /path, value: \"http://" + caught.address + "\"}]'\n  target: {kind: PatchTransformer}\n", "clusters/wc1/plugin.yaml/p.yaml": plugin + "x\n"},
		"climb":  {"clusters/wc1/plugin.yaml": plugin + "../../../x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			before := fleet.with(more).with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "quotas.yaml") + "transformers:\n- plugin.yaml\n"})
			after := before.with(pool).with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "quotas.yaml", "cluster-manager") + "transformers:\n- plugin.yaml\n"})
			result, err := proven(t, proposal(before, after))
			if err != nil || result.Proof.Built || !strings.Contains(result.Proof.Note, "not checked") {
				t.Errorf("got %+v, %v, want it built but for the plugin", result.Proof, err)
			}
			caught.check(t)
		})
	}
}

// TestUncheckedChange refuses what goes beyond our folder where a part of the tree is not known.
func TestUncheckedChange(t *testing.T) {
	url := "https://192.0.2.1/org/repo"
	before := fleet.with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "quotas.yaml", url)})
	after := before.with(pool).with(files{"clusters/wc1/kustomization.yaml": kustomization("quotas.yaml", "wc1.yaml", "cluster-manager", url) + "namePrefix: ''\n"})
	after["clusters/wc1/wc1.yaml"] = configMap("wc1", "release") + "\n"
	_, err := proven(t, proposal(before, after))
	var refusal *clustermanager.Refusal
	if !errors.As(err, &refusal) || !strings.Contains(refusal.Message, url) {
		t.Errorf("got %v, want a refusal that names %s", err, url)
	}
}
