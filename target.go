package clustermanager

import (
	"path"
	"time"
)

// Target is where in git a cluster's files go: the repository and branch that Flux follows, and the Kustomization that
// applies them.
type Target struct {
	Repository GitRepository `json:"repository"`
	// Kustomization is the Flux Kustomization that owns the cluster.
	Kustomization NamespacedName `json:"kustomization"`
	// Path is spec.path as a clean path from the repository's root; "" is the root itself.
	Path string `json:"path"`
	// Prune is spec.prune.
	Prune bool `json:"prune"`
	// Suspended says that the Kustomization is suspended: a merge has no effect until it is resumed.
	Suspended bool `json:"suspended,omitempty"`
	// DeletionPolicy is spec.deletionPolicy; "" is Flux's default, MirrorPrune.
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
	// Interval is how often Flux applies what it has fetched already; what it fetches anew it applies at once.
	Interval time.Duration `json:"interval,omitempty"`
	// Warnings say how Flux treats owner or source in a way that makes a merge have no effect, or another one.
	Warnings []string `json:"warnings,omitempty"`
	// Decrypts says that spec.decryption names the provider sops: without it Flux cannot apply a sealed file.
	Decrypts bool `json:"decrypts,omitempty"`
	// Substitutes says that spec.postBuild is set, so Flux replaces ${…} in what it builds.
	Substitutes bool `json:"substitutes,omitempty"`
	// Spec is the Kustomization's spec as it was read, for the build that proves a change.
	Spec map[string]any `json:"spec"`
	// Variables are what postBuild.substituteFrom brings, as far as the caller may read it; Spec's own
	// postBuild.substitute lies above them. They may come from Secrets.
	Variables map[string]Secret `json:"variables,omitempty"`
	// UnreadSubstitutes are the substituteFrom sources that could not be read, "Kind name: reason".
	UnreadSubstitutes []string `json:"unreadSubstitutes,omitempty"`
	// Placement is a place of its own for the plan's files; nil: they go to the cluster-manager/ directory below Path.
	Placement *Placement `json:"placement,omitempty"`
}

// GitRepository is the repository behind a Flux GitRepository.
type GitRepository struct {
	// Source is the GitRepository object.
	Source NamespacedName `json:"source"`
	// Host is the host of the URL, lower case, as the setting git-hosts names it.
	Host string `json:"host"`
	// Owner and Name are the last two elements of the URL's path, without ".git".
	Owner string `json:"owner"`
	Name  string `json:"name"`
	// CloneURL is where git is spoken to over HTTP: https, or http on loopback alone.
	CloneURL string `json:"cloneUrl"`
	// APIURL is the root of the host's GitHub API.
	APIURL string `json:"apiUrl"`
	// Branch is the branch that Flux follows.
	Branch string `json:"branch"`
	// Interval is how often Flux looks at the branch.
	Interval time.Duration `json:"interval,omitempty"`
	// Ignore is spec.ignore, in the form of .gitignore; nil: not set.
	Ignore *string `json:"ignore,omitempty"`
	// Suspended says that the GitRepository is suspended.
	Suspended bool `json:"suspended,omitempty"`
}

// FullName is owner/name.
func (g GitRepository) FullName() string { return g.Owner + "/" + g.Name }

// Suspends says whether Flux would leave a merge alone until someone resumes the owner or its source.
func (t Target) Suspends() bool { return t.Suspended || t.Repository.Suspended }

// AppliedWithin is how soon after a merge Flux applies it: once it looks at the branch again; 0: not known.
func (t Target) AppliedWithin() time.Duration {
	if t.Repository.Interval > 0 {
		return t.Repository.Interval
	}
	return t.Interval
}

// Directory is where a cluster's files go: the place of its own, else <path>/cluster-manager.
func (t Target) Directory() string {
	if t.Placement != nil {
		return t.Placement.Directory
	}
	return path.Join(t.Path, "cluster-manager")
}
