package proof

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// trap is an address where any connection is counted, and a PATH whose commands leave a file behind.
type trap struct {
	connections atomic.Int32
	address     string
	folder      string
}

// setTrap makes http requests, git and helm of this process visible. TCP covers http and https alike: the proxy
// variables and the URLs of the tests both name the trap.
func setTrap(t *testing.T) *trap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	caught := &trap{address: listener.Addr().String(), folder: t.TempDir()}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			caught.connections.Add(1)
			connection.Close()
		}
	}()
	for _, command := range []string{"git", "helm", "sh", "docker", "age-plugin-x"} {
		script := "#!/bin/sh\necho \"$0 $@\" >> " + filepath.Join(caught.folder, "ran") + "\nexit 1\n"
		if err := os.WriteFile(filepath.Join(caught.folder, command), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", caught.folder)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, "http://"+caught.address)
	}
	return caught
}

func (c *trap) check(t *testing.T) {
	t.Helper()
	if ran, err := os.ReadFile(filepath.Join(c.folder, "ran")); err == nil {
		t.Errorf("a command ran: %s", ran)
	}
	if n := c.connections.Load(); n > 0 {
		t.Errorf("%d connections were made", n)
	}
}

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
	all := append(few, "https://"+caught.address+"/x", "HTTPS://"+caught.address+"/x",
		"ssh://git@"+caught.address+"/org/repo", "GitHub.com/org/repo?ref", "git::https://"+caught.address+"/org/repo",
		"file:///org/repo.git", "org@host:x/y", "org@host/x/y", "https://user:made-up@192.0.2.1/o/r",
		"https://"+caught.address+"/o/_git/r", "github.com:org/repo", "/etc/passwd")
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

// TestLinks never follows symbolic links and submodules.
func TestLinks(t *testing.T) {
	withEntry := func(entry string) (string, string) {
		return kustomization("wc1.yaml", "quotas.yaml", entry), kustomization("wc1.yaml", "quotas.yaml", entry, "cluster-manager")
	}
	linked, linkedAfter := withEntry("linked.yaml")
	inside, insideAfter := withEntry("modules/app")
	for name, test := range map[string]struct {
		tree          files
		before, after string
		note, refused string
	}{
		"entry is a link":      {tree: files{"clusters/wc1/linked.yaml": "-> /etc/passwd"}, before: linked, after: linkedAfter, note: "clusters/wc1/linked.yaml is a symbolic link"},
		"entry in a submodule": {tree: files{"clusters/wc1/modules": "submodule"}, before: inside, after: insideAfter, note: "clusters/wc1/modules is a submodule"},
		"our folder is a link": {tree: files{"clusters/wc1/cluster-manager": "-> ../../elsewhere"}, before: fleet["clusters/wc1/kustomization.yaml"], after: pool["clusters/wc1/kustomization.yaml"], refused: "clusters/wc1/cluster-manager is a symbolic link"},
		"the path has a link":  {tree: files{"clusters": "-> other"}, refused: "clusters is a symbolic link"},
		"the path is a module": {tree: files{"clusters": "submodule"}, refused: "clusters is a submodule"},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := files{}, files{}
			if test.before != "" {
				before = fleet.with(test.tree).with(files{"clusters/wc1/kustomization.yaml": test.before})
				after = fleet.with(pool).with(test.tree).with(files{"clusters/wc1/kustomization.yaml": test.after})
				if test.refused != "" {
					after = after.without("clusters/wc1/cluster-manager/kustomization.yaml", "clusters/wc1/cluster-manager/gpu.yaml")
				}
			} else {
				before, after = test.tree, test.tree
			}
			result, err := proven(t, proposal(before, after))
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) {
					t.Errorf("got %v, want a refusal with %q", err, test.refused)
				}
				return
			}
			if err != nil || result.Proof.Built || !strings.Contains(result.Proof.Note, test.note) {
				t.Errorf("got %+v, %v, want a note with %q", result.Proof, err, test.note)
			}
		})
	}
}

// laughs is a billion laughs: ten nodes become 10^9.
func laughs(indent string) string {
	text := indent + "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		text += fmt.Sprintf("%sa%d: &a%d [%s]\n", indent, i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return text
}

