package mcptools

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/forge"
	"github.com/clustermanager/cluster-manager/render/compose"
)

// complete reads the parts of changes, several at the same time.
func (c *changeReader) complete(found []foundChange, namespace string) []ProposedChange {
	made := make([]ProposedChange, len(found))
	pools := &poolsOnce{changeReader: c, namespace: namespace, read: map[string]func() (clustermanager.NodePools, error){}}
	var reads errgroup.Group
	reads.SetLimit(atOnce)
	for i, change := range found {
		reads.Go(func() error {
			made[i] = (&changeParts{changeReader: c, foundChange: change, namespace: namespace}).complete(pools)
			return nil
		})
	}
	_ = reads.Wait()
	return made
}

// poolsOnce reads the pools of each cluster once.
type poolsOnce struct {
	*changeReader
	namespace string
	mutex     sync.Mutex
	read      map[string]func() (clustermanager.NodePools, error)
}

func (p *poolsOnce) of(cluster string) (clustermanager.NodePools, error) {
	p.mutex.Lock()
	read := p.read[cluster]
	if read == nil {
		read = sync.OnceValues(func() (clustermanager.NodePools, error) {
			facts, err := p.reader.NodePools(p.context, p.namespace, cluster)
			if err != nil {
				return clustermanager.NodePools{}, err
			}
			return compose.NodePools(facts), nil
		})
		p.read[cluster] = read
	}
	p.mutex.Unlock()
	return read()
}

// changeParts reads the parts of one change.
type changeParts struct {
	*changeReader
	foundChange
	namespace string
	made      ProposedChange
}

func (p *changeParts) complete(pools *poolsOnce) ProposedChange {
	pull, subject := p.pull, p.subject
	p.made = ProposedChange{
		Repository: p.repository.FullName(), Number: pull.Number, URL: pull.URL, Title: pull.Title, Branch: pull.Branch,
		Tool: subject.Tool, Installation: subject.Installation, Cluster: subject.Cluster, Pool: subject.Pool,
		State: pull.State, Author: pull.Author, CreatedAt: pull.CreatedAt, UpdatedAt: pull.UpdatedAt,
	}
	if p.others > 0 {
		p.note("%d of its commits are of others", p.others)
	}
	switch pull.State {
	case clustermanager.PullRequestOpen:
		p.checks()
	case clustermanager.PullRequestMerged:
		p.made.Merged = &ChangeMerge{SHA: pull.MergeSHA, At: pull.MergedAt}
		p.applied()
	}
	p.phase(pools)
	p.liveSteps()
	return p.made
}

// note says something of the change.
func (p *changeParts) note(format string, arguments ...any) {
	p.made.Notes = append(p.made.Notes, fmt.Sprintf(format, arguments...))
}

func (p *changeParts) checks() {
	checks, err := p.foundChange.client.Checks(p.context, p.pull.HeadSHA)
	if err != nil {
		p.note("checks: %s", err)
		return
	}
	p.made.Checks = &ChangeChecks{State: checks.State}
	var said []string
	if len(checks.Failed) > 0 {
		said = append(said, "failed: "+strings.Join(checks.Failed, ", "))
	}
	if len(checks.Pending) > 0 {
		said = append(said, "not over: "+strings.Join(checks.Pending, ", "))
	}
	p.made.Checks.Note = clustermanager.OneLine(strings.Join(said, "; "), 400)
}

// applied tells whether every Kustomization that applies files of the change is at the merge or past it.
func (p *changeParts) applied() {
	files, err := p.foundChange.client.FilesOf(p.context, p.pull.Number)
	if err != nil {
		p.note("applied: %s", err)
		return
	}
	appliers := clustermanager.AppliersOf(p.followers, p.repository.FullName(), p.pull.Base, files)
	if len(appliers) == 0 {
		p.note("applied: no Kustomization that you may list follows %s at %s and applies its files", p.repository.FullName(), p.pull.Base)
		return
	}
	for _, applier := range appliers {
		if why := p.notApplied(applier); why != "" {
			p.note("applied: %s", why)
			return
		}
	}
	first := appliers[0]
	p.made.Applied = &ChangeApply{Kustomization: first.Kustomization.String(), Revision: first.Commit}
	if !first.ReadyAt.IsZero() {
		p.made.Applied.At = &first.ReadyAt
	}
	if first.NotReady != "" {
		p.note("Kustomization %s is not ready now: %s", first.Kustomization, clustermanager.OneLine(first.NotReady, 400))
	}
}

