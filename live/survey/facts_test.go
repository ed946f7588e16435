package survey_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	releaseDocument = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: wc1\n"
)

// appFiles is the snapshot with an App of the spec given in place of the HelmRelease, and ConfigMaps for its layers.
func appFiles(t *testing.T, spec string) files {
	return snapshot(t).drop(t, wc1, releaseDocument).add(`
apiVersion: application.giantswarm.io/v1alpha1
kind: App
metadata: {name: wc1, namespace: org-acme}
spec: ` + spec + `
---
apiVersion: v1
kind: ConfigMap
metadata: {name: config, namespace: org-acme}
data: {any: "a: config\nb: config\nc: config"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: user, namespace: other}
data: {values: "c: user"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: extra, namespace: org-acme}
data: {values: "a: extra\nd: extra"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: empty, namespace: org-acme}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: several, namespace: org-acme}
data: {one: "", two: ""}
`)
}

func TestAppValues(t *testing.T) {
	global := map[string]any{"global": map[string]any{
		"connectivity": map[string]any{"baseDomain": "installation.example.io"}, "managementCluster": "gazelle",
	}}
	with := func(values map[string]any) map[string]any {
		values["global"] = global["global"]
		return values
	}
	for _, test := range []struct {
		name, spec  string
		want        map[string]any
		owner, fail string
	}{
		{name: "all layers", owner: "ConfigMap other/user, which App org-acme/wc1 names",
			spec: "{config: {configMap: {name: config}, secret: {name: s}}, userConfig: {configMap: {name: user, namespace: other}}, extraConfigs: [{name: extra}, {kind: secret, name: s}, {name: empty}]}",
			want: with(map[string]any{"a": "config", "b": "config", "c": "user", "d": "extra"})},
		{name: "a high priority", owner: "ConfigMap org-acme/config, which App org-acme/wc1 names",
			spec: "{config: {configMap: {name: config, namespace: org-acme}}, extraConfigs: [{kind: configMap, name: extra, priority: 150}]}",
			want: with(map[string]any{"a": "extra", "b": "config", "c": "config", "d": "extra"})},
		{name: "the same priority", owner: "ConfigMap org-acme/config, which App org-acme/wc1 names",
			spec: "{config: {configMap: {name: config}}, extraConfigs: [{name: extra, priority: 50}]}",
			want: with(map[string]any{"a": "config", "b": "config", "c": "config", "d": "extra"})},
		{name: "extra layers alone", owner: "ConfigMap org-acme/wc1-userconfig, which App org-acme/wc1 names",
			spec: "{extraConfigs: [{name: extra}]}", want: with(map[string]any{"a": "extra", "d": "extra"})},
		{name: "none", spec: "{}", fail: "App org-acme/wc1: reading its values: it names no configuration"},
		{name: "Secrets alone", spec: "{userConfig: {secret: {name: s}}}", fail: "App org-acme/wc1: reading its values: they come from Secrets alone"},
		{name: "several keys", spec: "{config: {configMap: {name: several}}}", fail: "ConfigMap org-acme/several: reading values: it has several keys ([one two])"},
		{name: "absent", spec: "{config: {configMap: {name: absent}}}", fail: "App org-acme/wc1: ConfigMap org-acme/absent: reading: it does not exist"},
	} {
		t.Run(test.name, func(t *testing.T) {
			read := nodePool(t, appFiles(t, test.spec), nil).Values
			if test.fail != "" {
				if !strings.Contains(read.Reason(), test.fail) {
					t.Errorf("%q, want %q", read.Reason(), test.fail)
				}
				return
			}
			got, _ := read.Get()
			if diff := cmp.Diff(test.want, got.Values.Reveal()); diff != "" || got.Owner != test.owner {
				t.Error(diff, got.Owner, read.Reason())
			}
		})
	}
}

func TestSecretsOfValuesAreNotRead(t *testing.T) {
	over := &wire{}
	nodePool(t, snapshot(t), over)
	for _, line := range over.requested() {
		if strings.Contains(line, "secrets/wc1-secret-values") {
			t.Errorf("asked for: %s", line)
		}
	}
}

func TestValuesThatCannotBeRead(t *testing.T) {
	for _, test := range []struct {
		name  string
		files files
		over  *wire
		want  string
	}{
		{"neither release nor App", snapshot(t).drop(t, wc1, releaseDocument), &wire{},
			"Cluster org-acme/wc1: reading its values: neither a HelmRelease nor an App of its name exists"},
		{"forbidden release", snapshot(t), &wire{forbid: []string{"/helmreleases/wc1$"}}, "HelmRelease org-acme/wc1: reading: forbidden by the test"},
		{"absent ConfigMap", snapshot(t).replace(t, wc1, "{kind: ConfigMap, name: wc1-values}", "{kind: ConfigMap, name: other}"), &wire{},
			"HelmRelease org-acme/wc1: ConfigMap org-acme/other: reading: it does not exist"},
		{"absent key", snapshot(t).replace(t, wc1, "{kind: ConfigMap, name: wc1-values}", "{kind: ConfigMap, name: wc1-values, valuesKey: k}"), &wire{},
			"ConfigMap org-acme/wc1-values: reading values: it has no key k"},
		{"target path", snapshot(t).replace(t, wc1, "{kind: ConfigMap, name: wc1-values}", "{kind: ConfigMap, name: wc1-values, targetPath: a.b}"), &wire{},
			"names the targetPath a.b, which is not read here"},
		{"no mapping", snapshot(t).replace(t, wc1, "    global: {connectivity: {baseDomain: more.example.io}}", "    - a"), &wire{},
			"ConfigMap org-acme/wc1-more: reading values: the text is no mapping"},
		{"installation's values", snapshot(t), &wire{fail: []string{"cluster-app-installation-values"}},
			"ConfigMap org-acme/cluster-app-installation-values: reading: internalerror by the test"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if reason := nodePool(t, test.files, test.over).Values.Reason(); !strings.Contains(reason, test.want) {
				t.Errorf("%q, want %q", reason, test.want)
			}
		})
	}
}