// TestBounds covers trees that would take a build's memory or time. Each passes with our folder alone.
func TestBounds(t *testing.T) {
	many := files{"clusters/wc1/many.yaml": "x"}
	var text strings.Builder
	for i := range maxObjects {
		text.WriteString("---\n" + configMap(fmt.Sprintf("m%d", i), "x"))
	}
	many["clusters/wc1/many.yaml"] = text.String()
	doubling := files{}
	for i := range 24 {
		next := fmt.Sprintf("../../../d/%d", i+1)
		for _, half := range []string{"a", "b"} {
			doubling[fmt.Sprintf("d/%d/%s/kustomization.yaml", i, half)] = kustomization(next+"/a", next+"/b") + "namePrefix: " + half + "-\n"
		}
	}
	for _, half := range []string{"a", "b"} {
		doubling["d/24/"+half+"/kustomization.yaml"] = kustomization("x.yaml")
		doubling["d/24/"+half+"/x.yaml"] = configMap("x"+half, "x")
	}
	large := files{}
	for i := range 9 {
		large[fmt.Sprintf("clusters/wc1/%d.yaml", i)] = "# " + strings.Repeat("x", maxFileBytes-2)
	}
	for name, test := range map[string]struct {
		more  files
		entry string
		text  string
		note  string
	}{
		"2,001 objects":            {more: many, entry: "many.yaml", note: "more than 2000 objects"},
		"a base in each other one": {more: doubling, entry: "../../d/0/a", note: "more than 2000 objects"},
		"billion laughs":           {more: files{"clusters/wc1/l.yaml": configMap("l", "x") + "more:\n" + laughs("  ")}, entry: "l.yaml", note: "YAML nodes"},
		"laughs in a kustomization": {more: files{"clusters/wc1/l/kustomization.yaml": kustomization("x.yaml") + laughs("")},
			entry: "l", note: "more nodes than a kustomization can need"},
		"laughs in an inline patch": {entry: "quotas.yaml", text: "patches:\n- target: {kind: ConfigMap}\n  patch: |\n" + laughs("    "), note: "more nodes than a kustomization can need"},
		"laughs in a patch inside a transformer": {entry: "quotas.yaml", note: "more nodes than a kustomization can need",
			text: "transformers:\n- |\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: x}\n  target: {kind: ConfigMap}\n  patch: |\n" + laughs("    ")},
		"laughs in a plugin's file": {more: files{"clusters/wc1/p.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\npatch: |\n" + laughs("  ")},
			entry: "quotas.yaml", text: "transformers: [p.yaml]\n", note: "YAML nodes"},
		"a node in itself": {more: files{"clusters/wc1/l.yaml": "a: &a\n  b: *a\n"}, entry: "l.yaml", note: "YAML nodes"},
		"large files":      {more: large, entry: "0.yaml", text: "configMapGenerator:\n- name: x\n  files: [1.yaml, 2.yaml, 3.yaml, 4.yaml, 5.yaml, 6.yaml, 7.yaml, 8.yaml]\n", note: "more than 32 MiB"},
		"a large file":     {more: files{"clusters/wc1/big.yaml": "# " + strings.Repeat("x", maxFileBytes)}, entry: "big.yaml", note: "clusters/wc1/big.yaml is larger than 4 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			before := fleet.with(test.more).with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", test.entry) + test.text})
			after := before.with(pool).with(files{"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", test.entry, "cluster-manager") + test.text})
			var start, end runtime.MemStats
			runtime.ReadMemStats(&start)
			result, err := proven(t, proposal(before, after))
			runtime.ReadMemStats(&end)
			if err != nil || result.Proof.Built {
				t.Fatalf("got %+v, %v, want it not built", result.Proof, err)
			}
			for _, part := range []string{test.note, onlyOurs, "clusters/wc1/cluster-manager builds by itself"} {
				if !strings.Contains(result.Proof.Note, part) {
					t.Errorf("note %q lacks %q", result.Proof.Note, part)
				}
			}
			if d := cmp.Diff(added("gpu"), result.Objects); d != "" {
				t.Errorf("objects (-want +got):\n%s", d)
			}
			if took := end.TotalAlloc - start.TotalAlloc; took > 256<<20 {
				t.Errorf("%d MiB were allocated", took>>20)
			}
		})
	}
}

// TestVariablesBound does not build a tree whose variables make it large.
func TestVariablesBound(t *testing.T) {
	text := configMap("wc1", strings.Repeat("${a}", 1000))
	in := proposal(fleet.with(files{"clusters/wc1/wc1.yaml": text}), fleet.with(pool).with(files{"clusters/wc1/wc1.yaml": text}))
	in.Target.Spec = spec(map[string]any{"postBuild": map[string]any{"substitute": map[string]any{"a": strings.Repeat("x", 1<<16)}}})
	result, err := proven(t, in)
	if err != nil || result.Proof.Built || !strings.Contains(result.Proof.Note, "its variables make it larger than 32 MiB") {
		t.Errorf("got %+v, %v, want it not built", result.Proof, err)
	}
}

