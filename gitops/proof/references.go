package proof

import (
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// role is what kustomize does with the file or folder that an entry names.
type role int

const (
	// asResource is a file of objects, or a folder with a kustomization.
	asResource role = iota
	// asComponent is a folder with a component.
	asComponent
	// asPlugin is a file that configures a builtin generator, transformer or validator.
	asPlugin
	// asYAML is a file that is parsed but holds no objects: a patch, a CRD's schema, a configuration.
	asYAML
	// asData is a file that is taken as it is.
	asData
	// asUnreadable is a plugin's configuration whose paths cannot be told.
	asUnreadable
)

// visitor is asked about each path-valued entry, in the order in which kustomize follows them, and answers whether the
// entry stays.
type visitor func(field, entry string, as role) bool

// visit shows every path-valued entry of a kustomization and takes out those that do not stay. These are all the
// places where kustomize v0.21 loads a file or makes a loader.
func visit(k *types.Kustomization, stays visitor) {
	k.Resources = keep(k.Resources, "resources", asResource, stays)
	k.Bases = keep(k.Bases, "bases", asResource, stays)
	k.Configurations = keep(k.Configurations, "configurations", asYAML, stays)
	k.Crds = keep(k.Crds, "crds", asYAML, stays)
	if entry, ok := k.OpenAPI["path"]; ok && !stays("openapi.path", entry, asYAML) {
		delete(k.OpenAPI, "path")
	}
	for i := range k.ConfigMapGenerator {
		visitSources(&k.ConfigMapGenerator[i].KvPairSources, "configMapGenerator", stays)
	}
	for i := range k.SecretGenerator {
		visitSources(&k.SecretGenerator[i].KvPairSources, "secretGenerator", stays)
	}
	k.Generators = keepPlugins(k.Generators, "generators", stays)
	k.Components = keep(k.Components, "components", asComponent, stays)
	k.PatchesStrategicMerge = keepPatches(k.PatchesStrategicMerge, "patchesStrategicMerge", stays)
	k.Patches = visitPatches(k.Patches, "patches", stays)
	k.PatchesJson6902 = visitPatches(k.PatchesJson6902, "patchesJson6902", stays)
	k.Replacements = visitReplacements(k.Replacements, stays)
	k.Transformers = keepPlugins(k.Transformers, "transformers", stays)
	k.Validators = keepPlugins(k.Validators, "validators", stays)
}

func keep(entries []string, field string, as role, stays visitor) []string {
	return slices.DeleteFunc(entries, func(entry string) bool { return !stays(field, entry, as) })
}

// visitSources shows the files of a generator: path or key=path.
func visitSources(sources *types.KvPairSources, field string, stays visitor) {
	sources.FileSources = slices.DeleteFunc(sources.FileSources, func(entry string) bool {
		if _, after, found := strings.Cut(entry, "="); found {
			entry = after
		}
		return !stays(field+".files", entry, asData)
	})
	sources.EnvSources = keep(sources.EnvSources, field+".envs", asData, stays)
	if sources.EnvSource != "" && !stays(field+".env", sources.EnvSource, asData) {
		sources.EnvSource = ""
	}
}

func visitPatches(patches []types.Patch, field string, stays visitor) []types.Patch {
	return slices.DeleteFunc(patches, func(patch types.Patch) bool {
		return patch.Path != "" && !stays(field+".path", patch.Path, asYAML)
	})
}

func visitReplacements(replacements []types.ReplacementField, stays visitor) []types.ReplacementField {
	return slices.DeleteFunc(replacements, func(replacement types.ReplacementField) bool {
		return replacement.Path != "" && !stays("replacements.path", replacement.Path, asYAML)
	})
}

// keepPatches shows the strategic merge patches that are paths: kustomize takes an entry that reads as objects for the
// patch itself.
func keepPatches(patches []types.PatchStrategicMerge, field string, stays visitor) []types.PatchStrategicMerge {
	return slices.DeleteFunc(patches, func(patch types.PatchStrategicMerge) bool {
		return !readsAsObjects(string(patch)) && !stays(field, string(patch), asYAML)
	})
}

// keepPlugins shows plugin configurations that are paths, and for those written inline the paths inside them.
func keepPlugins(entries []string, field string, stays visitor) []string {
	return slices.DeleteFunc(entries, func(entry string) bool {
		if configurations, err := parsePlugins([]byte(entry)); err == nil {
			return !pluginsStay(configurations, field, stays)
		}
		return !stays(field, entry, asPlugin)
	})
}

// pluginPaths are the fields of kustomize's builtin plugins that name files, over all kinds.
type pluginPaths struct {
	Path           string                      `json:"path"`
	Paths          []types.PatchStrategicMerge `json:"paths"`
	TargetFilePath string                      `json:"targetFilePath"`
	Replacements   []types.ReplacementField    `json:"replacements"`
	types.KvPairSources
}

// pluginsStay looks at the paths inside plugin configurations: one that does not stay takes its configuration with it.
func pluginsStay(configurations resmap.ResMap, field string, stays visitor) bool {
	all := true
	for _, configuration := range configurations.Resources() {
		text, err := configuration.AsYAML()
		if err != nil {
			all = false
			continue
		}
		var paths pluginPaths
		if err := yaml.Unmarshal(text, &paths); err != nil {
			all = stays(field, configuration.GetKind(), asUnreadable) && all
			continue
		}
		inner := func(name, entry string, as role) bool {
			stay := stays(field+": "+configuration.GetKind()+"."+name, entry, as)
			all = all && stay
			return stay
		}
		if paths.Path != "" {
			inner("path", paths.Path, asYAML)
		}
		keepPatches(paths.Paths, "paths", inner)
		if paths.TargetFilePath != "" {
			inner("targetFilePath", paths.TargetFilePath, asYAML)
		}
		visitReplacements(paths.Replacements, inner)
		visitSources(&paths.KvPairSources, "sources", inner)
	}
	return all
}

// parsePlugins reads plugin configurations with kustomize's own factory, so that both take the same text for inline.
func parsePlugins(text []byte) (configurations resmap.ResMap, err error) {
	defer recovered(&err)
	return resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory()).NewResMapFromBytes(text)
}

func readsAsObjects(text string) (objects bool) {
	var err error
	defer func() { objects = objects && err == nil }()
	defer recovered(&err)
	_, err = provider.NewDefaultDepProvider().GetResourceFactory().SliceFromBytes([]byte(text))
	return err == nil
}

// isLocal says that kustomize would take an entry for a path on every branch that it has. A URL, an scp address or a
// GitHub shorthand is fetched even where the tree has a folder of that name. Every form that kustomize fetches has a
// colon or an at sign before the first slash, or begins with github.com.
func isLocal(entry string) bool {
	first, _, _ := strings.Cut(entry, "/")
	return !strings.ContainsAny(first, ":@?") && !strings.EqualFold(first, "github.com") && !strings.HasPrefix(entry, "/")
}
