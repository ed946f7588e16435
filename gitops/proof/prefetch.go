package proof

import (
	"path"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
)

// prefetch brings a folder's files at once where the tree is fetched on demand.
func (c *collector) prefetch(dir string, blobs func(string) bool) {
	inside := func(loaded string) bool { return within(dir, loaded) }
	if c.err != nil || c.load == nil || slices.ContainsFunc(c.loaded, inside) {
		return
	}
	c.loaded = append(c.loaded, dir)
	c.err = c.load(c.ctx, dir, blobs)
}

// prefetchGenerated brings what Flux's generator reads of the root, and the manifests beside each kustomization that it
// stops at, which most of them list. What is below those, such as the clusters of an organization, may be a hundred
// times as much and belong to other Kustomizations: it is left to whoever follows an entry there.
func (c *collector) prefetchGenerated() {
	if c.load == nil || c.err != nil {
		return
	}
	if c.err = c.load(c.ctx, c.root, func(string) bool { return false }); c.err != nil {
		return
	}
	wanted := map[string]bool{}
	c.scanNames(c.root, wanted)
	if c.err == nil {
		c.err = c.load(c.ctx, c.root, func(name string) bool { return wanted[name] })
	}
}

// scanNames walks as scan does, by names alone.
func (c *collector) scanNames(dir string, wanted map[string]bool) {
	listing, err := c.artifact.list(dir)
	if err != nil {
		c.err = err
	}
	for base, kind := range listing {
		name := path.Join(dir, base)
		switch {
		case c.err != nil:
			return
		case kind == folder && !c.ruled(name):
			c.scanNames(name, wanted)
		case kind == folder:
			beside, err := c.artifact.list(name)
			if err != nil {
				c.err = err
			}
			for base, kind := range beside {
				wanted[path.Join(name, base)] = kind == file && isManifest(base)
			}
		case kind == file:
			wanted[name] = isManifest(name)
		}
	}
}

// ruled says whether a folder holds a kustomization file.
func (c *collector) ruled(dir string) bool {
	listing, err := c.artifact.list(dir)
	if err != nil {
		c.err = err
	}
	return slices.ContainsFunc(konfig.RecognizedKustomizationFileNames(), func(base string) bool { return listing[base] == file })
}

// reachedFrom tells which files the kustomization of a folder reaches inside that, to a first guess: what it lists, and
// every manifest below a folder that it lists.
func (c *collector) reachedFrom(root string, content []byte) func(string) bool {
	var k types.Kustomization
	listed := map[string]bool{}
	if weigh(content, 3).over() == "" && k.Unmarshal(content) == nil {
		visit(&k, func(_, entry string, _ role) bool {
			listed[path.Join(root, entry)] = true
			return true
		})
	}
	return func(name string) bool {
		if listed[name] {
			return true
		}
		for dir := path.Dir(name); dir != "." && isManifest(name); dir = path.Dir(dir) {
			if listed[dir] {
				return true
			}
		}
		return false
	}
}
