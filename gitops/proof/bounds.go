package proof

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const (
	// maxFileBytes bounds one file. The largest files met are bundles of CustomResourceDefinitions, under 4 MiB.
	maxFileBytes = 4 << 20
	// maxTreeBytes bounds what is read of one tree: 2,000 objects of 16 KiB.
	maxTreeBytes = 32 << 20
	// maxObjects is the size of a tree above which it is not built, since a call has a few seconds for all that it does.
	maxObjects = 2000
	// maxNodes bounds the YAML nodes that a build walks, each alias and each repeated base counted out: about 100 MB in
	// memory per copy, and ten times what 2,000 HelmReleases have.
	maxNodes = 1 << 20
	// maxFolders bounds the kustomizations of a tree.
	maxFolders = 2000
)

// weight is what a build of a file or folder walks, with everything below it counted as often as it is referenced.
type weight struct {
	objects int
	nodes   int
}

func (w weight) plus(other weight) weight {
	return weight{objects: add(w.objects, other.objects), nodes: add(w.nodes, other.nodes)}
}

// over names the limit that is passed; empty: none.
func (w weight) over() string {
	switch {
	case w.objects > maxObjects:
		return fmt.Sprintf("it has more than %d objects", maxObjects)
	case w.nodes > maxNodes:
		return fmt.Sprintf("it has more than %d YAML nodes", maxNodes)
	}
	return ""
}

// add is a sum that stays at the largest value instead of turning negative.
func add(a, b int) int {
	if a > math.MaxInt32-b {
		return math.MaxInt32
	}
	return a + b
}

// weigh counts the objects and the nodes of YAML text. Text that is no YAML weighs what was read of it: kustomize
// refuses it at the same place. Scalars that could hold YAML with aliases are counted down to the depth given, as
// kustomize parses the inline patches of a kustomization and of a plugin's configuration inside it.
func weigh(content []byte, depth int) (w weight) {
	defer func() {
		if recover() != nil {
			w = weight{nodes: math.MaxInt32}
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if err != nil {
			return w
		}
		count := counter{known: map[*yaml.Node]int{}, depth: depth}
		w = w.plus(weight{objects: objectsIn(&document), nodes: count.nodes(&document)})
		if w.over() != "" {
			return w
		}
	}
}

// weighed are texts that were weighed already: base and proposal share most of theirs.
type weighed map[weighing]weight

// weighing is the hash of a text and the depth that it was weighed to.
type weighing struct {
	text  [sha256.Size]byte
	depth int
}

func (k weighed) weigh(content []byte, depth int) weight {
	key := weighing{sha256.Sum256(content), depth}
	w, known := k[key]
	if !known {
		w = weigh(content, depth)
		k[key] = w
	}
	return w
}

// objectsIn counts the objects of a document: one, or the items of a list.
func objectsIn(document *yaml.Node) int {
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return 0
	}
	root, list := document.Content[0], 1
	isList := false
	for i := 0; i+1 < len(root.Content); i += 2 {
		switch key, value := root.Content[i], root.Content[i+1]; {
		case key.Value == "kind":
			isList = strings.HasSuffix(value.Value, "List")
		case key.Value == "items" && value.Kind == yaml.SequenceNode:
			list = len(value.Content)
		}
	}
	if isList {
		return list
	}
	return 1
}

// counter counts nodes with every alias replaced by what it names.
type counter struct {
	known map[*yaml.Node]int
	depth int
}

func (c counter) nodes(node *yaml.Node) int {
	if node == nil {
		return 0
	}
	if known, ok := c.known[node]; ok {
		return known
	}
	// Until it is known, a node that holds itself has no end.
	c.known[node] = math.MaxInt32
	sum := 1
	switch {
	case node.Kind == yaml.AliasNode:
		sum = add(sum, c.nodes(node.Alias))
	case node.Kind == yaml.ScalarNode && c.depth > 0 && strings.Contains(node.Value, "*"):
		sum = add(sum, weigh([]byte(node.Value), c.depth-1).nodes)
	}
	for _, child := range node.Content {
		sum = add(sum, c.nodes(child))
	}
	c.known[node] = sum
	return sum
}
