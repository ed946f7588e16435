package proof

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// named is how many objects a refusal names.
const named = 5

// judge decides over two trees that were built, or have a fault.
func (p *prover) judge(ctx context.Context, before, after side) (Result, error) {
	doubts := unchecked(before.tree, after.tree)
	switch {
	case after.fault != nil && before.fault == nil:
		return Result{}, p.doesNotBuild(after)
	case after.fault != nil && doubts != "":
		return p.alone(ctx, doubts+". The rest of the tree does not build without them: "+words(before.fault))
	case after.fault != nil && words(after.fault) == words(before.fault):
		result, err := p.alone(ctx, "the tree does not build today: "+words(before.fault))
		result.Broken = true
		return result, err
	case after.fault != nil:
		return Result{}, clustermanager.Refuse("%s: the tree does not build today (%s) and would not build after the merge (%s): mend it first",
			p.owner(), words(before.fault), words(after.fault))
	case before.fault != nil:
		return p.mended(before, after, doubts)
	}
	result, err := p.verdict(before, after)
	if err != nil {
		return Result{}, err
	}
	result.Proof = clustermanager.Proof{Built: doubts == "" && len(p.target().UnreadSubstitutes) == 0, Note: p.notes(doubts)}
	if doubts != "" {
		result.Proof.Note = p.notes(doubts, onlyOurs)
		err = p.oursOnly(doubts)
	}
	return result, err
}

func (p *prover) doesNotBuild(after side) error {
	return clustermanager.Refuse("%s: the tree builds today and would not build after the merge: %s: mend what it names",
		p.owner(), words(after.fault))
}

// mended judges a proposal that builds over a base that does not: there is nothing to compare with.
func (p *prover) mended(before, after side, doubts string) (Result, error) {
	reason := "the tree does not build today: " + words(before.fault)
	if err := p.oursOnly(reason); err != nil {
		return Result{}, err
	}
	if err := p.expected(after, nil); err != nil {
		return Result{}, err
	}
	return Result{
		Proof:    clustermanager.Proof{Note: p.notes(reason, doubts, onlyOurs, "the tree builds after the merge")},
		Built:    after.objects,
		Warnings: p.differences(after),
	}, nil
}

// unchecked says what of two trees was left out, for the note.
func unchecked(trees ...*tree) string {
	var all []string
	for _, t := range trees {
		if t != nil {
			all = append(all, t.unchecked...)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == 0 {
		return ""
	}
	return "not checked, since it is not in the repository: " + list(all)
}

// list joins the first names and counts the rest.
func list(names []string) string {
	if len(names) <= named {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:named], ", "), len(names)-named)
}

// verdict compares two builds: what is not meant to differ, what is missing, what moved.
func (p *prover) verdict(before, after side) (Result, error) {
	old, built := byIdentity(before.objects), byIdentity(after.objects)
	if err := p.expected(after, old); err != nil {
		return Result{}, err
	}
	meant := map[clustermanager.ObjectReference]bool{}
	for _, reference := range p.in.Meant {
		meant[reference.Identity()] = true
	}
	var dropped, changed, added []string
	for _, object := range before.objects {
		id := clustermanager.ReferenceTo(object)
		now, ok := built[id.Identity()]
		switch {
		case meant[id.Identity()], after.tree.absent:
		case !ok:
			dropped = append(dropped, id.String())
		case !reflect.DeepEqual(object.Object, now.Object):
			changed = append(changed, id.String())
		}
	}
	for _, object := range after.objects {
		id := clustermanager.ReferenceTo(object)
		if _, ok := old[id.Identity()]; !ok && !meant[id.Identity()] {
			added = append(added, id.String())
		}
	}
	if err := p.unmeant(dropped, changed, added); err != nil {
		return Result{}, err
	}
	return Result{
		Objects:  p.in.Diff(before.objects, after.objects),
		Built:    after.objects,
		Warnings: p.differences(after),
	}, nil
}

// unmeant refuses differences that the plan does not mean.
func (p *prover) unmeant(dropped, changed, added []string) error {
	drop := "stop applying"
	if p.target().Prune {
		drop = "prune"
	}
	var effects []string
	for _, effect := range []struct {
		verb  string
		names []string
	}{{drop, dropped}, {"change", changed}, {"add", added}} {
		if len(effect.names) > 0 {
			effects = append(effects, fmt.Sprintf("%s %d (%s)", effect.verb, len(effect.names), list(effect.names)))
		}
	}
	if len(effects) == 0 {
		return nil
	}
	return clustermanager.Refuse("%s: the merge would make Flux %s of the objects that this change does not mean to touch: list them in a kustomization under %s first",
		p.owner(), strings.Join(effects, " and "), path.Clean(p.target().Path))
}

func byIdentity(objects []*unstructured.Unstructured) map[clustermanager.ObjectReference]*unstructured.Unstructured {
	index := make(map[clustermanager.ObjectReference]*unstructured.Unstructured, len(objects))
	for _, object := range objects {
		index[clustermanager.ReferenceTo(object).Identity()] = object
	}
	return index
}

