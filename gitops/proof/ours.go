package proof

import (
	"fmt"
	"path"
	"reflect"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// oursOnly refuses a proposal that changes anything but our folder's files and our one entry in the list of the folder
// above, for the reason why the tree was not proven whole.
func (p *prover) oursOnly(reason string) error {
	directory := p.target().Directory()
	above, entry, hasList := p.target().ListDirectory()
	above = path.Clean(above)
	for _, name := range p.in.Staged {
		if within(name, directory) || p.target().Brings() && name == p.target().KustomizationFile() {
			continue
		}
		isList := hasList && path.Dir(name) == above && slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name))
		if !isList || !p.oneEntry(above, entry) {
			return clustermanager.Refuse("%s: %s; without that only %s and its one entry may change, and %s changes too: mend the tree first",
				p.owner(), reason, directory, name)
		}
	}
	return nil
}

// oneEntry says that the kustomization of a folder differs by one entry of its list at most.
func (p *prover) oneEntry(dir, entry string) bool {
	oldName, before, err := readKustomization(p.base, dir)
	if err != nil || before == nil {
		return false
	}
	newName, after, err := readKustomization(p.proposed, dir)
	if err != nil || after == nil || oldName != newName {
		return false
	}
	isEntry := func(listed string) bool { return path.Clean(listed) == entry }
	before.Resources = slices.DeleteFunc(before.Resources, isEntry)
	after.Resources = slices.DeleteFunc(after.Resources, isEntry)
	if len(before.Resources) == 0 && len(after.Resources) == 0 {
		before.Resources, after.Resources = nil, nil
	}
	return reflect.DeepEqual(before, after)
}

// listed refuses a folder that the list above does not have, and an entry without a folder. A list that cannot be read
// is the tree's own fault, which the reason for looking here already says.
func (p *prover) listed() error {
	list, entry, hasList := p.target().ListDirectory()
	if !hasList {
		return nil
	}
	name, above, err := readKustomization(p.proposed, path.Clean(list))
	if err != nil || above == nil {
		return nil
	}
	at, _, err := p.proposed.at(path.Join(list, entry))
	switch isListed := lists(above, entry); {
	case err != nil:
		return fmt.Errorf("%s: proving: %w", p.owner(), err)
	case at != absent && !isListed:
		return clustermanager.Refuse("%s: %s does not list %s, so a merge would have no effect: add it there", p.owner(), name, entry)
	case at == absent && isListed:
		return clustermanager.Refuse("%s: %s lists %s, which would be gone: take the entry out", p.owner(), name, entry)
	}
	return nil
}

// leftAlone are the annotations that make Flux's kustomize-controller skip an object, as its documentation has them.
var leftAlone = []struct{ key, value string }{
	{"kustomize.toolkit.fluxcd.io/reconcile", "disabled"},
	{"kustomize.toolkit.fluxcd.io/ssa", "Ignore"},
}

// differences warns of built objects that are not what was composed. Labels and annotations that the build adds are
// fine.
func (p *prover) differences(after side) []string {
	var warnings []string
	built := byIdentity(after.objects)
	for _, composed := range p.in.Objects {
		id := clustermanager.ReferenceTo(composed)
		if now, ok := built[id.Identity()]; ok {
			if paths := leaves("", composed.Object, now.Object); len(paths) > 0 {
				warnings = append(warnings, fmt.Sprintf("%s is built other than it was composed, at %s", id, list(paths)))
			}
			for _, annotation := range leftAlone {
				if now.GetAnnotations()[annotation.key] == annotation.value {
					warnings = append(warnings, fmt.Sprintf("%s gets the annotation %s: %s from the tree around it, so Flux leaves it alone: a merge has no effect on it", id, annotation.key, annotation.value))
				}
			}
		}
	}
	return warnings
}
