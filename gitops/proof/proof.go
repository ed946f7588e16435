package proof

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Input is one proposal to prove.
type Input struct {
	// Base and Proposed are the repository's root before and after, with forward slashes. A directory entry shows a
	// symbolic link as fs.ModeSymlink and a submodule as fs.ModeIrregular. Files may be fetched when they are opened.
	Base, Proposed fs.FS
	// Target is the Flux Kustomization and its GitRepository.
	Target clustermanager.Target
	// Staged are the paths that the proposal writes or removes.
	Staged []string
	// Meant are the objects that the plan ensures or removes: no other may differ.
	Meant []clustermanager.ObjectReference
	// Objects are the ensured objects as they should come out of the build, Secrets excepted.
	Objects []*unstructured.Unstructured
	// Diff compares two built trees, object by object.
	Diff func(before, after []*unstructured.Unstructured) []clustermanager.ObjectDiff
	// Load, when set, fetches at once what blobs picks below a folder, before it is read file by file. A TooLarge error of
	// it makes a tree that is not built.
	Load func(ctx context.Context, dir string, blobs func(path string) bool) error
	// Now is the clock that Deadline is measured with; nil: time.Now.
	Now func() time.Time
	// Deadline is when the answer is due; zero: no limit.
	Deadline time.Time
	// Placed says that the Kustomization comes or goes with the proposal: its path need not be a folder on either side,
	// and what it applied is meant to go with it.
	Placed bool
}

// Result is what was proven.
type Result struct {
	Proof clustermanager.Proof
	// Objects are what the proposal adds, changes and removes, in the tree as far as it was built.
	Objects []clustermanager.ObjectDiff
	// Built is the proposed tree as far as it was built, in the order in which kustomize gives it.
	Built []*unstructured.Unstructured
	// Broken says that the tree does not build, today or with the proposal: Flux applies nothing of a merge until it does.
	Broken bool
	// Warnings name built objects that differ from the composed ones.
	Warnings []string
}

// errLate ends builds when the deadline passes.
var errLate = errors.New("it did not build in the time left")

// Prove builds base and proposal and judges the difference. A proposal that makes the tree worse is a
// [clustermanager.Refusal]; what could not be checked is in the result's Proof.Note, with Built false. Any other error
// is a failed read, or the context's.
func Prove(ctx context.Context, in Input) (Result, error) {
	p, err := newProver(in)
	if err != nil {
		return Result{}, err
	}
	if err := p.placement(); err != nil {
		return Result{}, err
	}
	whole, cancel := p.until(ctx, p.in.Deadline, true)
	defer cancel()
	before, after, err := p.both(whole, path.Clean(p.target().Path), p.spec)
	switch limit := overLimit(whole, err); {
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case limit != nil:
		return p.alone(ctx, "the whole tree was not built: "+limit.Error())
	case err != nil:
		return Result{}, fmt.Errorf("%s: proving: %w", p.owner(), err)
	}
	return p.judge(ctx, before, after)
}

// prover holds what the steps of one proof share.
type prover struct {
	in       Input
	spec     map[string]any
	base     *artifact
	proposed *artifact
	now      func() time.Time
}

func newProver(in Input) (*prover, error) {
	p := &prover{in: in, now: in.Now, spec: map[string]any{}}
	if p.now == nil {
		p.now = time.Now
	}
	// The libraries take what JSON decodes to, and change it.
	text, err := json.Marshal(in.Target.Spec)
	if err == nil {
		err = json.Unmarshal(text, &p.spec)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: proving: copying its spec: %w", p.owner(), err)
	case in.Diff == nil:
		return nil, fmt.Errorf("%s: proving: no Diff was given", p.owner())
	case p.spec == nil:
		p.spec = map[string]any{}
	}
	repository := in.Target.Repository
	p.base = newArtifact(in.Base, repository.Source.String(), repository.Ignore)
	p.proposed = newArtifact(in.Proposed, repository.Source.String(), repository.Ignore)
	return p, nil
}

func (p *prover) target() clustermanager.Target { return p.in.Target }

// owner names the Kustomization, as errors and refusals begin.
func (p *prover) owner() string { return "Kustomization " + p.in.Target.Kustomization.String() }

// until ends a context with errLate at the deadline. A build of the whole tree leaves a part of the time to what is
// done when it does not end.
func (p *prover) until(ctx context.Context, deadline time.Time, whole bool) (context.Context, context.CancelFunc) {
	if deadline.IsZero() {
		return context.WithCancel(ctx)
	}
	left := deadline.Sub(p.now())
	if whole {
		left -= min(left/4, 500*time.Millisecond)
	}
	return context.WithTimeoutCause(ctx, left, errLate)
}

// overLimit tells an error that only says that a limit of size or time was met; nil: it is another.
func overLimit(ctx context.Context, err error) error {
	var large *tooLarge
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return large
	case errors.Is(context.Cause(ctx), errLate):
		return errLate
	}
	return nil
}

// TooLarge is the error of a Load that met a limit of its own.
func TooLarge(reason string) error { return &tooLarge{reason} }

// side is one of the two trees, read and built.
type side struct {
	tree *tree
	outcome
}

// both reads and builds a path at the base and as proposed. Equal trees are built once.
func (p *prover) both(ctx context.Context, root string, spec map[string]any) (before, after side, err error) {
	known := weighed{}
	if before.tree, err = collect(ctx, p.in, p.base, root, spec, known); err != nil {
		return before, after, err
	}
	if after.tree, err = collect(ctx, p.in, p.proposed, root, spec, known); err != nil {
		return before, after, err
	}
	if p.in.Placed {
		before.tree.allowAbsent(p.base)
		after.tree.allowAbsent(p.proposed)
	}
	post := newSubstitution(spec, p.target().Variables, len(p.target().UnreadSubstitutes) > 0)
	if before.tree.equal(after.tree) {
		after.outcome, err = run(ctx, after.tree, post)
		before.outcome = after.outcome
		return before, after, err
	}
	var failed error
	var base sync.WaitGroup
	base.Go(func() { before.outcome, failed = run(ctx, before.tree, post) })
	after.outcome, err = run(ctx, after.tree, post)
	base.Wait()
	return before, after, cmp.Or(err, failed)
}