// expected refuses a build without an object that the plan ensures: nothing lists its file, or its name or namespace
// moved on the way.
func (p *prover) expected(after side, old map[clustermanager.ObjectReference]*unstructured.Unstructured) error {
	ensured, err := p.ensured()
	if err != nil {
		return fmt.Errorf("%s: proving: %w", p.owner(), err)
	}
	built, known := byIdentity(after.objects), map[clustermanager.ObjectReference]bool{}
	for _, reference := range slices.Concat(ensured, p.in.Meant) {
		known[reference.Identity()] = true
	}
	for _, want := range ensured {
		if _, ok := built[want.Identity()]; ok {
			continue
		}
		for _, object := range after.objects {
			moved := clustermanager.ReferenceTo(object)
			_, before := old[moved.Identity()]
			if !before && !known[moved.Identity()] && isMoved(want, moved) {
				return clustermanager.Refuse("%s: Flux would apply %s as %s (%s): take that off for %s",
					p.owner(), want, moved, p.mover(), p.target().Directory())
			}
		}
		return clustermanager.Refuse("%s: the build does not reach %s: %s", p.owner(), want, p.missing())
	}
	return nil
}

// isMoved says that an object is another one with its name wrapped or its namespace changed.
func isMoved(want, other clustermanager.ObjectReference) bool {
	return want.Group() == other.Group() && want.Kind == other.Kind && strings.Contains(other.Name, want.Name)
}

// mover names the fields of the spec that move names, else the kustomizations.
func (p *prover) mover() string {
	var fields []string
	for _, field := range []string{"targetNamespace", "namePrefix", "nameSuffix"} {
		if value, _ := p.spec[field].(string); value != "" {
			fields = append(fields, "spec."+field)
		}
	}
	if len(fields) == 0 {
		return "a namePrefix, nameSuffix, namespace or patch of a kustomization"
	}
	return strings.Join(fields, " and ")
}

// missing tells which kustomization to add an entry to.
func (p *prover) missing() string {
	root, directory := path.Clean(p.target().Path), p.target().Directory()
	steps := []struct{ dir, entry string }{{directory, ""}}
	if list, entry, hasList := p.target().ListDirectory(); hasList {
		steps = slices.Insert(steps, 0, struct{ dir, entry string }{path.Clean(list), entry})
		if p.target().Brings() {
			// The directory is another Kustomization's: this tree holds that one's file alone.
			steps, directory = steps[:1], list
		}
	}
	for _, step := range steps {
		name, k, err := readKustomization(p.proposed, step.dir)
		switch {
		case err != nil || k == nil:
		case step.entry != "" && !lists(k, step.entry):
			return fmt.Sprintf("%s does not list %s, add it there", name, step.entry)
		case step.entry == "" && !p.listsStaged(k):
			return name + " does not list its files, add them there"
		case step.entry == "":
			return "its files are listed, so a patch of spec.patches or of a kustomization takes it out: change that patch"
		}
	}
	return "no kustomization under " + root + " lists " + directory + ", add it to one"
}

// listsStaged says whether the directory's kustomization lists every file that the proposal writes into it.
func (p *prover) listsStaged(k *types.Kustomization) bool {
	for _, staged := range p.in.Staged {
		base := path.Base(staged)
		if path.Dir(staged) != p.target().Directory() || slices.Contains(konfig.RecognizedKustomizationFileNames(), base) {
			continue
		}
		if at, _, err := p.proposed.at(staged); err == nil && at == file && !lists(k, base) {
			return false
		}
	}
	return true
}

// readKustomization reads the first kustomization file of a folder; nil: there is none.
func readKustomization(a *artifact, dir string) (string, *types.Kustomization, error) {
	for _, base := range konfig.RecognizedKustomizationFileNames() {
		name := path.Join(dir, base)
		at, _, err := a.at(name)
		if err != nil {
			return name, nil, err
		}
		if at != file {
			continue
		}
		content, err := a.read(name)
		if err != nil {
			return name, nil, err
		}
		if weigh(content, 0).over() != "" {
			return name, nil, &tooLarge{name + " has more nodes than a kustomization can need"}
		}
		var k types.Kustomization
		if err := k.Unmarshal(content); err != nil {
			return name, nil, fmt.Errorf("%s: reading: %w", name, err)
		}
		return name, &k, nil
	}
	return "", nil, nil
}

// lists says that a kustomization lists an entry, however it is spelled.
func lists(k *types.Kustomization, entry string) bool {
	return slices.ContainsFunc(k.Resources, func(listed string) bool { return path.Clean(listed) == entry })
}

// ensured are the objects that must come out of the build: the composed ones, and the Secrets in the staged files.
func (p *prover) ensured() ([]clustermanager.ObjectReference, error) {
	var ensured []clustermanager.ObjectReference
	for _, object := range p.in.Objects {
		ensured = append(ensured, clustermanager.ReferenceTo(object))
	}
	for _, name := range p.in.Staged {
		at, _, err := p.proposed.at(name)
		if err != nil {
			return nil, err
		}
		if at != file || !isYAML(name) || !within(name, p.target().Directory()) || p.target().Brings() {
			continue
		}
		content, err := p.proposed.read(name)
		if err != nil {
			return nil, err
		}
		ensured = append(ensured, secretsIn(content)...)
	}
	return ensured, nil
}

// secretsIn names the Secrets of a file, by their metadata alone, which sealing leaves in the clear.
func secretsIn(content []byte) []clustermanager.ObjectReference {
	var secrets []clustermanager.ObjectReference
	if weigh(content, 0).over() != "" {
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var object yaml.ResourceMeta
		if decoder.Decode(&object) != nil {
			return secrets
		}
		if object.Kind == "Secret" && object.APIVersion == "v1" {
			secrets = append(secrets, clustermanager.ObjectReference{
				APIVersion: object.APIVersion, Kind: object.Kind, Namespace: object.Namespace, Name: object.Name,
			})
		}
	}
}