// notApplied says of a Kustomization that it has not applied the merge, and why as far as it says so; "": it has.
func (p *changeParts) notApplied(applier clustermanager.Follower) string {
	text := fmt.Sprintf("Kustomization %s has not applied the merge yet", applier.Kustomization)
	if applier.Commit != "" {
		text += fmt.Sprintf(", it is at %.7s", applier.Commit)
		holds, err := p.foundChange.client.Contains(p.context, applier.Commit, p.pull.MergeSHA)
		switch {
		case forge.IsNotFound(err):
			text += ", which the repository does not hold"
		case err != nil:
			return err.Error()
		case holds:
			return ""
		}
	}
	switch {
	case applier.Suspends():
		text += ": it or its source is suspended"
	case applier.NotReady != "":
		text += ": " + clustermanager.OneLine(applier.NotReady, 400)
	}
	return text
}

// phase is the lifecycle of the change's pool. A pool that is not there, or not any more, has none.
func (p *changeParts) phase(pools *poolsOnce) {
	if p.subject.Pool == "" {
		return
	}
	listed, err := pools.of(p.subject.Cluster)
	switch clustermanager.ReasonOf(err) {
	case "":
	case clustermanager.ReasonNotFound:
		return
	default:
		p.note("phase: %s", err)
		return
	}
	name := clustermanager.ReleaseName(clustermanager.Cluster{Name: p.subject.Cluster}, p.subject.Pool)
	index := slices.IndexFunc(listed.NodePools, func(pool clustermanager.NodePoolStatus) bool { return pool.Name == name })
	if index >= 0 {
		p.made.Phase = listed.NodePools[index].Phase
	}
}

// liveSteps are what the merge of a removal does not do. A change that was closed leaves nothing, and neither does one
// that adds: what it writes to the installation was written with the proposal.
func (p *changeParts) liveSteps() {
	p.made.LiveSteps = []string{}
	leaves, removes := removals[p.subject.Tool]
	if !removes || p.pull.State == clustermanager.PullRequestClosed {
		return
	}
	steps, err := p.left(p.context, leaves)
	switch clustermanager.ReasonOf(err) {
	case "":
		p.made.LiveSteps = append(p.made.LiveSteps, steps...)
	case clustermanager.ReasonNotFound:
	default:
		p.made.LiveSteps = nil
		p.note("liveSteps: %s", err)
	}
}

// left composes the removal anew: before Flux has applied it as its proposal does, which says in words what the merge
// will not do; then as mode apply does, which names what would still go.
func (p *changeParts) left(ctx context.Context, leaves removal) ([]string, error) {
	mode := clustermanager.ModeCommit
	if p.made.Applied != nil {
		mode = clustermanager.ModeApply
	}
	rest, err := leaves(ctx, p, mode)
	if err != nil || mode == clustermanager.ModeCommit {
		return rest.words, err
	}
	made, err := p.reader.CreatedAt(ctx, rest.main)
	if err != nil {
		return nil, err
	}
	if made.After(p.pull.MergedAt) {
		p.note("%s was made anew after the merge", rest.main)
		return nil, nil
	}
	planned, err := p.tools.planLive(ctx, p.call, change{tool: p.subject.Tool, survey: rest.survey}, rest.plan.Steps)
	if err != nil || planned.planned == nil {
		return nil, err
	}
	var steps []string
	for _, change := range planned.planned.Preview().Changes {
		if isWrite(change) {
			action := strings.TrimPrefix(string(change.Action), "would-")
			steps = append(steps, action+" "+change.ObjectReference.String())
		}
	}
	return steps, nil
}
