package render

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// goldens are plans over the base/ files of testdata/files/<name>.txtar; want/ holds what Files states, with the plain
// text of a file that is to be sealed, and only the names of what it deletes.
var goldens = []struct {
	name   string
	plan   clustermanager.Plan
	target clustermanager.Target
}{
	{name: "empty-repository", plan: steps(pool("wc1-gpu-l4"))},
	{name: "at-the-root", plan: steps(pool("wc1-gpu-l4")), target: clustermanager.Target{Path: "."}},
	{name: "parent-without-kustomization", plan: steps(pool("wc1-gpu-l4"))},
	{name: "parent-kustomization-yaml", plan: steps(pool("wc1-gpu-l4"))},
	{name: "parent-kustomization-yml", plan: steps(pool("wc1-gpu-l4"))},
	{name: "parent-kustomization-without-extension", plan: steps(pool("wc1-gpu-l4"))},
	{name: "parent-lists-it-already", plan: steps(pool("wc1-gpu-l4"))},
	{name: "own-list-unsorted", plan: steps(pool("wc1-gpu-l4"))},
	{name: "second-pool", plan: steps(pool("wc1-gpu-a10g"))},
	{name: "changed-pool", plan: steps(pool("wc1-gpu-l4"))},
	{name: "remove-a-pool", plan: steps(removePool("wc1-gpu-l4"))},
	{name: "remove-the-last-pool", plan: steps(removePool("wc1-gpu-l4"), removeCredentials("wc1-gpu-l4-values"))},
	{name: "remove-the-last-pool-beside-a-foreign-entry", plan: steps(removePool("wc1-gpu-l4"))},
	{name: "remove-the-last-pool-beside-a-generator", plan: steps(removePool("wc1-gpu-l4"))},
	{name: "remove-what-is-not-there", plan: steps(removePool("wc1-gpu-l4"))},
	{name: "remove-a-dangling-entry", plan: steps(removePool("wc1-gpu-l4"))},
	{name: "with-credentials", plan: steps(credentials("wc1-gpu-l4-values"), pool("wc1-gpu-l4"))},
	{name: "credentials-gone", plan: steps(pool("wc1-gpu-l4"), removeCredentials("wc1-gpu-l4-values"))},
	{name: "pool-called-my-secret", plan: steps(credentials("wc1-my-secret-values"), pool("wc1-my-secret"))},
	{name: "substitution", plan: steps(withValue("${image} and the rest"), pool("wc3-plain"), credentials("wc3-plain-values"),
		dollars("wc3-dollars-values")), target: clustermanager.Target{Substitutes: true}},
	{name: "no-substitution", plan: steps(withValue("${image} and the rest")), target: clustermanager.Target{}},
	{name: "nothing-declared", plan: clustermanager.Plan{Steps: pool("wc1-gpu-l4")[2:]}},
}

func withValue(value string) []clustermanager.Step {
	release := helmRelease("wc3-gpu-l4")
	_ = unstructured.SetNestedField(release.Object, value, "spec", "values", "list")
	return declare(clustermanager.Ensure, ociRepository("wc3-gpu-l4"), release)
}

func dollars(name string) []clustermanager.Step {
	secret := credentials(name)
	secret[0].SecretData["values.yaml"] = clustermanager.NewSecret("password: made$$up\n")
	return secret
}

