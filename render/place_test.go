package render

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fluxcd/pkg/kustomize"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// dev01 is the place of a cluster in a tree of gitops-template's layout.
func dev01(kustomization map[string]any) clustermanager.Target {
	return clustermanager.Target{
		Repository: clustermanager.GitRepository{Owner: "acme", Name: "fleet", Branch: "main"}, Path: "mc", Substitutes: true,
		Placement: &clustermanager.Placement{
			Directory: "mc/organizations/acme/workload-clusters/dev01", Required: "mc/organizations/acme",
			Name: clustermanager.NamespacedName{Namespace: "default", Name: "mc-clusters-dev01"}, Kustomization: kustomization,
		},
	}
}

func applier() map[string]any {
	return map[string]any{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
		"metadata": map[string]any{"name": "mc-clusters-dev01", "namespace": "default"},
		"spec":     map[string]any{"path": "./mc/organizations/acme/workload-clusters/dev01", "prune": true},
	}
}

func configMap(name, value string) *unstructured.Unstructured {
	return object("v1", "ConfigMap", name, map[string]any{"data": map[string]any{"values.yaml": value}})
}

func clusterObjects() []*unstructured.Unstructured {
	return []*unstructured.Unstructured{ociRepository("dev01"), configMap("dev01-values", "a: ${b}\n"), helmRelease("dev01")}
}

func createdCluster() clustermanager.Plan {
	return steps(declare(clustermanager.Ensure, clusterObjects()...))
}

func removedCluster() clustermanager.Plan {
	return steps(declare(clustermanager.Remove, clusterObjects()...))
}

