package proof

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// tree is what a build reads, in memory.
type tree struct {
	root    string
	files   map[string][]byte
	folders map[string]bool
	// unchecked names the entries that are nothing of the repository; they are not part of the tree.
	unchecked []string
	// openAPI says that a kustomization changes kustomize's process-wide schema.
	openAPI bool
	// fault is why Flux could not even make the kustomization that it builds.
	fault error
	// absent says that there is no such folder, and that this is no fault.
	absent bool
}

// allowAbsent takes a folder that does not exist for one that gives no objects.
func (t *tree) allowAbsent(a *artifact) {
	if at, _, err := a.at(t.root); err == nil && at == absent {
		t.absent, t.fault = true, nil
	}
}

// equal says that two trees build the same.
func (t *tree) equal(other *tree) bool {
	return t.fault == nil && other.fault == nil && slices.Equal(t.unchecked, other.unchecked) &&
		maps.Equal(t.folders, other.folders) &&
		maps.EqualFunc(t.files, other.files, func(a, b []byte) bool { return string(a) == string(b) })
}

// size is how many bytes the tree has.
func (t *tree) size() int {
	sum := 0
	for _, content := range t.files {
		sum += len(content)
	}
	return sum
}

// collector reads into a tree what a build of one path reaches.
type collector struct {
	*tree
	ctx      context.Context
	artifact *artifact
	load     func(ctx context.Context, dir string, blobs func(path string) bool) error
	spec     map[string]any
	weights  map[string]weight
	weighed  weighed
	loaded   []string
	bytes    int
	err      error
}

// collect reads the tree that a build of root reaches. Its error is a tooLarge or a failed read; what Flux would
// stumble over is the tree's fault.
func collect(ctx context.Context, in Input, a *artifact, root string, spec map[string]any, known weighed) (*tree, error) {
	c := &collector{
		tree:     &tree{root: root, files: map[string][]byte{}, folders: map[string]bool{root: true}},
		ctx:      ctx,
		artifact: a,
		load:     in.Load,
		spec:     spec,
		weights:  map[string]weight{},
		weighed:  known,
	}
	name, manifest := c.generated()
	if c.err != nil || c.fault != nil {
		return c.tree, c.err
	}
	c.files[name] = manifest
	total := c.follow(root, name)
	if reason := total.over(); c.err == nil && reason != "" {
		c.err = &tooLarge{reason}
	}
	slices.Sort(c.unchecked)
	c.unchecked = slices.Compact(c.unchecked)
	return c.tree, c.err
}

// generated makes the kustomization that Flux builds: the folder's own with the spec's fields, or one that lists what
// the folder holds.
func (c *collector) generated() (string, []byte) {
	at, where, err := c.artifact.at(c.root)
	if err != nil {
		c.err = err
		return "", nil
	}
	if at != folder {
		c.fault = fmt.Errorf("%s is no folder of the repository", where)
		return "", nil
	}
	onDisk := map[string][]byte{}
	if names := c.kustomizations(c.root); len(names) > 0 {
		for _, name := range names {
			onDisk[name] = c.read(name)
		}
		c.prefetch(c.root, c.reachedFrom(c.root, onDisk[names[0]]))
	} else {
		c.prefetchGenerated()
		total := c.scan(c.root, onDisk)
		if reason := total.over(); c.err == nil && reason != "" {
			c.err = &tooLarge{reason}
		}
	}
	folders := c.components()
	if c.err != nil {
		return "", nil
	}
	name, manifest, err := generate(c.root, c.spec, onDisk, folders)
	if errors.Is(err, errDisk) {
		c.err = err
	} else if err != nil {
		c.fault = err
	}
	return name, manifest
}

// components are the folders of spec.components that exist, which the generator looks for.
func (c *collector) components() []string {
	var folders []string
	entries, _ := c.spec["components"].([]any)
	for _, entry := range entries {
		name, _ := entry.(string)
		name = path.Join(c.root, name)
		if !climbs(name) && c.kind(name) == folder {
			folders = append(folders, name)
		}
	}
	return folders
}

// scan reads what Flux's generator reads in a folder without a kustomization: every YAML file, and of a subfolder with
// a kustomization that file alone.
func (c *collector) scan(dir string, onDisk map[string][]byte) (total weight) {
	listing, err := c.artifact.list(dir)
	if err != nil {
		c.err = err
	}
	for _, base := range slices.Sorted(maps.Keys(listing)) {
		name := path.Join(dir, base)
		switch {
		case c.err != nil:
			return total
		case listing[base] == folder:
			if names := c.kustomizations(name); len(names) > 0 {
				onDisk[names[0]] = c.read(names[0])
				continue
			}
			total = total.plus(c.scan(name, onDisk))
		case listing[base] == submodule:
			c.unchecked = append(c.unchecked, name+" (a submodule)")
		case listing[base] == file && isYAML(name) && c.kind(name) == file:
			onDisk[name] = c.read(name)
			total = total.plus(weigh(onDisk[name], 0))
		}
	}
	return total
}