func TestFiles(t *testing.T) {
	for _, golden := range goldens {
		t.Run(golden.name, func(t *testing.T) {
			target := golden.target
			if target.Path == "" {
				target.Path = "clusters/wc1"
			}
			file := filepath.Join("testdata", "files", golden.name+".txtar")
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			base := section(archive, "base/")
			before := maps.Clone(base)
			files, err := Files(golden.plan, target, base)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, base); diff != "" {
				t.Fatalf("the base was changed:\n%s", diff)
			}
			got := &txtar.Archive{Comment: archive.Comment, Files: append(under(archive, "base/"), wanted(files)...)}
			if *update {
				if err := os.WriteFile(file, txtar.Format(got), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(string(txtar.Format(archive)), string(txtar.Format(got))); diff != "" {
				t.Errorf("-golden +got:\n%s", diff)
			}
			checkPlaces(t, files, target)
			again, err := Files(golden.plan, target, base)
			if err != nil || !sameFiles(files, again) {
				t.Errorf("the same call gave other files: %v", err)
			}
			checkRerun(t, golden.plan, target, base, files)
		})
	}
}

// checkPlaces wants nothing stated outside the directory and the kustomization file above it, a plain value nowhere but
// in a sealed file's text, and no Secret in another file.
func checkPlaces(t *testing.T, files clustermanager.FileSet, target clustermanager.Target) {
	t.Helper()
	for name, file := range files {
		above := path.Dir(name) == path.Clean(target.Path) && kustomizationNames[path.Base(name)]
		if path.Dir(name) != target.Directory() && !above {
			t.Errorf("%s is stated", name)
		}
		if bytes.Contains(file.Content, []byte(madeUpPassword)) || bytes.Contains(file.Content, []byte("kind: Secret")) {
			t.Errorf("%s holds a Secret in plain text", name)
		}
		if file.Sensitive != strings.HasSuffix(name, secretSuffix) || !file.Sensitive && !file.Plain.IsZero() {
			t.Errorf("%s: sensitive is %v", name, file.Sensitive)
		}
		if !file.Sensitive && !file.Delete && (!bytes.HasSuffix(file.Content, []byte("\n")) || bytes.HasSuffix(file.Content, []byte("\n\n"))) {
			t.Errorf("%s does not end in one line break", name)
		}
	}
}

// checkRerun wants the same plan to change nothing once its files are in the base.
func checkRerun(t *testing.T, plan clustermanager.Plan, target clustermanager.Target, base fstest.MapFS, files clustermanager.FileSet) {
	t.Helper()
	merged := merge(base, files)
	again, err := Files(plan, target, merged)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range again {
		if file.Sensitive {
			file.Content = []byte(file.Plain.Reveal())
		}
		if existing := merged[name]; file.Delete || existing == nil || !bytes.Equal(existing.Data, file.Content) {
			t.Errorf("a re-run would change %s", name)
		}
	}
}

func merge(base fstest.MapFS, files clustermanager.FileSet) fstest.MapFS {
	merged := maps.Clone(base)
	for name, file := range files {
		switch {
		case file.Delete:
			delete(merged, name)
		case file.Sensitive:
			merged[name] = &fstest.MapFile{Data: []byte(file.Plain.Reveal())}
		default:
			merged[name] = &fstest.MapFile{Data: file.Content}
		}
	}
	return merged
}

func sameFiles(a, b clustermanager.FileSet) bool {
	return cmp.Equal(txtar.Format(&txtar.Archive{Files: wanted(a)}), txtar.Format(&txtar.Archive{Files: wanted(b)}))
}

func wanted(files clustermanager.FileSet) []txtar.File {
	var list []txtar.File
	for _, name := range files.Paths() {
		file := files[name]
		content := append(bytes.Clone(file.Content), file.Plain.Reveal()...)
		switch {
		case file.Delete:
			name = "delete/" + name
		case file.Sensitive:
			name = "seal/" + name
		default:
			name = "want/" + name
		}
		list = append(list, txtar.File{Name: name, Data: content})
	}
	return list
}

func under(archive *txtar.Archive, prefix string) []txtar.File {
	var files []txtar.File
	for _, file := range archive.Files {
		if strings.HasPrefix(file.Name, prefix) {
			files = append(files, file)
		}
	}
	return files
}

func section(archive *txtar.Archive, prefix string) fstest.MapFS {
	base := fstest.MapFS{}
	for _, file := range under(archive, prefix) {
		base[strings.TrimPrefix(file.Name, prefix)] = &fstest.MapFile{Data: file.Data}
	}
	return base
}

func text(content string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(content)} }

