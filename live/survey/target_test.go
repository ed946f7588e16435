package survey_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	ownerLabels = "  labels:\n    kustomize.toolkit.fluxcd.io/name: wc1\n    kustomize.toolkit.fluxcd.io/namespace: flux\nspec:\n  valuesFrom:\n"
	noLabels    = "spec:\n  valuesFrom:\n"
	inlineApp   = `
apiVersion: application.giantswarm.io/v1alpha1
kind: App
metadata: {name: wc1, namespace: org-acme, labels: {kustomize.toolkit.fluxcd.io/name: wc1, kustomize.toolkit.fluxcd.io/namespace: flux}}
spec: {config: {configMap: {name: wc1-values}}}
`
)

func targetOf(t *testing.T, f files, over *wire) (clustermanager.Target, error) {
	t.Helper()
	reader := f.reader(t, over)
	cluster, err := reader.FindCluster(t.Context(), "org-acme", "wc1")
	if err != nil {
		t.Fatal(err)
	}
	return reader.Target(t.Context(), cluster)
}

// fluxFile is the snapshot with a text of the Flux objects replaced.
func fluxFile(t *testing.T, old, with string) files { return snapshot(t).replace(t, flux, old, with) }

func TestTargetIsRefused(t *testing.T) {
	const (
		url  = "https://github.com/acme/fleet"
		ref  = "{branch: main}"
		path = "./clusters/wc1/"
	)
	source := "GitRepository flux/fleet: "
	for _, test := range []struct {
		name  string
		files files
		over  *wire
		want  string
	}{
		{"no labels", snapshot(t).replace(t, wc1, ownerLabels, noLabels), nil,
			"Cluster org-acme/wc1: no Kustomization owns it, HelmRelease org-acme/wc1 has no labels kustomize.toolkit.fluxcd.io/name and kustomize.toolkit.fluxcd.io/namespace: let a Flux Kustomization apply the cluster's HelmRelease from a GitRepository, then call again"},
		{"no namespace label", snapshot(t).replace(t, wc1, ownerLabels, strings.Replace(ownerLabels, "    kustomize.toolkit.fluxcd.io/namespace: flux\n", "", 1)), nil,
			"Cluster org-acme/wc1: no Kustomization owns it"},
		{"the Cluster alone, without labels", snapshot(t).drop(t, wc1, releaseDocument), nil,
			"no Kustomization owns it, Cluster org-acme/wc1 has no labels"},
		{"release forbidden", snapshot(t).add(inlineApp), &wire{forbid: []string{"/helmreleases/wc1$"}},
			"HelmRelease org-acme/wc1: you may not read it, and its labels say which Kustomization owns the cluster: ask for the right to get helmreleases.helm.toolkit.fluxcd.io"},
		{"App forbidden", snapshot(t).drop(t, wc1, releaseDocument).add(inlineApp), &wire{forbid: []string{"/apps/wc1$"}},
			"App org-acme/wc1: you may not read it, and its labels say which Kustomization owns the cluster: ask for the right to get apps.application.giantswarm.io"},
		{"Kustomization forbidden", snapshot(t), &wire{forbid: []string{"/kustomizations/"}},
			"Kustomization flux/wc1: you may not read it, and it says where in git the cluster is: ask for the right to get kustomizations.kustomize.toolkit.fluxcd.io in namespace flux"},
		{"Kustomization absent", fluxFile(t, "metadata: {name: wc1, namespace: flux}", "metadata: {name: other, namespace: flux}"), nil,
			"Kustomization flux/wc1: it does not exist, though the cluster's objects lead to it: restore it"},
		{"another kind of source", fluxFile(t, "kind: GitRepository, name: fleet", "kind: OCIRepository, name: fleet"), nil,
			`Kustomization flux/wc1: its source is of kind "OCIRepository", and a pull request needs a GitRepository: let a Flux Kustomization apply the cluster's HelmRelease from a GitRepository, then call again`},
		{"GitRepository forbidden", snapshot(t), &wire{forbid: []string{"/gitrepositories/"}},
			source + "you may not read it, and it says where in git the cluster is"},
		{"GitRepository absent", fluxFile(t, "kind: GitRepository, name: fleet", "kind: GitRepository, name: fleet, namespace: elsewhere"), nil,
			"GitRepository elsewhere/fleet: it does not exist"},
		{"commit beside a branch", fluxFile(t, ref, "{branch: main, commit: 0a1b2c}"), nil,
			source + "it follows the commit 0a1b2c, and what is merged into a branch would not reach the cluster: let it follow a branch"},
		{"tag beside a branch", fluxFile(t, ref, "{branch: main, tag: v1.0.0}"), nil, source + "it follows the tag v1.0.0"},
		{"semver beside a branch", fluxFile(t, ref, `{branch: main, semver: ">=1.0.0"}`), nil, source + "it follows the version range >=1.0.0"},
		{"semver above tag", fluxFile(t, ref, `{tag: v1, semver: "1.x"}`), nil, source + "it follows the version range 1.x"},
		{"name of a tag", fluxFile(t, ref, "{name: refs/tags/v1, branch: main}"), nil, source + "it follows the reference refs/tags/v1"},
		{"name of a pull request", fluxFile(t, ref, "{name: refs/pull/1/head}"), nil, source + "it follows the reference refs/pull/1/head"},
		{"name of no branch", fluxFile(t, ref, "{name: refs/heads/}"), nil, source + "it follows the reference refs/heads/"},
		{"commit above name", fluxFile(t, ref, "{name: refs/heads/main, commit: 0a1b2c}"), nil, source + "it follows the commit 0a1b2c"},
		{"unknown host", fluxFile(t, url, "https://ghe.example.com/acme/fleet"), nil,
			source + `its spec.url: the host "ghe.example.com" is none that this server writes to: add it to the setting git-hosts`},
		{"a colon after the host", fluxFile(t, url, "ssh://git@github.com:acme/fleet"), nil,
			source + "its spec.url: the URL mixes two forms: write ssh://git@github.com/owner/name, with a slash after the host: correct it"},
		{"no owner", fluxFile(t, url, "https://github.com/fleet"), nil, source + "its spec.url: its path is no owner/name"},
		{"too deep", fluxFile(t, url, "https://github.com/a/acme/fleet"), nil, source + "its spec.url: its path is no owner/name"},
		{"no URL", fluxFile(t, url, `""`), nil, source + "its spec.url: it is no URL of a repository"},
		{"plain http", fluxFile(t, url, "http://github.com/acme/fleet"), nil,
			source + "its spec.url: it is a plain http URL, and a token must not travel in the clear: write https"},
		{"path climbs", fluxFile(t, path, "../wc1"), nil,
			`Kustomization flux/wc1: spec.path "../wc1" leaves the repository: correct it`},
		{"path climbs from below", fluxFile(t, path, "/clusters/../../wc1"), nil, "leaves the repository"},
		{"include over the path", fluxFile(t, ref, "{branch: main}\n  include: [{repository: {name: other}, toPath: ./clusters}]"), nil,
			source + "its spec.include puts the GitRepository other over clusters/wc1/cluster-manager, so files written there would not reach the cluster: change the include"},
		{"include over the directory", fluxFile(t, ref, "{branch: main}\n  include: [{repository: {name: other}, toPath: clusters/wc1/cluster-manager/x}]"), nil,
			source + "its spec.include puts the GitRepository other over"},
		{"include by its name", fluxFile(t, ref, "{branch: main}\n  include: [{repository: {name: clusters}}]"), nil,
			source + "its spec.include puts the GitRepository clusters over"},
		{"sparse", fluxFile(t, ref, "{branch: main}\n  sparseCheckout: [bases, clusters/wc1/apps, clusters/wc10]"), nil,
			source + "its spec.sparseCheckout leaves out clusters/wc1/cluster-manager: add it there"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := targetOf(t, test.files, test.over)
			if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused {
				t.Fatalf("no refusal: %v", err)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("%q, want %q", err, test.want)
			}
			if strings.Contains(err.Error(), "mode apply") {
				t.Errorf("the way out is not in this build: %q", err)
			}
		})
	}
}

