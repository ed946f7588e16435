package render

import (
	"path"

	"sigs.k8s.io/kustomize/api/konfig"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Reads are the paths that Files may read of the base for this plan, so that they can be fetched at once. Not all of
// them need be there.
func Reads(plan clustermanager.Plan, target clustermanager.Target) []string {
	var paths []string
	for _, directory := range []string{target.Directory(), path.Dir(target.Directory())} {
		for _, name := range konfig.RecognizedKustomizationFileNames() {
			paths = append(paths, path.Join(directory, name))
		}
	}
	if target.Brings() {
		paths = append(paths, target.KustomizationFile())
	}
	for _, verb := range []clustermanager.Verb{clustermanager.Ensure, clustermanager.Remove} {
		for _, reference := range plan.Objects(verb, clustermanager.Declared) {
			if name, err := fileName(reference); err == nil {
				paths = append(paths, path.Join(target.Directory(), name))
			}
		}
	}
	return paths
}

// Trees are the directories of which Files may list everything below, though it reads none of those files.
func Trees(target clustermanager.Target) []string {
	if !target.Brings() {
		return nil
	}
	return []string{path.Dir(target.Directory())}
}
