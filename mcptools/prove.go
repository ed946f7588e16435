package mcptools

import (
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops"
	"github.com/clustermanager/cluster-manager/gitops/proof"
	"github.com/clustermanager/cluster-manager/render"
)

// prove proves what is staged: one tree, or with a Kustomization that the proposal brings two.
func (p *proposal) prove(ctx context.Context) error {
	var err error
	if p.target.Brings() {
		p.proven, err = p.provePlaced(ctx)
	} else {
		p.proven, err = proof.Prove(ctx, p.proof(p.target, p.meant(), render.Objects(p.change.plan, p.target)))
	}
	p.warnings = append(p.warnings, p.proven.Warnings...)
	if p.proven.Broken {
		p.warnings = append(p.warnings, "the tree does not build today, so a merge has no effect until it does: "+p.proven.Proof.Note)
	}
	return err
}

// provePlaced proves two trees: that of the Kustomization which the proposal brings or takes away, and the one that
// applies that Kustomization, in which nothing else may differ.
func (p *proposal) provePlaced(ctx context.Context) (proof.Result, error) {
	own := p.target.Inner()
	input := p.proof(own, p.meant(), render.Objects(p.change.plan, p.target))
	input.Placed = true
	input.Staged = slices.DeleteFunc(input.Staged, func(file string) bool { return !strings.HasPrefix(file, own.Path+"/") })
	inner, err := proof.Prove(ctx, input)
	if err != nil {
		return inner, err
	}
	meant := append(p.meant(), p.target.Brought())
	for _, object := range inner.Objects {
		meant = append(meant, object.ObjectReference)
	}
	var brought []*unstructured.Unstructured
	if object := render.Brought(p.target); object != nil {
		brought = append(brought, object)
	}
	outer, err := proof.Prove(ctx, p.proof(p.target, meant, brought))
	if inner.Proof.Note != "" {
		outer.Proof.Note = strings.TrimPrefix(outer.Proof.Note+". Kustomization "+own.Kustomization.String()+": "+inner.Proof.Note, ". ")
	}
	outer.Proof.Built = outer.Proof.Built && inner.Proof.Built
	outer.Broken = outer.Broken || inner.Broken
	outer.Warnings = append(outer.Warnings, inner.Warnings...)
	for _, object := range inner.Objects {
		if !slices.ContainsFunc(outer.Objects, func(known clustermanager.ObjectDiff) bool { return known.Identity() == object.Identity() }) {
			outer.Objects = append(outer.Objects, object)
		}
	}
	return outer, err
}

// proof is what is proven of one target's tree.
func (p *proposal) proof(target clustermanager.Target, meant []clustermanager.ObjectReference, objects []*unstructured.Unstructured) proof.Input {
	return proof.Input{
		Base: p.workspace.FS(), Proposed: p.workspace.Proposed(), Target: target,
		Staged: p.sealed.Files.Paths(), Meant: meant,
		Objects: withoutSecrets(objects), Diff: render.Diff, Load: p.load,
		Deadline: p.call.budget().Deadline().Add(-proposeReserve),
	}
}

// load brings a part of the base for the proof, which does without what is too large.
func (p *proposal) load(ctx context.Context, directory string, blobs func(path string) bool) error {
	err := p.workspace.Load(ctx, directory, blobs)
	if errors.Is(err, gitops.ErrTooLarge) {
		return proof.TooLarge(err.Error())
	}
	return err
}

// meant are the objects that the plan writes or removes in git.
func (p *proposal) meant() []clustermanager.ObjectReference {
	return append(p.change.plan.Objects(clustermanager.Ensure, clustermanager.Declared), p.change.plan.Objects(clustermanager.Remove, clustermanager.Declared)...)
}

// withoutSecrets leaves out what a build shows sealed: it compares with nothing that was composed.
func withoutSecrets(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool {
		return object.GetKind() == "Secret" && object.GetAPIVersion() == "v1"
	})
}
