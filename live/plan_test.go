package live_test

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live"
)

// poolSteps write a pool with sealed values, as composed.
func poolSteps(t *testing.T) []clustermanager.Step {
	t.Helper()
	const metadata = "metadata:\n  name: %s\n  namespace: org-acme\n  labels: {app.kubernetes.io/managed-by: cluster-manager, app.kubernetes.io/name: gpu-node-pool, giantswarm.io/cluster: wc1, giantswarm.io/node-pool: gpu-l4}\n" +
		"  ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, name: wc1, uid: u1}]\n"
	named := func(name string) string { return strings.Replace(metadata, "%s", name, 1) }
	return []clustermanager.Step{
		{Verb: clustermanager.Ensure, Lane: clustermanager.Declared, Object: object(t, "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\n"+named("wc1-gpu-l4")+
			"spec: {interval: 10m, url: oci://charts.example/gpu-node-pool, ref: {semver: \">=0.8.0 <1.0.0\"}}\n")},
		{Verb: clustermanager.Ensure, Lane: clustermanager.Declared, Object: object(t, "apiVersion: v1\nkind: Secret\ntype: Opaque\n"+named("wc1-gpu-l4-values")+
			"stringData: {values.yaml: <redacted>}\n"),
			SecretData: map[string]clustermanager.Secret{"values.yaml": clustermanager.NewSecret("password: made-for-the-test")}},
		{Verb: clustermanager.Ensure, Lane: clustermanager.Declared, Object: object(t, "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"+named("wc1-gpu-l4")+
			"spec: {interval: 10m, chartRef: {kind: OCIRepository, name: wc1-gpu-l4}, values: {pool: {maxSize: 4, sizes: [xlarge]}}}\n")},
	}
}

// removed are steps that delete the objects of others.
func removed(steps []clustermanager.Step) []clustermanager.Step {
	var removing []clustermanager.Step
	for _, step := range steps {
		removing = append(removing, clustermanager.Step{Verb: clustermanager.Remove, Lane: step.Lane, Object: step.Object})
	}
	return removing
}

const installationObjects = `
apiVersion: v1
kind: Namespace
metadata: {name: org-acme}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: other, namespace: org-acme, labels: {app.kubernetes.io/managed-by: cluster-manager}}
spec: {interval: 10m}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: fleet, namespace: flux}
status: {inventory: {entries: [{id: org-acme_wc1-gpu-l4_helm.toolkit.fluxcd.io_HelmRelease, v: v2}]}}
`