func TestFilesRefusals(t *testing.T) {
	const directory = "clusters/wc1/cluster-manager/"
	link := &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte("elsewhere")}
	submodule := &fstest.MapFile{Mode: fs.ModeIrregular}
	foreign := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: wc1-gpu-l4\n  namespace: org-acme\n"
	add, remove := steps(pool("wc1-gpu-l4")), steps(removePool("wc1-gpu-l4"))
	for _, test := range []struct {
		name string
		base fstest.MapFS
		plan clustermanager.Plan
		says []string
	}{
		{"two kustomization files above", fstest.MapFS{"clusters/wc1/kustomization.yaml": text(""), "clusters/wc1/Kustomization": text("")}, add,
			[]string{"clusters/wc1/kustomization.yaml and clusters/wc1/Kustomization", "keep one"}},
		{"two kustomization files in the directory", fstest.MapFS{directory + "kustomization.yml": text(""), directory + "Kustomization": text("")}, add,
			[]string{directory + "kustomization.yml and " + directory + "Kustomization"}},
		{"a foreign file of the same name", fstest.MapFS{directory + "wc1-gpu-l4.yaml": text(foreign), directory + "kustomization.yaml": text("resources: [wc1-gpu-l4.yaml]\n")}, add,
			[]string{directory + "wc1-gpu-l4.yaml", "ConfigMap org-acme/wc1-gpu-l4", "so it is not overwritten: move that object to a file of another name"}},
		{"a foreign file of the same name, to be removed", fstest.MapFS{directory + "wc1-gpu-l4.yaml": text(foreign), directory + "kustomization.yaml": text("resources: [wc1-gpu-l4.yaml]\n")}, remove,
			[]string{directory + "wc1-gpu-l4.yaml", "ConfigMap org-acme/wc1-gpu-l4", "did not write there, so it is not removed: if it is to go, remove it from the repository by hand"}},
		{"a file that is no manifest, to be removed", fstest.MapFS{directory + "wc1-gpu-l4.yaml": text("a: b\n"), directory + "kustomization.yaml": text("resources: [wc1-gpu-l4.yaml]\n")}, remove,
			[]string{directory + "wc1-gpu-l4.yaml holds something else than Kubernetes objects, so it is not removed: remove that file by hand"}},
		{"a Secret in a plain file", fstest.MapFS{directory + "wc1-gpu-l4.yaml": text(strings.ReplaceAll(foreign, "ConfigMap", "Secret"))},
			steps(pool("wc1-gpu-l4"), credentials("wc1-gpu-l4")), []string{"Secret org-acme/wc1-gpu-l4"}},
		{"a file that is no manifest", fstest.MapFS{directory + "wc1-gpu-l4.yaml": text("a: b\n")}, add, []string{directory + "wc1-gpu-l4.yaml", "something else than Kubernetes objects"}},
		{"a file that cannot be read", fstest.MapFS{directory + "wc1-gpu-l4.yaml": text("a: [\n")}, add, []string{directory + "wc1-gpu-l4.yaml", "something else than Kubernetes objects"}},
		{"two files with foreign objects: always the first is told", fstest.MapFS{
			directory + "wc1-gpu-l4.yaml": text(foreign), directory + "wc1-gpu-a10g.yaml": text(foreign),
		}, steps(pool("wc1-gpu-l4"), pool("wc1-gpu-a10g")), []string{directory + "wc1-gpu-a10g.yaml holds"}},
		{"another manifest and no kustomization file", fstest.MapFS{directory + "other.yaml": text(foreign)}, add, []string{directory + "other.yaml", "no kustomization file"}},
		{"a manifest that would come in with the removal", fstest.MapFS{
			directory + "kustomization.yaml": text("resources: [wc1-gpu-l4.yaml]\n"), directory + "sub/other.yaml": text(foreign),
		}, remove, []string{directory + "sub", "Flux would apply it"}},
		{"a list that cannot be edited", fstest.MapFS{"clusters/wc1/kustomization.yml": text("resources: x\n")}, add, []string{"clusters/wc1/kustomization.yml", "not a list"}},
		{"a symbolic link on the path", fstest.MapFS{"clusters": link}, add, []string{"clusters is a symbolic link"}},
		{"a symbolic link as the directory", fstest.MapFS{"clusters/wc1/cluster-manager": link}, add, []string{"clusters/wc1/cluster-manager is a symbolic link"}},
		{"a submodule on the path", fstest.MapFS{"clusters/wc1": submodule}, add, []string{"clusters/wc1 is a submodule"}},
		{"a file on the path", fstest.MapFS{"clusters/wc1": text("")}, add, []string{"clusters/wc1 is a file"}},
		{"a symbolic link as the kustomization file", fstest.MapFS{"clusters/wc1/kustomization.yaml": link}, add, []string{"clusters/wc1/kustomization.yaml is a symbolic link"}},
		{"a symbolic link as the pool's file", fstest.MapFS{directory + "wc1-gpu-l4.yaml": link}, add, []string{directory + "wc1-gpu-l4.yaml is a symbolic link"}},
		{"a directory as the pool's file", fstest.MapFS{directory + "wc1-gpu-l4.yaml/x": text("")}, add, []string{directory + "wc1-gpu-l4.yaml is a directory"}},
		{"a name that climbs", nil, steps(pool("../wc1")), []string{`"../wc1"`}},
		{"a name with two dots", nil, steps(pool("a..b")), []string{`"a..b"`}},
		{"a name with a slash", nil, steps(removePool("a/b")), []string{`"a/b"`}},
		{"a name with a control character", nil, steps(pool("a\nb")), []string{`"a\nb"`}},
		{"a hidden name", nil, steps(pool(".sops")), []string{`".sops"`}},
		{"no name", nil, steps(pool("")), []string{`""`}},
		{"a name that makes a kustomization file", nil, steps(pool("kustomization")), []string{"kustomization.yaml", "another meaning"}},
		{"a name that makes a sealed file", nil, steps(pool("a-secret.enc")), []string{"a-secret.enc.yaml", "another meaning"}},
		{"two Secrets of one name", nil, steps(credentials("a"), credentials("a")), []string{"one sealed file"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			files, err := Files(test.plan, clustermanager.Target{Path: "clusters/wc1"}, test.base)
			wantRefusal(t, err, test.says...)
			if len(files) > 0 {
				t.Errorf("answered files beside the refusal: %v", files.Paths())
			}
		})
	}
	for _, directory := range []string{"..", "../x", "/x", "a/../..", "./x", "a//b", "a/", "a\nb", "a/.git/hooks", ".GIT"} {
		_, err := Files(add, clustermanager.Target{Path: directory}, fstest.MapFS{})
		wantRefusal(t, err, "correct spec.path")
	}
}

