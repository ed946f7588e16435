package clustermanager

import "path"

// Placement is a place of its own in a target's tree: the files of a cluster that another Flux Kustomization applies,
// and that Kustomization's file and list entry. A plan that ensures nothing gives the whole place up.
type Placement struct {
	// Directory is where the files of the plan's objects go, from the repository's root.
	Directory string `json:"directory"`
	// Kustomization is the Flux Kustomization that applies Directory, as its file holds it; nil: the target's own does,
	// and its path is Directory.
	Kustomization map[string]any `json:"kustomization,omitempty"`
	// Name names that Kustomization, also where only its removal is composed.
	Name NamespacedName `json:"name,omitzero"`
	// Required is a directory that the base must hold a file below.
	Required string `json:"required,omitempty"`
}

// Brings says whether the target's plan brings a Flux Kustomization of its own, or takes it away.
func (t Target) Brings() bool { return t.Placement != nil && t.Placement.Name.Name != "" }

// KustomizationFile is the file of the Flux Kustomization that the plan brings, beside its directory.
func (t Target) KustomizationFile() string { return t.Directory() + ".yaml" }

// ListDirectory is the directory whose kustomization file lists the plan's directory, or with a Kustomization of its own
// the file of that; "" where the target's own kustomization needs no entry. Entry is what is listed there.
func (t Target) ListDirectory() (directory, entry string, listed bool) {
	switch {
	case t.Brings():
		return path.Dir(t.Directory()), path.Base(t.KustomizationFile()), true
	case t.Placement != nil:
		return "", "", false
	}
	return t.Path, path.Base(t.Directory()), true
}

// Brought is the reference to the Flux Kustomization that the plan brings or takes away.
func (t Target) Brought() ObjectReference {
	return ObjectReference{
		APIVersion: KustomizationAPI.String(), Kind: "Kustomization", Namespace: t.Placement.Name.Namespace, Name: t.Placement.Name.Name,
	}
}

// Inner is the target whose tree is the plan's directory: that of the Kustomization which the plan brings, else the
// target itself.
func (t Target) Inner() Target {
	if !t.Brings() {
		return t
	}
	spec, _ := t.Placement.Kustomization["spec"].(map[string]any)
	decryption, _ := spec["decryption"].(map[string]any)
	return Target{
		Repository: t.Repository, Kustomization: t.Placement.Name, Path: t.Placement.Directory, Prune: true, Interval: t.Interval,
		Decrypts: decryption["provider"] == "sops", Spec: spec, Placement: &Placement{Directory: t.Placement.Directory},
	}
}
