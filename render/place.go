package render

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// ErrNotCarried says that the base holds nothing of the place that a plan gives up, or not the object that it wants there.
var ErrNotCarried = errors.New("the repository carries none of it")

// givesUp says whether the plan ensures none of the directory's objects.
func (r *renderer) givesUp() bool {
	for _, stated := range r.stated {
		if !stated.removes() {
			return false
		}
	}
	return true
}

// checkRequired refuses a base that holds no file below the directory which the target's layout wants.
func (r *renderer) checkRequired() error {
	required := r.target.Placement.Required
	if required == "" {
		return nil
	}
	folder, err := openFolder(r.above.base, required)
	if err != nil {
		return err
	}
	if len(folder.modes) == 0 {
		return clustermanager.Refuse("%s has no directory %s at branch %s, so it is not laid out for clusters of that organization: add the directory with the organization's files, or use mode %s",
			r.target.Repository.FullName(), required, r.target.Repository.Branch, clustermanager.ModeApply)
	}
	return nil
}

// checkHeld is ErrNotCarried where the directory has no file of the object; nil asks for none.
func (r *renderer) checkHeld(reference *clustermanager.ObjectReference) error {
	if reference == nil {
		return nil
	}
	name, err := fileName(*reference)
	if err != nil {
		return err
	}
	if _, held := r.directory.modes[name]; !held {
		return ErrNotCarried
	}
	return nil
}

// checkCarried is ErrNotCarried where there is neither the directory, nor the Kustomization's file, nor its entry.
func (r *renderer) checkCarried() error {
	_, file := r.above.modes[path.Base(r.target.KustomizationFile())]
	if file || len(r.directory.modes) > 0 {
		return nil
	}
	name, content, err := r.list()
	if err != nil || name == "" {
		return errors.Join(err, ErrNotCarried)
	}
	list, err := readList(content, name)
	if err != nil {
		return err
	}
	if list.index(path.Base(r.target.KustomizationFile())) < 0 {
		return ErrNotCarried
	}
	return nil
}

// removeDirectory removes every file below the directory.
func (r *renderer) removeDirectory() error {
	return r.directory.walk(func(file string, _ fs.FileMode) error {
		if _, stated := r.files[file]; !stated {
			r.files[file] = clustermanager.File{Delete: true}
		}
		return nil
	})
}

// writeBrought states the file of the Flux Kustomization that the plan brings or takes away.
func (r *renderer) writeBrought() error {
	file := r.target.KustomizationFile()
	before, err := r.above.read(path.Base(file))
	if err != nil {
		return err
	}
	stated := &statement{known: []clustermanager.ObjectReference{r.target.Brought().Identity()}}
	if object := Brought(r.target); object != nil && !r.givesUp() {
		stated.objects = append(stated.objects, object)
	}
	written, err := stated.file(before, file)
	if err != nil {
		return err
	}
	if before != nil || !written.Delete {
		r.files[file] = written
	}
	return nil
}

// list is the kustomization file of the directory above, by its path and content; "": there is none.
func (r *renderer) list() (string, []byte, error) {
	name, err := r.above.kustomization()
	if err != nil || name == "" {
		return "", nil, err
	}
	content, err := r.above.read(name)
	return path.Join(r.above.path, name), content, err
}