// placement refuses files that no build would see: those on a link or submodule, and those that the artifact leaves
// out; and a spec.path that the base has not.
func (p *prover) placement() error {
	for _, a := range []*artifact{p.base, p.proposed} {
		at, where, err := a.at(path.Clean(p.target().Directory()))
		if err != nil {
			return fmt.Errorf("%s: proving: %w", p.owner(), err)
		}
		if at == link || at == submodule {
			return clustermanager.Refuse("%s is a %s, which is never followed: make it a plain folder of %s",
				where, map[kind]string{link: "symbolic link", submodule: "submodule"}[at], p.target().Repository.FullName())
		}
	}
	root := path.Clean(p.target().Path)
	if at, _, err := p.base.at(root); err != nil || at != folder && !p.in.Placed {
		if err != nil {
			return fmt.Errorf("%s: proving: %w", p.owner(), err)
		}
		// Flux fails on a missing folder and leaves everything as it is; with our files alone in it, it would prune the rest.
		return clustermanager.Refuse("%s: its spec.path %s is no folder of %s, and one that holds nothing else would make Flux drop what it applied before: correct spec.path",
			p.owner(), root, p.target().Repository.FullName())
	}
	for _, staged := range p.in.Staged {
		by, err := p.proposed.ignoredBy(staged)
		if err != nil {
			return fmt.Errorf("%s: proving: %w", p.owner(), err)
		}
		if by != "" {
			return clustermanager.Refuse("%s is left out of what Flux fetches by %s, so a merge would have no effect: take the pattern out",
				staged, by)
		}
	}
	return nil
}

// notes joins sentences into the proof's note.
func (p *prover) notes(sentences ...string) string {
	if unread := p.target().UnreadSubstitutes; len(unread) > 0 {
		sentences = append(sentences, "variables of postBuild could not be read ("+strings.Join(unread, "; ")+
			"), so their values are not part of what was built")
	}
	var said []string
	for _, sentence := range sentences {
		if sentence != "" {
			said = append(said, sentence)
		}
	}
	return strings.Join(said, ". ")
}

// alone proves what can be proven without the whole tree: that nothing but our folder and its one entry changes, and
// that our folder builds by itself.
func (p *prover) alone(ctx context.Context, reason string) (Result, error) {
	if err := p.oursOnly(reason); err != nil {
		return Result{}, err
	}
	if err := p.listed(); err != nil {
		return Result{}, err
	}
	if p.target().Brings() {
		// The directory is another Kustomization's tree and proven as that.
		objects, err := p.brought()
		return Result{Proof: clustermanager.Proof{Note: p.notes(reason, onlyOurs)}, Objects: objects}, err
	}
	last, cancel := p.until(ctx, p.in.Deadline, false)
	defer cancel()
	before, after, err := p.both(last, p.target().Directory(), p.folderSpec())
	switch limit := overLimit(last, err); {
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case limit != nil:
		return Result{Proof: clustermanager.Proof{Note: p.notes(reason, onlyOurs, p.target().Directory()+" was not built either")}}, nil
	case err != nil:
		return Result{}, fmt.Errorf("%s: proving: %w", p.owner(), err)
	}
	if before, err = p.orEmpty(p.base, before); err != nil {
		return Result{}, err
	}
	if after, err = p.orEmpty(p.proposed, after); err != nil {
		return Result{}, err
	}
	if after.fault != nil {
		return Result{}, clustermanager.Refuse("%s does not build: %s", p.target().Directory(), words(after.fault))
	}
	result, err := p.verdict(before, after)
	result.Proof.Note = p.notes(reason, onlyOurs, p.target().Directory()+" builds by itself",
		unchecked(before.tree, after.tree))
	return result, err
}

// brought says by its file alone whether the Kustomization that the proposal is about comes or goes.
func (p *prover) brought() ([]clustermanager.ObjectDiff, error) {
	before, _, err := p.base.at(p.target().KustomizationFile())
	after, _, afterErr := p.proposed.at(p.target().KustomizationFile())
	if err := errors.Join(err, afterErr); err != nil {
		return nil, fmt.Errorf("%s: proving: %w", p.owner(), err)
	}
	diff := clustermanager.ObjectDiff{ObjectReference: p.target().Brought()}
	switch {
	case before == absent && after == file:
		diff.Action = clustermanager.DiffAdd
	case before == file && after == absent:
		diff.Action = clustermanager.DiffRemove
	default:
		return nil, nil
	}
	return []clustermanager.ObjectDiff{diff}, nil
}

// onlyOurs is what a proposal must keep to where the tree is not proven whole.
const onlyOurs = "nothing but our folder's files and its one entry changes"

// orEmpty takes a folder that does not exist for an empty one.
func (p *prover) orEmpty(a *artifact, s side) (side, error) {
	at, _, err := a.at(p.target().Directory())
	if err == nil && at == absent {
		s.outcome = outcome{}
	}
	return s, err
}

// folderSpec is the spec for a build of our folder alone: without the fields that speak of the rest of the tree.
func (p *prover) folderSpec() map[string]any {
	spec := maps.Clone(p.spec)
	for _, field := range []string{"components", "patches", "patchesStrategicMerge", "patchesJson6902"} {
		delete(spec, field)
	}
	return spec
}