// A place of its own: the directory, the file of the Kustomization that applies it, and its entry at the end of the list.
func TestFilesOfAPlace(t *testing.T) {
	for name, test := range map[string]struct {
		plan   clustermanager.Plan
		target clustermanager.Target
	}{
		"first":                   {createdCluster(), dev01(applier())},
		"second":                  {createdCluster(), dev01(applier())},
		"list-yml":                {createdCluster(), dev01(applier())},
		"list-without-extension":  {createdCluster(), dev01(applier())},
		"list-in-brackets":        {createdCluster(), dev01(applier())},
		"list-has-it":             {createdCluster(), dev01(applier())},
		"no-list":                 {createdCluster(), dev01(applier())},
		"with-pools":              {createdCluster(), dev01(applier())},
		"remove":                  {removedCluster(), dev01(nil)},
		"remove-with-pools":       {removedCluster(), dev01(nil)},
		"remove-the-last":         {removedCluster(), dev01(nil)},
		"remove-the-last-labels":  {removedCluster(), dev01(nil)},
		"remove-a-dangling-entry": {removedCluster(), dev01(nil)},
		"remove-without-list":     {removedCluster(), dev01(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "places", name+".txtar")
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			base := section(archive, "base/")
			files, err := Files(test.plan, test.target, base)
			if err != nil {
				t.Fatal(err)
			}
			got := &txtar.Archive{Comment: archive.Comment, Files: append(under(archive, "base/"), wanted(files)...)}
			if *update {
				if err := os.WriteFile(file, txtar.Format(got), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(string(txtar.Format(archive)), string(txtar.Format(got))); diff != "" {
				t.Errorf("-golden +got:\n%s", diff)
			}
			for name := range files {
				directory := test.target.Directory()
				if isList := path.Dir(name) == path.Dir(directory) && kustomizationNames[path.Base(name)]; !within(name, directory) && name != directory+".yaml" && !isList {
					t.Errorf("%s is stated", name)
				}
			}
			merged := merge(base, files)
			if test.target.Placement.Kustomization != nil {
				checkRerun(t, test.plan, test.target, base, files)
			} else if _, err := Files(test.plan, test.target, merged); !errors.Is(err, ErrNotCarried) {
				t.Errorf("a re-run of the removal: %v", err)
			}
		})
	}
}

// The organization's Kustomization substitutes, and the cluster's does not: its objects are left as they are, and only
// the file that the former applies may need the annotation.
func TestObjectsOfAPlace(t *testing.T) {
	for _, object := range Objects(createdCluster(), dev01(applier())) {
		if len(object.GetAnnotations()) > 0 || len(object.GetOwnerReferences()) > 0 {
			t.Errorf("%s: %v", clustermanager.ReferenceTo(object), object.Object["metadata"])
		}
	}
	dollars := applier()
	dollars["spec"].(map[string]any)["path"] = "./${x}"
	if got := Brought(dev01(dollars)).GetAnnotations(); got[clustermanager.AnnotationSubstitute] != "disabled" {
		t.Errorf("%v", got)
	}
	if Brought(dev01(nil)) != nil || Brought(clustermanager.Target{Path: "mc"}) != nil {
		t.Error("a Kustomization out of nothing")
	}
}

// What is written over, or taken away, is this cluster's; else nothing is.
func TestPlacesThatAreRefused(t *testing.T) {
	const clusters = "mc/organizations/acme/workload-clusters/"
	organization := func(more ...string) fstest.MapFS {
		tree := fstest.MapFS{"mc/organizations/acme/acme.yaml": {Data: []byte("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: x\n")}}
		for i := 0; i < len(more); i += 2 {
			tree[more[i]] = &fstest.MapFile{Data: []byte(more[i+1])}
		}
		return tree
	}
	const other = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: clusters-dev01\n  namespace: default\n"
	const ours = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: mc-clusters-dev01\n  namespace: default\n"
	for name, test := range map[string]struct {
		plan clustermanager.Plan
		tree fstest.MapFS
		want string
	}{
		"no organization":         {createdCluster(), fstest.MapFS{"mc/x.yaml": {}}, "acme/fleet has no directory mc/organizations/acme at branch main"},
		"another Kustomization":   {createdCluster(), organization(clusters+"dev01.yaml", other), "dev01.yaml holds Kustomization default/clusters-dev01, which is not of this plan, so it is not overwritten: move that object to a file of another name"},
		"another's removal":       {removedCluster(), organization(clusters+"dev01.yaml", other), "dev01.yaml holds Kustomization default/clusters-dev01, which cluster-manager did not write there, so it is not removed: if it is to go, remove it from the repository by hand"},
		"another object":          {createdCluster(), organization(clusters+"dev01/dev01.yaml", other), "dev01/dev01.yaml holds"},
		"files without a list":    {createdCluster(), organization(clusters+"dev01/mapi.yaml", other), "it is not known whether"},
		"two lists":               {createdCluster(), organization(clusters+"kustomization.yaml", "", clusters+"Kustomization", ""), "stand in one directory"},
		"a directory in the way":  {createdCluster(), organization(clusters+"dev01.yaml/x", ""), "dev01.yaml is a directory, not a file"},
		"a file in the way":       {createdCluster(), organization(clusters+"dev01", ""), "dev01 is a file, not a directory"},
		"the list goes above one": {removedCluster(), organization(clusters+"dev01.yaml", ours, clusters+"kustomization.yaml", "resources:\n- dev01.yaml\n", clusters+"left.yaml", other), "left.yaml is not listed by"},
	} {
		target := dev01(applier())
		if name == "another's removal" || name == "the list goes above one" {
			target = dev01(nil)
		}
		files, err := Files(test.plan, target, test.tree)
		if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || !strings.Contains(err.Error(), test.want) || len(files) > 0 {
			t.Errorf("%s: got %v, want a refusal with %q", name, err, test.want)
		}
	}
	linked := organization(clusters+"wc1.yaml", other)
	linked[clusters+"dev01"] = &fstest.MapFile{Mode: os.ModeSymlink}
	if _, err := Files(createdCluster(), dev01(applier()), linked); err == nil || !strings.Contains(err.Error(), "dev01 is a symbolic link") {
		t.Errorf("%v", err)
	}
	if _, err := Files(removedCluster(), dev01(nil), organization(clusters+"kustomization.yaml", "resources:\n- wc1.yaml\n")); !errors.Is(err, ErrNotCarried) {
		t.Errorf("%v", err)
	}
	target := dev01(applier())
	target.Placement.Directory = "../elsewhere/dev01"
	if _, err := Files(createdCluster(), target, organization()); err == nil {
		t.Error("a directory that leaves the repository was taken")
	}
}

// What is listed where there is no list is what Flux's own generator lists.
func TestGeneratedAsFluxDoes(t *testing.T) {
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n"
	tree := fstest.MapFS{}
	for _, name := range []string{
		"wc1.yaml", "wc2.yml", "wc1/mapi/apps/a.yaml", "wc1/mapi/b.yml", "wc1/README.md", "wc2/kustomization.yaml", "wc2/x.yaml",
		"wc3/Kustomization", "wc3/y.yaml", "wc4/kustomization.yml", "wc5/deep/kustomization.yaml/z.yaml", ".hidden.yaml", ".hidden/h.yaml", "notes.txt", "wc6.json",
	} {
		tree["clusters/"+name] = &fstest.MapFile{Data: []byte(manifest)}
	}
	temporary := t.TempDir()
	if err := os.CopyFS(temporary, tree); err != nil {
		t.Fatal(err)
	}
	manifestText, _, _, err := kustomize.NewGenerator(temporary, unstructured.Unstructured{Object: map[string]any{}}).GenerateManifest(filepath.Join(temporary, "clusters"))
	if err != nil {
		t.Fatal(err)
	}
	var generated types.Kustomization
	if err := yaml.Unmarshal(manifestText, &generated); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, entry := range generated.Resources {
		want = append(want, path.Clean(entry))
	}
	folder, err := openFolder(tree, "clusters")
	if err != nil {
		t.Fatal(err)
	}
	got, err := folder.generated()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