// TestCycles ends on kustomizations that refer to each other.
func TestCycles(t *testing.T) {
	for name, more := range map[string]files{
		"itself": {"clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "."), "x": "x"},
		"round":  {"clusters/wc1/kustomization.yaml": kustomization("../../a"), "a/kustomization.yaml": kustomization("../b"), "b/kustomization.yaml": kustomization("../a")},
		"above":  {"clusters/wc1/kustomization.yaml": kustomization("../.."), "kustomization.yaml": kustomization("clusters/wc1")},
	} {
		t.Run(name, func(t *testing.T) {
			before := fleet.with(more)
			after := before.with(pool).with(files{"clusters/wc1/kustomization.yaml": more["clusters/wc1/kustomization.yaml"] + "- cluster-manager\n"})
			result, err := proven(t, proposal(before, after))
			if err != nil || result.Proof.Built || !strings.Contains(result.Proof.Note, "does not build today") ||
				!strings.Contains(result.Proof.Note, "cycle") {
				t.Errorf("got %+v, %v, want a base that does not build", result.Proof, err)
			}
		})
	}
}

// TestDeadline passes on our folder alone where there is no time left for the tree.
func TestDeadline(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	in := proposal(fleet, fleet.with(pool))
	in.Now, in.Deadline = func() time.Time { return now }, now.Add(-time.Second)
	result, err := proven(t, in)
	if err != nil || result.Proof.Built || !strings.Contains(result.Proof.Note, "did not build in the time left") {
		t.Errorf("got %+v, %v, want it not built for lack of time", result.Proof, err)
	}
	in = proposal(fleet, fleet.with(pool).with(files{"clusters/wc1/quotas.yaml": configMap("quotas", "none")}))
	in.Now, in.Deadline = func() time.Time { return now }, now.Add(-time.Second)
	if _, err := proven(t, in); clustermanager.ReasonOf(err) != clustermanager.ReasonRefused {
		t.Errorf("got %v, want a refusal of the other file", err)
	}
}

// TestBusy gives up at the deadline while other builds hold every slot.
func TestBusy(t *testing.T) {
	for range cap(slots) {
		slots <- struct{}{}
		t.Cleanup(func() { <-slots })
	}
	in := proposal(fleet, fleet.with(pool))
	in.Deadline = time.Now().Add(50 * time.Millisecond)
	result, err := proven(t, in)
	if err != nil || result.Proof.Built || !strings.Contains(result.Proof.Note, "was not built either") {
		t.Errorf("got %+v, %v, want neither built", result.Proof, err)
	}
}

// TestEnds answers a call that was given up, and a read that failed, as what they are.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Prove(ctx, proposal(fleet, fleet.with(pool))); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it canceled", err)
	}
	in := proposal(fleet, fleet.with(pool))
	in.Load = func(context.Context, string, func(string) bool) error { return errors.New("the server hung up") }
	if _, err := proven(t, in); err == nil || clustermanager.ReasonOf(err) != clustermanager.ReasonError ||
		!strings.HasPrefix(err.Error(), "Kustomization flux/wc1: proving:") {
		t.Errorf("got %v, want the failed read", err)
	}
}

// counting counts the files that are opened.
type counting struct {
	fs.FS
	opened map[string]int
}

func (c counting) Open(name string) (fs.File, error) {
	c.opened[name]++
	return c.FS.Open(name)
}

// TestReadsLittle opens no file that the build does not reach, and asks for what it reaches at once.
func TestReadsLittle(t *testing.T) {
	before := fleet.with(files{
		"clusters/wc1/unlisted.yaml": configMap("u", "u"), "clusters/wc2/kustomization.yaml": kustomization("x.yaml"),
		"clusters/wc1/docs/a.md": "x", "clusters/wc1/kustomization.yaml": kustomization("wc1.yaml", "quotas.yaml"),
	})
	in := proposal(before, before.with(pool))
	opened := map[string]int{}
	in.Base, in.Proposed = counting{in.Base, opened}, counting{in.Proposed, opened}
	wanted := map[string]bool{}
	in.Load = func(_ context.Context, dir string, blobs func(string) bool) error {
		return fs.WalkDir(in.Proposed, dir, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && blobs(name) {
				wanted[name] = true
			}
			return err
		})
	}
	if _, err := proven(t, in); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"clusters/wc1/unlisted.yaml", "clusters/wc1/docs/a.md", "clusters/wc2/kustomization.yaml", "README.md"} {
		if opened[name] > 0 || wanted[name] {
			t.Errorf("%s was read", name)
		}
	}
	for _, name := range []string{"clusters/wc1/wc1.yaml", "clusters/wc1/quotas.yaml", "clusters/wc1/cluster-manager/gpu.yaml"} {
		if !wanted[name] {
			t.Errorf("%s was not asked for at once: %v", name, wanted)
		}
	}
}