func TestTargetOwner(t *testing.T) {
	clusterLabels := func(f files) files {
		return f.replace(t, wc1, "    giantswarm.io/cluster: wc1\n    giantswarm.io/organization: acme\n    release",
			"    kustomize.toolkit.fluxcd.io/name: wc1\n    kustomize.toolkit.fluxcd.io/namespace: flux\n    release")
	}
	for name, files := range map[string]files{
		"HelmRelease": snapshot(t),
		"App":         snapshot(t).drop(t, wc1, releaseDocument).add(inlineApp),
		"Cluster":     clusterLabels(snapshot(t).drop(t, wc1, releaseDocument)),
	} {
		t.Run(name, func(t *testing.T) {
			target, err := targetOf(t, files, nil)
			if err != nil || target.Kustomization != (clustermanager.NamespacedName{Namespace: "flux", Name: "wc1"}) {
				t.Errorf("%v, %v", target.Kustomization, err)
			}
		})
	}
	_, err := targetOf(t, clusterLabels(snapshot(t).replace(t, wc1, ownerLabels, noLabels)), nil)
	if err == nil {
		t.Error("a HelmRelease without labels is passed over")
	}
}

func TestTargetBranch(t *testing.T) {
	for ref, want := range map[string]string{
		"{branch: main}":                                "main",
		"{branch: release/1.x}":                         "release/1.x",
		"{name: refs/heads/next}":                       "next",
		"{name: refs/heads/a/b, tag: v1, branch: main}": "a/b",
		`{branch: main, tag: ""}`:                       "main",
		"{}":                                            "master",
		"null":                                          "master",
	} {
		target, err := targetOf(t, fluxFile(t, "{branch: main}", ref), nil)
		if err != nil || target.Repository.Branch != want {
			t.Errorf("%s: %q, %v, want %q", ref, target.Repository.Branch, err, want)
		}
	}
}

