package render

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Files returns the files of [clustermanager.Target.Directory] that state the plan's declared steps, over the base: the
// repository as it stands. A file whose content would not change is in it too; it is empty when the plan declares
// nothing.
//
// The objects of a name share <name>.yaml, in the plan's order. A Secret goes to <name>-secret.enc.yaml, with its plain
// text to be sealed, and to no other file. The directory's kustomization file lists them beside the entries that it has;
// it goes with its last entry. The kustomization file of the directory above, where there is one, lists the directory.
//
// A target whose plan brings a Flux Kustomization of its own gets that Kustomization's file beside the directory, and the
// list there its entry at the end; a list that is missing is written with everything that Flux generates there today.
// A plan that ensures nothing there gives up the place: everything below the directory goes, that file and the entry.
// Where the base holds none of it, or not the file of the object that the plan wants carried, the error is [ErrNotCarried].
//
// It is a [clustermanager.Refusal] when a file of that name holds other objects, when a kustomization file cannot be
// edited without changing something else, when a directory has two of them, when a symbolic link or a submodule is in
// the way, and when a name or the target's path would leave the directory.
func Files(plan clustermanager.Plan, target clustermanager.Target, base fs.FS) (clustermanager.FileSet, error) {
	if err := cmp.Or(checkPath(target.Path), checkPath(target.Directory())); err != nil {
		return nil, err
	}
	stated, err := statements(plan, target.Inner())
	if err != nil || len(stated) == 0 && plan.Carried == nil {
		return clustermanager.FileSet{}, err
	}
	above, err := openFolder(base, path.Dir(target.Directory()))
	if err != nil {
		return nil, err
	}
	directory, err := above.enter(path.Base(target.Directory()))
	if err != nil {
		return nil, err
	}
	r := renderer{target: target, stated: stated, above: above, directory: directory, files: clustermanager.FileSet{}}
	if err := r.checkHeld(plan.Carried); err != nil || len(stated) == 0 {
		return r.files, err
	}
	for _, write := range r.layout() {
		if err := write(); err != nil {
			return nil, err
		}
	}
	return r.files, nil
}

// layout are the parts of a change, by the place that the plan's files have.
func (r *renderer) layout() []func() error {
	switch {
	case r.target.Brings() && r.givesUp():
		return []func() error{r.checkRequired, r.checkCarried, r.writeObjects, r.removeDirectory, r.writeBrought, r.removeFromList}
	case r.target.Brings():
		return []func() error{r.checkRequired, r.writeObjects, r.writeKustomization, r.writeBrought, r.writeList}
	case r.target.Placement != nil:
		return []func() error{r.writeObjects, r.writeKustomization}
	}
	return []func() error{r.writeObjects, r.writeKustomization, r.writeEntryAbove}
}

// renderer is one run of Files.
type renderer struct {
	target clustermanager.Target
	// stated are the plan's files by name.
	stated           map[string]*statement
	above, directory *folder
	files            clustermanager.FileSet
	// empty says that nothing of the directory is built any more.
	empty bool
}

// writeObjects states the files of objects and Secrets.
func (r *renderer) writeObjects() error {
	for _, name := range r.names() {
		before, err := r.directory.read(name)
		if err != nil {
			return err
		}
		file, err := r.stated[name].file(before, path.Join(r.directory.path, name))
		if err != nil {
			return err
		}
		if before != nil || !file.Delete {
			r.files[path.Join(r.directory.path, name)] = file
		}
	}
	return nil
}

// writeKustomization states the directory's own kustomization file.
func (r *renderer) writeKustomization() error {
	name, err := r.directory.kustomization()
	if err != nil {
		return err
	}
	if name == "" {
		return r.newKustomization()
	}
	before, err := r.directory.read(name)
	if err != nil {
		return err
	}
	file := path.Join(r.directory.path, name)
	content := before
	for _, entry := range r.names() {
		edit := EnsureEntry
		if r.stated[entry].removes() {
			edit = RemoveEntry
		}
		if content, err = edit(content, file, entry); err != nil {
			return err
		}
	}
	list, err := readList(content, file)
	if err != nil {
		return err
	}
	r.empty = !list.builds()
	if !r.empty {
		r.files[file] = clustermanager.File{Content: content}
		return nil
	}
	r.files[file] = clustermanager.File{Delete: true}
	return r.refuseUncovered()
}

// newKustomization writes a kustomization file where there is none. Manifests that are there already would drop out of
// what Flux generates, or come into what another file leaves out, so they are refused.
func (r *renderer) newKustomization() error {
	entries := slices.DeleteFunc(r.names(), func(name string) bool { return r.stated[name].removes() })
	r.empty = len(entries) == 0
	if r.empty {
		return nil
	}
	if strangers := r.directory.strangers(r.known()); len(strangers) > 0 {
		return clustermanager.Refuse("%s has no kustomization file, so it is not known whether %s is to be applied: add a kustomization.yaml there that lists what is, then call again",
			r.directory.path, path.Join(r.directory.path, strangers[0]))
	}
	content, err := NewKustomization(entries...)
	if err != nil {
		return fmt.Errorf("%s: %w", r.directory.path, err)
	}
	r.files[path.Join(r.directory.path, "kustomization.yaml")] = clustermanager.File{Content: content}
	return nil
}

// refuseUncovered refuses to take the directory's kustomization file away from above manifests that it does not list:
// without one on top either, Flux would begin to apply them.
func (r *renderer) refuseUncovered() error {
	name, err := r.above.kustomization()
	if err != nil || name != "" {
		return err
	}
	if strangers := r.directory.strangers(r.known()); len(strangers) > 0 {
		return clustermanager.Refuse("%s is not listed by the kustomization file beside it, and Flux would apply it once that file is gone: move it out of %s, or list it, then call again",
			path.Join(r.directory.path, strangers[0]), r.directory.path)
	}
	return nil
}

// writeEntryAbove states the entry of the directory in the kustomization file above. Without one Flux generates it.
func (r *renderer) writeEntryAbove() error {
	name, err := r.above.kustomization()
	if err != nil || name == "" {
		return err
	}
	before, err := r.above.read(name)
	if err != nil {
		return err
	}
	edit := EnsureEntry
	if r.empty {
		edit = RemoveEntry
	}
	file := path.Join(r.above.path, name)
	content, err := edit(before, file, path.Base(r.directory.path))
	if err != nil {
		return err
	}
	r.files[file] = clustermanager.File{Content: content}
	return nil
}

// names are the names of the plan's files, sorted.
func (r *renderer) names() []string {
	return slices.Sorted(maps.Keys(r.stated))
}

// known are the names that are no strangers: the plan's files and the kustomization files.
func (r *renderer) known() map[string]bool {
	known := maps.Clone(kustomizationNames)
	for name := range r.stated {
		known[name] = true
	}
	return known
}