func TestAPoolIsCreatedKeptChangedAndDeleted(t *testing.T) {
	s := newScene(t, installationObjects, "")
	before := s.state(t)
	steps := poolSteps(t)
	all := func(action string) []string {
		return []string{action + " OCIRepository org-acme/wc1-gpu-l4", action + " Secret org-acme/wc1-gpu-l4-values", action + " HelmRelease org-acme/wc1-gpu-l4"}
	}
	check := func(what string, want []string, got live.Result) {
		t.Helper()
		if diff := cmp.Diff(want, actions(got.Changes)); diff != "" || got.Partial || len(got.Warnings) > 0 || got.NextStep != "" {
			t.Errorf("%s: %v, (-want +got)\n%s", what, got, diff)
		}
	}
	check("dry run", all("would-create"), s.plan(t, steps).Preview())
	if len(s.wire.writes) > 0 {
		t.Errorf("a dry run wrote %v", s.wire.writes)
	}
	check("create", all("create"), s.apply(t, steps))
	check("dry run after it", all("unchanged"), s.plan(t, steps).Preview())
	s.wire.reset()
	check("again", all("unchanged"), s.apply(t, steps))
	if len(s.wire.writes) > 0 {
		t.Errorf("what was unchanged was written: %v", s.wire.writes)
	}
	releases := s.installation.Resource(clustermanager.HelmAPI.WithResource("helmreleases")).Namespace("org-acme")
	drifted := `{"metadata":{"labels":{"giantswarm.io/organization":"acme","foreign":"kept"},"annotations":{"foreign":"kept"},"finalizers":["finalizers.fluxcd.io"]},"spec":{"suspend":true,"values":{"pool":{"maxSize":8,"sizes":["xlarge","2xlarge"]}},"uninstall":{"deletionPropagation":"background"}}}`
	if _, err := releases.Patch(t.Context(), "wc1-gpu-l4", types.MergePatchType, []byte(drifted), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	update := []string{
		"unchanged OCIRepository org-acme/wc1-gpu-l4", "unchanged Secret org-acme/wc1-gpu-l4-values",
		"update HelmRelease org-acme/wc1-gpu-l4 spec.suspend spec.values.pool.maxSize spec.values.pool.sizes[1]",
	}
	s.wire.reset()
	check("drift", update, s.apply(t, steps))
	if len(s.wire.writes) != 1 {
		t.Errorf("one object drifted, and written was %v", s.wire.writes)
	}
	live, err := releases.Get(t.Context(), "wc1-gpu-l4", metav1.GetOptions{})
	if err != nil || live.GetLabels()["foreign"] != "kept" || live.GetAnnotations()["foreign"] != "kept" || len(live.GetFinalizers()) != 1 {
		t.Errorf("what others set: %v, %v", live.Object["metadata"], err)
	}
	check("after the drift", all("unchanged"), s.plan(t, steps).Preview())
	if _, err := releases.Patch(t.Context(), "wc1-gpu-l4", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	check("delete", all("delete"), s.apply(t, removed(steps)))
	check("delete again", nil, s.apply(t, removed(steps)))
	if diff := cmp.Diff(before, s.state(t)); diff != "" {
		t.Errorf("what was there before (-before +after)\n%s", diff)
	}
}

// A field that others may have set stays, unless it stands where composition decides.
func TestHowAnUpdateIsWritten(t *testing.T) {
	for name, test := range map[string]struct{ drift, want string }{
		"a value":          {`{"spec":{"interval":"1h"}}`, "PATCH"},
		"a label":          {`{"metadata":{"labels":{"giantswarm.io/cluster":"wc1","app.kubernetes.io/name":"gpu-node-pool","extra":"x"}},"spec":{"interval":"1h"}}`, "PATCH"},
		"a field too many": {`{"spec":{"suspend":true}}`, "PUT"},
		"another list":     {`{"spec":{"values":{"pool":{"sizes":["2xlarge"]}}}}`, "PUT"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, installationObjects, "")
			steps := poolSteps(t)[2:]
			s.apply(t, steps)
			releases := s.installation.Resource(clustermanager.HelmAPI.WithResource("helmreleases")).Namespace("org-acme")
			if _, err := releases.Patch(t.Context(), "wc1-gpu-l4", types.MergePatchType, []byte(test.drift), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			s.wire.reset()
			if result := s.apply(t, steps); result.Partial || len(s.wire.writes) != 1 || !strings.HasPrefix(s.wire.writes[0], test.want+" ") {
				t.Errorf("%v: %v", result, s.wire.writes)
			}
			if got := actions(s.plan(t, steps).Preview().Changes); !slices.Equal(got, []string{"unchanged HelmRelease org-acme/wc1-gpu-l4"}) {
				t.Error(got)
			}
		})
	}
}

// What an API server fills in is no drift; another value there is, and so is a label or an owner that went.
func TestWhatIsDrift(t *testing.T) {
	const source, release = "OCIRepository org-acme/wc1-gpu-l4", "HelmRelease org-acme/wc1-gpu-l4"
	for name, test := range map[string]struct {
		resource schema.GroupVersionResource
		patch    string
		want     []string
	}{
		"defaults of a source":        {clustermanager.SourceAPI.WithResource("ocirepositories"), `{"spec":{"provider":"generic","timeout":"60s"}}`, []string{"unchanged " + source, "unchanged " + release}},
		"other values of a source":    {clustermanager.SourceAPI.WithResource("ocirepositories"), `{"spec":{"provider":"aws","timeout":"61s"}}`, []string{"would-update " + source + " spec.provider spec.timeout", "unchanged " + release}},
		"the default of a release":    {clustermanager.HelmAPI.WithResource("helmreleases"), `{"spec":{"uninstall":{"deletionPropagation":"background"}}}`, []string{"unchanged " + source, "unchanged " + release}},
		"another value of a release":  {clustermanager.HelmAPI.WithResource("helmreleases"), `{"spec":{"uninstall":{"deletionPropagation":"orphan"}}}`, []string{"unchanged " + source, "would-update " + release + " spec.uninstall.deletionPropagation"}},
		"a number in another writing": {clustermanager.HelmAPI.WithResource("helmreleases"), `{"spec":{"values":{"pool":{"maxSize":4.0}}}}`, []string{"unchanged " + source, "unchanged " + release}},
		"labels and owners":           {clustermanager.HelmAPI.WithResource("helmreleases"), `{"metadata":{"labels":{"giantswarm.io/organization":null},"ownerReferences":null}}`, []string{"unchanged " + source, "would-update " + release + ` metadata.labels["giantswarm.io/organization"] metadata.ownerReferences`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, installationObjects, "")
			steps := slices.Concat(poolSteps(t)[:1], poolSteps(t)[2:])
			unstructuredSet(steps[1].Object.Object, "acme", "metadata", "labels", clustermanager.LabelOrganization)
			s.apply(t, steps)
			if _, err := s.installation.Resource(test.resource).Namespace("org-acme").Patch(t.Context(), "wc1-gpu-l4", types.MergePatchType, []byte(test.patch), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, actions(s.plan(t, steps).Preview().Changes)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestASecretsDriftIsToldByItsKeyAlone(t *testing.T) {
	s := newScene(t, installationObjects, "")
	steps := poolSteps(t)[1:2]
	s.apply(t, steps)
	steps[0].SecretData = map[string]clustermanager.Secret{"values.yaml": clustermanager.NewSecret("password: another-made-for-the-test")}
	result := s.apply(t, steps)
	want := []string{`update Secret org-acme/wc1-gpu-l4-values stringData["values.yaml"]`}
	if diff := cmp.Diff(want, actions(result.Changes)); diff != "" {
		t.Error(diff)
	}
	if got := actions(s.plan(t, steps).Preview().Changes); got[0] != "unchanged Secret org-acme/wc1-gpu-l4-values" {
		t.Error(got)
	}
}

func TestOwnership(t *testing.T) {
	ours := map[string]string{
		"app.kubernetes.io/managed-by": "cluster-manager", "app.kubernetes.io/name": "gpu-node-pool",
		"giantswarm.io/cluster": "wc1", "giantswarm.io/node-pool": "gpu-l4",
	}
	with := func(more map[string]string) map[string]string {
		labels := maps.Clone(ours)
		maps.Copy(labels, more)
		return labels
	}
	flux := func(name string) map[string]string {
		return map[string]string{"kustomize.toolkit.fluxcd.io/name": name, "kustomize.toolkit.fluxcd.io/namespace": "flux"}
	}
	for name, test := range map[string]struct {
		labels map[string]string
		want   string
	}{
		"ours":                                {ours, ""},
		"ours, with labels of others":         {with(map[string]string{"a": "b"}), ""},
		"applied by Flux and in no inventory": {with(flux("gone")), ""},
		"in an inventory":                     {with(flux("fleet")), "HelmRelease org-acme/wc1-gpu-l4: Kustomization flux/fleet applies it from git, so it is not %s here: use mode commit"},
		"nobody's":                            {nil, "HelmRelease org-acme/wc1-gpu-l4: it exists and its owner is unknown, so it is not %s: choose another name, or remove it yourself and call again"},
		"Helm's":                              {with(map[string]string{"app.kubernetes.io/managed-by": "Helm"}), "HelmRelease org-acme/wc1-gpu-l4: it exists and is managed by Helm, so it is not %s: change it there, or remove it there and call again"},
		"a Kustomization's":                   {flux("fleet"), "HelmRelease org-acme/wc1-gpu-l4: it exists and belongs to Kustomization flux/fleet, so it is not %s: change it in the repository behind that"},
		"another cluster's pool of ours": {with(map[string]string{"giantswarm.io/cluster": "wc1-gpu", "giantswarm.io/node-pool": "l4"}),
			`HelmRelease org-acme/wc1-gpu-l4: it exists and belongs to another release of ours (giantswarm.io/cluster="wc1-gpu", giantswarm.io/node-pool="l4"), so it is not %s: name what that belongs to`},
		"another chart of ours": {with(map[string]string{"app.kubernetes.io/name": "gpu-operator"}),
			`HelmRelease org-acme/wc1-gpu-l4: it exists and belongs to another release of ours (app.kubernetes.io/name="gpu-operator"), so it is not %s: name what that belongs to`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, installationObjects, "")
			steps := poolSteps(t)[2:]
			theirs := steps[0].Object.DeepCopy()
			theirs.SetLabels(test.labels)
			if _, err := s.installation.Resource(clustermanager.HelmAPI.WithResource("helmreleases")).Namespace("org-acme").Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			before := s.state(t)
			for would, steps := range map[string][]clustermanager.Step{"changed": steps, "deleted": removed(steps)} {
				_, err := live.Plan(t.Context(), s.clients(), steps)
				if test.want == "" {
					if err != nil {
						t.Error(err)
					}
					continue
				}
				var refusal *clustermanager.Refusal
				if want := strings.ReplaceAll(test.want, "%s", would); !errors.As(err, &refusal) || refusal.Message != want {
					t.Errorf("got  %v\nwant %s", err, want)
				}
			}
			if diff := cmp.Diff(before, s.state(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatCannotBeReadIsRefusedBeforeAnyWrite(t *testing.T) {
	s := newScene(t, installationObjects, "")
	steps := poolSteps(t)
	steps[1].At = clustermanager.AtTarget
	clients := s.clients()
	clients.Target = nil
	if _, err := live.Plan(t.Context(), clients, steps); err != nil {
		t.Errorf("the own cluster's target is the installation: %v", err)
	}
	reasons := map[string]live.Clients{}
	failing := s.clients()
	failing.Target = func() (*sessionClient, error) {
		return nil, errors.New("Cluster org-acme/wc1: its kubeconfig is unreadable")
	}
	reasons["Secret org-acme/wc1-gpu-l4-values: what is there and whose it is could not be read: Cluster org-acme/wc1: its kubeconfig is unreadable; see to that, then call again"] = failing
	for want, clients := range reasons {
		_, err := live.Plan(t.Context(), clients, steps)
		if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if len(s.wire.writes) > 0 {
		t.Error(s.wire.writes)
	}
}

func TestCreatesComeFirstAndTheAnswerKeepsItsOrder(t *testing.T) {
	s := newScene(t, installationObjects, "")
	steps := poolSteps(t)
	s.apply(t, steps[:1])
	unstructuredSet(steps[0].Object.Object, "5m", "spec", "interval")
	s.wire.reset()
	result := s.apply(t, steps)
	want := []string{"update OCIRepository org-acme/wc1-gpu-l4 spec.interval", "create Secret org-acme/wc1-gpu-l4-values", "create HelmRelease org-acme/wc1-gpu-l4"}
	if diff := cmp.Diff(want, actions(result.Changes)); diff != "" {
		t.Error(diff)
	}
	methods := []string{}
	for _, write := range s.wire.writes {
		methods = append(methods, strings.Fields(write)[0])
	}
	if diff := cmp.Diff([]string{http.MethodPost, http.MethodPost, http.MethodPatch}, methods); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsBeingDeletedTakesNoChange(t *testing.T) {
	s := newScene(t, strings.Replace(installationObjects, "metadata: {name: other, namespace: org-acme, labels: {app.kubernetes.io/managed-by: cluster-manager}}",
		"metadata: {name: wc1-gpu-l4, namespace: org-acme, finalizers: [finalizers.fluxcd.io], deletionTimestamp: \"2026-08-01T09:00:00Z\", labels: {app.kubernetes.io/managed-by: cluster-manager, app.kubernetes.io/name: gpu-node-pool, giantswarm.io/cluster: wc1, giantswarm.io/node-pool: gpu-l4}}", 1), "")
	if _, err := live.Plan(t.Context(), s.clients(), poolSteps(t)); err == nil || err.Error() != "HelmRelease org-acme/wc1-gpu-l4: it is being deleted: call again once it is gone" {
		t.Error(err)
	}
	if got := actions(s.apply(t, removed(poolSteps(t))).Changes); !slices.Equal(got, []string{"terminating HelmRelease org-acme/wc1-gpu-l4"}) || len(s.wire.writes) > 0 {
		t.Error(got, s.wire.writes)
	}
}

func TestEveryReleaseThatIsWrittenHasAnEvent(t *testing.T) {
	s := newScene(t, installationObjects, "")
	s.apply(t, poolSteps(t))
	s.apply(t, poolSteps(t))
	list, err := s.installation.Resource(eventsResource).Namespace("org-acme").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=HelmRelease"})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	event := list.Items[0].Object
	if event["reason"] != "Created" || event["message"] != "Created by jane@acme.example with create_node_pool" || event["involvedObject"].(map[string]any)["uid"] == "" {
		t.Error(event)
	}
}