func TestTargetPath(t *testing.T) {
	for path, want := range map[string]string{
		`""`: "", ".": "", "./": "", "/": "", "./x/": "x", "/x": "x", "x": "x", "x/./y//": "x/y", "x/../y": "y", "null": "",
	} {
		target, err := targetOf(t, fluxFile(t, "./clusters/wc1/", path), nil)
		if err != nil || target.Path != want {
			t.Errorf("%s: %q, %v, want %q", path, target.Path, err, want)
		}
	}
}

func TestTargetOfAnIncludeAndSparseCheckoutBeside(t *testing.T) {
	for _, with := range []string{
		"include: [{repository: {name: other}}, {repository: {name: third}, toPath: clusters/wc10}]",
		"sparseCheckout: [bases, ./clusters/wc1/]",
		"sparseCheckout: [clusters]",
		"sparseCheckout: []",
		"recurseSubmodules: true\n  verify: {mode: HEAD}",
	} {
		if _, err := targetOf(t, fluxFile(t, "{branch: main}", "{branch: main}\n  "+with), nil); err != nil {
			t.Errorf("%s: %v", with, err)
		}
	}
}

func TestTargetFlags(t *testing.T) {
	target, err := targetOf(t, snapshot(t).
		replace(t, flux, "  prune: true\n", "  suspend: true\n  deletionPolicy: Orphan\n").
		replace(t, flux, "provider: sops", "provider: other").
		replace(t, flux, "  postBuild:\n    substitute: {domain: inline.example.io, cluster: wc1}\n    substituteFrom:\n    - {kind: ConfigMap, name: variables}\n    - {kind: Secret, name: more-variables}\n    - {kind: ConfigMap, name: absent, optional: true}\n    - {kind: ConfigMap, name: missing}\n", "").
		replace(t, flux, "  ignore: |\n    /docs\n", "  suspend: true\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if target.Prune || !target.Suspended || target.DeletionPolicy != "Orphan" || target.Decrypts || target.Substitutes ||
		!target.Repository.Suspended || target.Repository.Ignore != nil {
		t.Errorf("%+v", target)
	}
	target, err = targetOf(t, fluxFile(t, "  ignore: |\n    /docs\n", "  ignore: \"\"\n"), nil)
	if err != nil || target.Repository.Ignore == nil || *target.Repository.Ignore != "" {
		t.Errorf("an empty ignore: %v, %v", target.Repository.Ignore, err)
	}
}

func TestSubstitutes(t *testing.T) {
	target, err := targetOf(t, snapshot(t).
		replace(t, flux, "{kind: ConfigMap, name: absent, optional: true}", "{kind: Bucket, name: b}").
		replace(t, flux, "    substitute: {domain: inline.example.io, cluster: wc1}\n", ""),
		&wire{forbid: []string{"/secrets/more-variables$"}})
	if err != nil {
		t.Fatal(err)
	}
	unread := []string{
		"Secret more-variables: you may not read it", "Bucket b: no kind that Flux substitutes from", "ConfigMap missing: it does not exist",
	}
	if diff := cmp.Diff(unread, target.UnreadSubstitutes); diff != "" {
		t.Error(diff)
	}
	want := map[string]clustermanager.Secret{}
	for name, value := range map[string]string{"domain": "from.example.io", "region": "eu-central-1", "both": "configmap"} {
		want[name] = clustermanager.NewSecret(value)
	}
	if diff := cmp.Diff(want, target.Variables); diff != "" {
		t.Error(diff)
	}
	if substitute, written := target.Spec["postBuild"].(map[string]any)["substitute"]; written {
		t.Errorf("the spec holds values of substituteFrom: %v", substitute)
	}
}

func TestTargetThatFailsToBeReadIsNoRefusal(t *testing.T) {
	for _, part := range []string{"/helmreleases/wc1$", "/kustomizations/", "/gitrepositories/"} {
		_, err := targetOf(t, snapshot(t), &wire{fail: []string{part}})
		if clustermanager.ReasonOf(err) != clustermanager.ReasonError || !strings.Contains(err.Error(), "reading: internalerror by the test") {
			t.Errorf("%s: %v", part, err)
		}
	}
}

// What makes a merge have no effect, or another one, is said or refused.
func TestOwnersThatTreatAMergeOtherwise(t *testing.T) {
	for name, test := range map[string]struct{ from, to, refused, warned string }{
		"another API server": {"  prune: true\n", "  prune: true\n  kubeConfig: {secretRef: {name: other}}\n", "it applies to another API server", ""},
		"our label":          {"  prune: true\n", "  prune: true\n  commonMetadata: {labels: {giantswarm.io/cluster: other}}\n", "sets the label giantswarm.io/cluster", ""},
		"a label of theirs":  {"  prune: true\n", "  prune: true\n  commonMetadata: {labels: {team: a}}\n", "", ""},
		"left alone":         {"  prune: true\n", "  prune: true\n  commonMetadata: {annotations: {kustomize.toolkit.fluxcd.io/reconcile: disabled}}\n", "", "so Flux leaves it alone"},
		"suspended":          {"  prune: true\n", "  prune: true\n  suspend: true\n", "", "is suspended: a merge has no effect until it is resumed"},
		"suspended source":   {"  ignore: |\n    /docs\n", "  suspend: true\n", "", "is suspended: a merge has no effect until it is resumed"},
		"signatures":         {"  ignore: |\n    /docs\n", "  verify: {mode: HEAD, secretRef: {name: keys}}\n", "", "verifies signatures (spec.verify)"},
	} {
		t.Run(name, func(t *testing.T) {
			target, err := targetOf(t, fluxFile(t, test.from, test.to), nil)
			if test.refused == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), test.refused) {
				t.Fatalf("got %v, want %q", err, test.refused)
			}
			target.Warnings = slices.DeleteFunc(target.Warnings, func(warning string) bool { return strings.Contains(warning, "substituteFrom") })
			if got := strings.Join(target.Warnings, "\n"); err == nil && (test.warned == "" != (got == "") || !strings.Contains(got, test.warned)) {
				t.Errorf("warnings %q, want %q", got, test.warned)
			}
		})
	}
}