func TestInstallationValuesMayBeAbsent(t *testing.T) {
	made := nodePool(t, snapshot(t).replace(t, wc1, "name: cluster-app-installation-values", "name: other"), nil)
	values, known := made.Values.Get()
	if !known || cmp.Diff(nil, values.Values.Reveal()["global"].(map[string]any)["managementCluster"]) != "" {
		t.Errorf("%v %v", values, made.Values.Reason())
	}
}

func TestPins(t *testing.T) {
	for _, test := range []struct {
		name   string
		files  files
		want   clustermanager.ReleasePins
		reason string
	}{
		{name: "a leading v", files: snapshot(t).replace(t, wc1, "version: 31.0.0", "version: v30.1.0"),
			want: clustermanager.ReleasePins{Release: "30.1.0", Kubernetes: "1.30.1"}},
		{name: "no label", files: snapshot(t).replace(t, wc1, "    release.giantswarm.io/version: 31.0.0\n", ""),
			reason: "Cluster org-acme/wc1: reading its release: it has no label release.giantswarm.io/version"},
		{name: "absent", files: snapshot(t).replace(t, wc1, "version: 31.0.0", "version: 1.0.0"),
			reason: "Release *-1.0.0: reading: it does not exist"},
		{name: "no provider fits", files: snapshot(t).replace(t, wc1, "    kind: AWSCluster\n", "    kind: VSphereCluster\n"),
			reason: `Release *-31.0.0: choosing one of aws-31.0.0, azure-31.0.0: none is for the cluster's infrastructure kind "VSphereCluster"`},
		{name: "another provider", files: snapshot(t).replace(t, wc1, "    kind: AWSCluster\n", "    kind: AzureCluster\n"),
			want: clustermanager.ReleasePins{Release: "31.0.0", Kubernetes: "1.31.9"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			pins := nodePool(t, test.files, nil).Pins
			got, _ := pins.Get()
			if diff := cmp.Diff(test.want, got); diff != "" || pins.Reason() != test.reason {
				t.Errorf("reason %q, want %q: %s", pins.Reason(), test.reason, diff)
			}
		})
	}
}

func TestControlPlaneVersion(t *testing.T) {
	for _, test := range []struct{ name, old, with, want, reason string }{
		{"of the spec", "status: {version: v1.31.4}", "status: {}", "1.31.5", ""},
		{"none", "spec: {version: v1.31.5}\nstatus: {version: v1.31.4}", "spec: {}", "", "KubeadmControlPlane org-acme/wc1: reading its version: it names none"},
		{"absent", "kind: KubeadmControlPlane\n    name: wc1", "kind: KubeadmControlPlane\n    name: other", "", "KubeadmControlPlane org-acme/other: reading: it does not exist"},
		{"no reference", "controlPlaneRef", "noControlPlaneRef", "", "Cluster org-acme/wc1: reading spec.controlPlaneRef: it names no object"},
	} {
		t.Run(test.name, func(t *testing.T) {
			version := nodePool(t, snapshot(t).replace(t, wc1, test.old, test.with), nil).ControlPlaneVersion
			if version.Or("") != test.want || version.Reason() != test.reason {
				t.Errorf("%q %q", version.Or(""), version.Reason())
			}
		})
	}
}

func TestNetwork(t *testing.T) {
	none := nodePool(t, snapshot(t).replace(t, wc1, "  region: eu-central-1\n  network:\n", "  other:\n"), nil).Network
	got, known := none.Get()
	if diff := cmp.Diff(clustermanager.Network{Zones: []string{}}, got); diff != "" || !known {
		t.Error(diff, none.Reason())
	}
	other := nodePool(t, snapshot(t).replace(t, wc1, "    kind: AWSCluster\n", "    kind: AzureCluster\n"), nil).Network
	want := "Cluster org-acme/wc1: reading its subnets: its infrastructure is of kind AzureCluster, and they are read of kind AWSCluster alone"
	if other.Reason() != want {
		t.Error(other.Reason())
	}
	absent := nodePool(t, snapshot(t).drop(t, wc1, "apiVersion: infrastructure"), nil).Network
	if absent.Reason() != "AWSCluster org-acme/wc1: reading: it does not exist" {
		t.Error(absent.Reason())
	}
}

func TestNoPools(t *testing.T) {
	made := nodePool(t, snapshot(t).replace(t, wc1, "    app.kubernetes.io/name: gpu-node-pool\n    app.kubernetes.io/managed-by", "    app.kubernetes.io/managed-by").
		replace(t, wc1, "    app.kubernetes.io/name: gpu-node-pool\n", ""), nil)
	pools, known := made.Pools.Get()
	if !known || pools == nil || len(pools) != 0 {
		t.Errorf("%v %v", pools, made.Pools.Reason())
	}
}

func TestOwnershipThatCannotBeRead(t *testing.T) {
	made := nodePool(t, snapshot(t), &wire{forbid: []string{"/kustomizations/", "/secrets/"}})
	for key, want := range map[string]string{
		"org-acme_wc1-gpu-l4_helm.toolkit.fluxcd.io_HelmRelease": "Kustomization flux/wc1: reading: forbidden by the test",
		"org-acme_wc1-gpu-l4-values__Secret":                     "Secret org-acme/wc1-gpu-l4-values: reading: forbidden by the test",
	} {
		if got := made.Live[key].Reason(); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}
