package mcptools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops"
	"github.com/clustermanager/cluster-manager/gitops/forge"
	"github.com/clustermanager/cluster-manager/gitops/proof"
	"github.com/clustermanager/cluster-manager/gitops/seal"
	"github.com/clustermanager/cluster-manager/render"
)

// The steps of a write that take time, as progress notifications name them.
const (
	stepSurvey  = "survey"
	stepCompose = "compose"
	stepFetch   = "fetch"
	stepRender  = "render and seal"
	stepProve   = "prove"
	stepPropose = "propose"
	stepWrite   = "write"
)

var steps = []string{stepSurvey, stepCompose, stepFetch, stepRender, stepProve, stepPropose, stepWrite}

// change is what a tool decided, on its way to a door.
type change struct {
	tool   string
	mode   clustermanager.Mode
	dryRun bool
	// verb and the names make the last segment of the proposal's branch; scope and summary its title; subject is
	// <cluster>[/<pool>].
	verb    string
	names   []string
	scope   string
	summary string
	// changes is the summary where the base holds the objects already.
	changes string
	subject string
	survey  clustermanager.Survey
	plan    clustermanager.Plan
	// liveSteps are what a merge does not do, in words; of mode commit.
	liveSteps []string
	// shown are the objects that the answer of mode apply shows instead of the plan's, without their credentials.
	shown map[clustermanager.ObjectReference]map[string]any
}

// proposeReserve is what a proof leaves of the budget: the reads of the branch, the push and the pull request.
const proposeReserve = 3 * time.Second

// begin refuses a mode that this call cannot use, before anything is read, and bounds the call by the mode's budget.
func (t *Tools) begin(ctx context.Context, call Call, mode clustermanager.Mode) (context.Context, context.CancelFunc, error) {
	settings := t.options.Settings
	switch {
	case mode == clustermanager.ModeApply:
		ctx, cancel := call.within(ctx, "apply-budget", settings.ApplyBudget, maxFirstAnswer)
		return ctx, cancel, nil
	case mode != clustermanager.ModeCommit:
		return nil, nil, clustermanager.Refuse("mode %q is unknown: use apply or commit", mode)
	case !t.options.CommitOffered:
		return nil, nil, clustermanager.Refuse("%s", t.options.NoCommit)
	case call.Caller.GitHub == nil && call.Caller.NoGitHub != "":
		return nil, nil, clustermanager.Refuse("mode commit is not possible now, because %s: call again later, or with mode apply", call.Caller.NoGitHub)
	case call.Caller.GitHub == nil:
		return nil, nil, clustermanager.Refuse("mode commit needs your GitHub authorization, and this call carries none: %s", clustermanager.ConnectGitHub)
	}
	ctx, cancel := call.within(ctx, "commit-budget", settings.CommitBudget, 0)
	return ctx, cancel, nil
}

// carryOut takes a plan through the door of its mode and completes the answer.
func (t *Tools) carryOut(ctx context.Context, call Call, change change, result clustermanager.WriteResult) (clustermanager.WriteResult, error) {
	result.Mode, result.DryRun = change.mode, change.dryRun
	if change.mode == clustermanager.ModeApply {
		return t.apply(ctx, call, change, result)
	}
	return t.commit(ctx, call, change, result)
}

// commit proposes what is declared, and once that is open writes what is live in this mode too. A proposal that fails
// changes nothing live.
func (t *Tools) commit(ctx context.Context, call Call, change change, result clustermanager.WriteResult) (clustermanager.WriteResult, error) {
	target, known := change.survey.Target.Get()
	if !known {
		return result, change.survey.Target.Err()
	}
	writes, err := t.planLive(ctx, call, change, change.plan.In(clustermanager.Runtime))
	if err != nil {
		return result, err
	}
	commit := &proposal{tools: t, call: call, change: change, target: target, warnings: target.Warnings}
	if err := commit.make(ctx); err != nil {
		return result, explain(err)
	}
	declared := map[clustermanager.ObjectReference]map[string]any{}
	for _, object := range render.Objects(change.plan, commit.target) {
		declared[clustermanager.ReferenceTo(object)] = object.Object
	}
	result.Manifests = manifests(change.plan.Steps, declared)
	if brought := render.Brought(commit.target); brought != nil {
		result.Manifests = append(result.Manifests, brought.Object)
	}
	result.Warnings = slices.Concat(result.Warnings, commit.warnings, commit.workspace.Warnings(), commit.beside())
	result.Commit, result.NextStep = commit.answer()
	if err := writes.carryOut(ctx, call.budget()); err != nil {
		writes.refusedLater(err)
	}
	return writes.beside(result), nil
}

// proposal is one plan on its way through the commit door. Every refusal comes before the push.
type proposal struct {
	tools  *Tools
	call   Call
	change change
	target clustermanager.Target

	workspace *gitops.Workspace
	forge     *forge.Client
	user      clustermanager.GitHubUser
	sealed    seal.Result
	proven    proof.Result
	prepared  gitops.Preparation
	outcome   gitops.Outcome
	warnings  []string
}