// writeList puts the Kustomization's file at the end of the list. Where there is no list yet, everything that Flux
// generates there today comes first: a list with the new entry alone would make it drop the rest.
func (r *renderer) writeList() error {
	entry := path.Base(r.target.KustomizationFile())
	name, content, err := r.list()
	if err != nil {
		return err
	}
	if name == "" {
		name = path.Join(r.above.path, "kustomization.yaml")
		generated, err := r.above.generated()
		if err != nil {
			return err
		}
		generated = slices.DeleteFunc(generated, func(listed string) bool { return listed == entry })
		if content, err = newKustomization(append(generated, entry)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	} else if content, err = AppendEntry(content, name, entry); err != nil {
		return err
	}
	r.files[name] = clustermanager.File{Content: content}
	return nil
}

// removeFromList takes the Kustomization's file out of the list. The list stays, unless it would hold nothing, which
// kustomize does not build.
func (r *renderer) removeFromList() error {
	name, content, err := r.list()
	if err != nil || name == "" {
		return err
	}
	if content, err = RemoveEntry(content, name, path.Base(r.target.KustomizationFile())); err != nil {
		return err
	}
	list, err := readList(content, name)
	if err != nil {
		return err
	}
	if !list.blank() {
		r.files[name] = clustermanager.File{Content: content}
		return nil
	}
	r.files[name] = clustermanager.File{Delete: true}
	return r.refuseUnlisted(name)
}

// refuseUnlisted refuses to take the list away from above manifests that it does not name: Flux would begin to apply
// them.
func (r *renderer) refuseUnlisted(name string) error {
	generated, err := r.above.generated()
	if err != nil {
		return err
	}
	for _, entry := range generated {
		if file := path.Join(r.above.path, entry); !within(file, r.directory.path) && file != r.target.KustomizationFile() {
			return clustermanager.Refuse("%s is not listed by %s, which would go with its last entry, and Flux would apply it then: list it, or move it elsewhere, then call again", file, name)
		}
	}
	return nil
}

func within(file, directory string) bool {
	return file == directory || len(file) > len(directory) && file[:len(directory)+1] == directory+"/"
}

// blank says whether kustomize would refuse the file for holding nothing but its type and an empty list.
func (l *resourceList) blank() bool {
	for key, value := range l.content {
		list, isList := value.([]any)
		if key != "apiVersion" && key != "kind" && key != "metadata" && value != nil && !(isList && len(list) == 0) {
			return false
		}
	}
	return true
}

// notInArtifact are the names of YAML files that Flux leaves out of every artifact.
var notInArtifact = []string{
	".sops.yaml", ".flux.yaml", ".goreleaser.yml", ".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml",
	"cloudbuild.yaml", "codeship-services.yml", "codeship-steps.yml",
}

// generated is what Flux's generator lists of a directory without a kustomization file, relative to it and in its
// order: every YAML file, and a folder with a kustomization file in place of what is below it.
func (f *folder) generated() ([]string, error) {
	var entries []string
	for _, name := range slices.Sorted(maps.Keys(f.modes)) {
		mode := f.modes[name]
		extension := path.Ext(name)
		switch {
		case mode.IsRegular() && kustomizationNames[name]:
		case mode.IsRegular() && (extension == ".yaml" || extension == ".yml") && !slices.Contains(notInArtifact, name):
			entries = append(entries, name)
		case mode.IsDir() && name != ".github" && name != ".circleci" && name != ".git":
			below, err := f.enter(name)
			if err != nil {
				return nil, err
			}
			if below.ruled() {
				entries = append(entries, name)
				continue
			}
			listed, err := below.generated()
			if err != nil {
				return nil, err
			}
			for _, entry := range listed {
				entries = append(entries, path.Join(name, entry))
			}
		}
	}
	return entries, nil
}

// ruled says whether a kustomization file is in the directory.
func (f *folder) ruled() bool {
	for name := range kustomizationNames {
		if mode, found := f.modes[name]; found && mode.IsRegular() {
			return true
		}
	}
	return false
}

// walk calls visit for everything below the directory that is no directory, by its path.
func (f *folder) walk(visit func(file string, mode fs.FileMode) error) error {
	for _, name := range slices.Sorted(maps.Keys(f.modes)) {
		if !f.modes[name].IsDir() {
			if err := visit(path.Join(f.path, name), f.modes[name]); err != nil {
				return err
			}
			continue
		}
		below, err := f.enter(name)
		if err != nil {
			return err
		}
		if err := below.walk(visit); err != nil {
			return err
		}
	}
	return nil
}