// The parent's own list keeps a file that nobody lists from being applied, so that the removal needs no refusal.
func TestFilesLeavesUnlistedFiles(t *testing.T) {
	const directory = "clusters/wc1/cluster-manager/"
	files, err := Files(steps(removePool("wc1-gpu-l4")), clustermanager.Target{Path: "clusters/wc1"}, fstest.MapFS{
		"clusters/wc1/kustomization.yaml": text("resources: [cluster-manager, x.yaml]\n"),
		directory + "kustomization.yaml":  text("resources: [wc1-gpu-l4.yaml]\n"),
		directory + "unlisted.yaml":       text("a: b\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, stated := files[directory+"unlisted.yaml"]; stated || !files[directory+"kustomization.yaml"].Delete {
		t.Errorf("states %v", files.Paths())
	}
}

func TestFilesNeedsEveryValueOfASecret(t *testing.T) {
	plan := steps(credentials("wc1-values"))
	delete(plan.Steps[0].SecretData, "values.yaml")
	_, err := Files(plan, clustermanager.Target{}, fstest.MapFS{})
	if err == nil || !strings.Contains(err.Error(), `Secret org-acme/wc1-values: writing its file: the plan holds no value of "values.yaml"`) {
		t.Errorf("got %v", err)
	}
}

// unreadable is a base whose files cannot be read.
type unreadable struct{ fstest.MapFS }

func (unreadable) ReadFile(string) ([]byte, error) { return nil, errBroken }

var errBroken = errors.New("connection lost")

func TestFilesNamesWhatCannotBeRead(t *testing.T) {
	base := unreadable{fstest.MapFS{"clusters/wc1/kustomization.yaml": text("")}}
	_, err := Files(steps(pool("wc1-gpu-l4")), clustermanager.Target{Path: "clusters/wc1"}, base)
	if !errors.Is(err, errBroken) || !strings.HasPrefix(err.Error(), "clusters/wc1/kustomization.yaml: reading: ") {
		t.Errorf("got %v", err)
	}
}

// A plan that takes something away wants it in the repository, whatever else it changes there.
func TestWhatThePlanWantsCarried(t *testing.T) {
	const directory = "clusters/wc1/cluster-manager/"
	target := clustermanager.Target{Path: "clusters/wc1"}
	plan := steps(removePool("wc1-gpu-l4"))
	plan.Carried = &clustermanager.ObjectReference{APIVersion: "helm.toolkit.fluxcd.io/v2", Kind: "HelmRelease", Namespace: "org-acme", Name: "wc1-gpu-l4"}
	other := fstest.MapFS{directory + "wc1-gpu-t4.yaml": text("a: b\n"), directory + "kustomization.yaml": text("resources: [wc1-gpu-t4.yaml]\n")}
	for _, wanted := range []clustermanager.Plan{plan, {Carried: plan.Carried}} {
		if files, err := Files(wanted, target, other); !errors.Is(err, ErrNotCarried) || len(files) > 0 {
			t.Errorf("%d steps: %v, %v", len(wanted.Steps), files, err)
		}
	}
	other[directory+"wc1-gpu-l4.yaml"] = text("")
	if files, err := Files(plan, target, other); err != nil || !files[directory+"wc1-gpu-l4.yaml"].Delete {
		t.Errorf("%v, %v", files, err)
	}
}