func (p *proposal) make(ctx context.Context) error {
	p.call.Progress(stepFetch)
	if err := p.open(ctx); err != nil {
		return err
	}
	p.call.Progress(stepRender)
	if err := p.stage(ctx); err != nil {
		return err
	}
	p.call.Progress(stepProve)
	if err := p.prove(ctx); err != nil {
		return err
	}
	var err error
	if p.change.dryRun {
		p.prepared, err = p.workspace.Prepare(ctx, p.forge, p.branch())
		return err
	}
	p.call.Progress(stepPropose)
	p.outcome, err = p.workspace.Propose(ctx, p.forge, p.proposal())
	return err
}

// explain says of an error that is no refusal what the same call does next.
func explain(err error) error {
	if clustermanager.ReasonOf(err) != clustermanager.ReasonError || errors.Is(err, gitops.ErrUnfinished) {
		return err
	}
	return fmt.Errorf("%w; nothing was written, the same call again starts anew", err)
}

// open reads the base and, beside it, who the person is on the forge.
func (p *proposal) open(ctx context.Context) error {
	token, transport := p.call.Caller.GitHub.Token, forge.Transport(p.tools.options.Transport)
	account, err := p.client(p.target.Repository, transport)
	if err != nil {
		return err
	}
	group, groupContext := errgroup.WithContext(ctx)
	group.Go(func() error {
		var err error
		p.user, err = account.User(groupContext)
		return err
	})
	group.Go(func() error {
		var err error
		// The workspace fetches what is read later with the context it was opened with: the call's, not the group's.
		p.workspace, err = gitops.Open(ctx, gitops.Options{Repository: p.target.Repository, Token: token, Transport: transport})
		if err != nil {
			return err
		}
		for _, tree := range render.Trees(p.target) {
			if err := p.workspace.Load(groupContext, tree, func(string) bool { return false }); err != nil {
				return err
			}
		}
		return p.workspace.LoadFiles(groupContext, append(render.Reads(p.change.plan, p.target), seal.Reads(p.target.Directory())...)...)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	p.forge = account
	if today := p.workspace.Repository(); today.FullName() != p.target.Repository.FullName() {
		p.warnings = append(p.warnings, fmt.Sprintf("repository %s is called %s today: write that into the URL of GitRepository %s", p.target.Repository.FullName(), today.FullName(), today.Source))
		p.target.Repository = today
		p.forge, err = p.client(today, transport)
	}
	return err
}

func (p *proposal) client(repository clustermanager.GitRepository, transport http.RoundTripper) (*forge.Client, error) {
	return forge.New(forge.Options{
		APIURL: repository.APIURL, Owner: repository.Owner, Repository: repository.Name,
		Token: p.call.Caller.GitHub.Token, Transport: transport,
	})
}

func (p *proposal) branch() string {
	settings := p.tools.options.Settings
	return gitops.BranchName(settings.BranchPrefix, settings.Installation, p.change.verb, p.change.names...)
}

func (p *proposal) stage(ctx context.Context) error {
	files, err := render.Files(p.change.plan, p.target, p.workspace.FS())
	if errors.Is(err, render.ErrNotCarried) && p.change.plan.NotCarried != nil {
		return p.change.plan.NotCarried
	}
	if err != nil {
		return err
	}
	applier := p.target.Inner()
	p.sealed, err = seal.Files(p.workspace.FS(), files, seal.Options{
		Repository: p.target.Repository.FullName(), Kustomization: applier.Kustomization.String(), Decrypts: applier.Decrypts,
		Proposed: func() (fs.FS, error) { return p.workspace.Head(ctx, p.branch()) },
	})
	if err != nil {
		return err
	}
	p.warnings = append(p.warnings, p.sealed.Warnings...)
	return p.workspace.Stage(p.sealed.Files)
}

// proposal is the text around what is staged.
func (p *proposal) proposal() gitops.Proposal {
	cluster := p.change.survey.Cluster
	message := gitops.Message{
		Tool: p.change.tool, Login: p.user.Login, Scope: p.change.scope, Summary: p.summary(),
		Subject:  path.Join(p.tools.options.Settings.Installation, p.change.subject),
		Cluster:  clustermanager.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}.String(),
		Releases: releases(p.change.plan), Files: p.workspace.Changes(false), Objects: p.proven.Objects, Proof: p.proven.Proof,
		Broken: p.proven.Broken, Target: p.target, LiveSteps: p.change.liveSteps, Warnings: append(slices.Clone(p.change.plan.Warnings), p.warnings...),
	}
	name, email := p.user.Author()
	return gitops.Proposal{
		Branch: p.branch(), Title: message.Title(), Body: message.Body(), Trailer: message.Trailer(),
		AuthorName: name, AuthorEmail: email, Time: p.call.Now, Again: p.again,
	}
}

// again seals and proves anew, for a branch that somebody wrote meanwhile: the same call at the same time has sealed
// the same values already, and two that seal them anew would replace each other's commits.
func (p *proposal) again(ctx context.Context) error {
	p.warnings = nil
	if err := p.stage(ctx); err != nil {
		return err
	}
	return p.prove(ctx)
}

// summary tells a new object from one that the base holds and the proposal changes: its release, or with an old release
// what stands beside it.
func (p *proposal) summary() string {
	does := func(action clustermanager.DiffAction, kind string) bool {
		return slices.ContainsFunc(p.proven.Objects, func(object clustermanager.ObjectDiff) bool {
			return object.Action == action && (kind == "" || object.Kind == kind)
		})
	}
	isNew := does(clustermanager.DiffAdd, "HelmRelease")
	if does(clustermanager.DiffChange, "HelmRelease") || does(clustermanager.DiffChange, "") && !isNew {
		return p.change.changes
	}
	return p.change.summary
}

// releases reads the chart and version of each HelmRelease off its OCIRepository.
func releases(plan clustermanager.Plan) []gitops.Release {
	var list []gitops.Release
	for _, step := range plan.Steps {
		if step.Verb != clustermanager.Ensure || step.Object.GetKind() != "OCIRepository" {
			continue
		}
		spec, _ := step.Object.Object["spec"].(map[string]any)
		url, _ := spec["url"].(string)
		reference, _ := spec["ref"].(map[string]any)
		version, _ := reference["tag"].(string)
		if version == "" {
			version, _ = reference["semver"].(string)
		}
		list = append(list, gitops.Release{Name: step.Object.GetName(), Chart: path.Base(url), Version: version})
	}
	return list
}

func (p *proposal) answer() (*clustermanager.CommitResult, string) {
	commit := &clustermanager.CommitResult{
		Repository: p.target.Repository.FullName(), Base: p.target.Repository.Branch, Directory: p.target.Directory(),
		Kustomization: p.target.Kustomization.String(), Prune: p.target.Prune, Branch: p.branch(),
		Files: p.workspace.Changes(p.change.dryRun), Objects: p.proven.Objects, Proof: p.proven.Proof,
		Author: p.user.Login, LiveSteps: p.change.liveSteps,
	}
	if commit.Objects == nil {
		commit.Objects = []clustermanager.ObjectDiff{}
	}
	if commit.Files == nil {
		commit.Files = []clustermanager.FileChange{}
	}
	commit.LiveSteps = p.change.liveSteps
	changed := false
	for _, file := range commit.Files {
		changed = changed || file.Action != clustermanager.FileUnchanged
	}
	commit.PullRequest, commit.Number = p.outcome.PullRequest.URL, p.outcome.PullRequest.Number
	return commit, p.nextStep(changed)
}

func (p *proposal) nextStep(changed bool) string {
	switch open := p.prepared.PullRequest; {
	case !changed:
		return fmt.Sprintf("nothing to commit: %s at %s already holds these files", p.target.Repository.FullName(), p.target.Repository.Branch)
	case p.change.dryRun && p.prepared.Decision == gitops.DecisionKeep:
		return fmt.Sprintf("%s is open and holds this: without dryRun nothing is pushed", open.URL)
	case p.change.dryRun && open != nil:
		return fmt.Sprintf("call again without dryRun to bring %s up to date as %s", open.URL, p.user.Login)
	case p.change.dryRun:
		return fmt.Sprintf("call again without dryRun to open the pull request as %s", p.user.Login)
	}
	return fmt.Sprintf("%sreview and merge %s; %s", p.done(), p.outcome.PullRequest.URL, p.applied())
}

// beside names what others committed to an open pull request that is answered as it is.
func (p *proposal) beside() []string {
	foreign := slices.Concat(p.prepared.Foreign, p.outcome.Foreign)
	if len(foreign) == 0 {
		return nil
	}
	last := foreign[len(foreign)-1]
	return []string{fmt.Sprintf("the branch holds %d commits of others too, the last %.7s by %s: commit.proof and commit.objects speak of this plan alone, so review theirs before the merge", len(foreign), last.SHA, last.Login)}
}

// done says what a call did to a pull request that was open already.
func (p *proposal) done() string {
	switch {
	case p.outcome.Opened:
		return ""
	case p.outcome.Pushed || p.outcome.Updated:
		return "the open pull request was brought up to date: "
	}
	return "it is open already, nothing was pushed: "
}

// applied says when Flux applies a merge, as far as that can be said.
func (p *proposal) applied() string {
	switch within := p.target.AppliedWithin(); {
	case p.target.Suspends():
		return "Flux applies it once it is resumed"
	case p.proven.Broken:
		return "Flux applies nothing until the tree builds again: see commit.proof.note"
	case len(p.target.Warnings) > 0:
		return "warnings say what Flux makes of the merge"
	case within > 0:
		return "Flux applies it within " + gitops.Interval(within)
	}
	return "Flux applies it"
}