// follow adds everything that a folder's kustomization refers to, and answers what a build of it walks.
func (c *collector) follow(dir, name string) weight {
	if known, ok := c.weights[dir]; ok {
		return known
	}
	c.weights[dir] = weight{}
	if len(c.weights) > maxFolders {
		c.err = &tooLarge{fmt.Sprintf("it has more than %d kustomizations", maxFolders)}
	}
	var k types.Kustomization
	own := weigh(c.files[name], 3)
	if own.over() != "" {
		c.err = &tooLarge{name + " has more nodes than a kustomization can need"}
	}
	// What kustomize cannot read it refuses in its own words, before it follows anything.
	if c.err != nil || k.Unmarshal(c.files[name]) != nil {
		return weight{}
	}
	k.FixKustomization()
	c.openAPI = c.openAPI || len(k.OpenAPI) > 0
	total := weight{nodes: own.nodes}
	left := false
	visit(&k, func(field, entry string, as role) bool {
		w, stays := c.entry(dir, name, field, entry, as)
		total, left = total.plus(w), left || !stays
		return stays
	})
	if left {
		rest, err := yaml.Marshal(k)
		if err != nil {
			c.err = fmt.Errorf("%s: writing what could be checked: %w", name, err)
		}
		c.files[name] = rest
	}
	c.weights[dir] = total
	return total
}

// entry adds one entry of a kustomization to the tree, unless it is nothing of the repository.
func (c *collector) entry(dir, name, field, entry string, as role) (weight, bool) {
	if c.err != nil || entry == "" {
		return weight{}, true
	}
	doubt := func(reason string) (weight, bool) {
		c.unchecked = append(c.unchecked, fmt.Sprintf("%s of %s (%s: %s)", quote(entry, 100), name, field, reason))
		return weight{}, false
	}
	target := path.Join(dir, entry)
	switch {
	case as == asUnreadable:
		return doubt("its configuration cannot be read")
	case !isLocal(entry):
		return doubt("no path of the repository")
	case climbs(target):
		return doubt("climbs out of the repository")
	}
	at, where, err := c.artifact.at(target)
	if err != nil {
		c.err = err
	}
	switch at {
	case link:
		return doubt(where + " is a symbolic link")
	case submodule:
		return doubt(where + " is a submodule")
	case file:
		return c.file(dir, target, field, as)
	case folder:
		return c.folder(target, as, doubt)
	}
	return weight{}, true
}

// file adds a file, and for a plugin's configuration what that refers to.
func (c *collector) file(dir, name, field string, as role) (weight, bool) {
	content := c.read(name)
	if as == asData {
		return weight{}, true
	}
	depth := 0
	if as == asPlugin {
		depth = 2
	}
	w := c.weighed.weigh(content, depth)
	if as != asResource {
		w.objects = 0
	}
	if c.err != nil || as != asPlugin || w.over() != "" {
		return w, true
	}
	configurations, err := parsePlugins(content)
	if err != nil {
		return w, true
	}
	return w, pluginsStay(configurations, field, func(inner, entry string, as role) bool {
		_, stays := c.entry(dir, name, inner, entry, as)
		return stays
	})
}

// folder adds the kustomization of a folder and what it reaches.
func (c *collector) folder(dir string, as role, doubt func(string) (weight, bool)) (weight, bool) {
	if as == asPlugin {
		return doubt("a folder of plugin configurations")
	}
	c.folders[dir] = true
	if as != asResource && as != asComponent || dir == c.root {
		return weight{}, true
	}
	names := c.kustomizations(dir)
	for _, name := range names {
		c.files[name] = c.read(name)
	}
	if len(names) != 1 {
		return weight{}, true
	}
	c.prefetch(dir, c.reachedFrom(dir, c.files[names[0]]))
	return c.follow(dir, names[0]), true
}

// kustomizations returns the kustomization files of a folder in the order in which kustomize looks for them.
func (c *collector) kustomizations(dir string) []string {
	var names []string
	for _, base := range konfig.RecognizedKustomizationFileNames() {
		name := path.Join(dir, base)
		switch c.kind(name) {
		case file:
			names = append(names, name)
		case link, submodule:
			c.unchecked = append(c.unchecked, name+" (a symbolic link or submodule)")
		}
	}
	return names
}

func (c *collector) kind(name string) kind {
	at, _, err := c.artifact.at(name)
	if err != nil && c.err == nil {
		c.err = err
	}
	return at
}

// read reads a file of the artifact into the tree, once.
func (c *collector) read(name string) []byte {
	if known, ok := c.files[name]; ok || c.err != nil {
		return known
	}
	content, err := c.artifact.read(name)
	c.bytes += len(content)
	switch {
	case err != nil:
		c.err = err
	case c.bytes > maxTreeBytes:
		c.err = &tooLarge{fmt.Sprintf("it has more than %d MiB", maxTreeBytes>>20)}
	case c.ctx.Err() != nil:
		c.err = context.Cause(c.ctx)
	}
	c.files[name] = content
	return content
}

func isYAML(name string) bool {
	return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml"
}

func isManifest(name string) bool {
	return isYAML(name) || slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name))
}

// climbs says that a clean path leaves the repository.
func climbs(name string) bool {
	return name == ".." || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "/")
}

// within says that a clean path is a folder or something below it.
func within(name, dir string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}
