package aftermerge

import (
	"context"
	"fmt"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops"
	"github.com/clustermanager/cluster-manager/gitops/forge"
)

// marker finds the comment again; it is not shown.
const marker = "<!-- cluster-manager: outcome -->"

// mostCommits is how many commits of a pull request are read: of one with more it is not known whose all of them are.
const mostCommits = 100

// removals are the tools whose merge may leave steps to mode apply.
var removals = []string{"delete_node_pool", "disable_model_serving", "delete_cluster"}

// closed removes the branch of a merged pull request and watches what becomes of it. One that was closed unmerged keeps
// its branch: who closed it may open it again.
func (r *repository) closed(ctx context.Context, number int) error {
	change, err := r.read(ctx, number)
	if err != nil || change == nil || change.pull.State != clustermanager.PullRequestMerged {
		return err
	}
	if err := r.removeBranch(ctx, change); err != nil {
		return err
	}
	if r.options.Followers == nil {
		return nil
	}
	files, err := r.client.FilesOf(ctx, number)
	if err != nil {
		return err
	}
	outcome := &outcome{repository: r, change: change, files: files}
	if outcome.objects, err = r.client.CheckRunSummary(ctx, change.pull.HeadSHA, checkName); err != nil {
		return err
	}
	return outcome.start(ctx)
}

// removeBranch removes the branch where every commit of it is ours and nothing else is open from it.
func (r *repository) removeBranch(ctx context.Context, change *ours) error {
	if len(change.commits) >= mostCommits || !gitops.AllOurs(change.commits) {
		return nil
	}
	open, err := r.client.OpenOf(ctx, change.pull.Branch)
	if err != nil || len(open) > 0 {
		return err
	}
	removed, err := gitops.DeleteBranch(ctx, gitops.Options{Repository: r.of, Token: r.token, Transport: forge.Transport(r.options.Transport)}, change.pull.Branch, change.pull.HeadSHA)
	if removed {
		r.options.Log.InfoContext(ctx, "webhook: branch removed after the merge", "repository", r.of.FullName(), "branch", change.pull.Branch, "number", change.pull.Number)
	}
	return err
}

// outcome watches one merge.
type outcome struct {
	*repository
	change *ours
	files  []string
	// objects is the summary of the check run at the merged head; "": there is none.
	objects string
}

// start looks once, writes the comment, and where Flux has not applied the merge yet goes on looking beside the queue.
func (o *outcome) start(ctx context.Context) error {
	applied, state, err := o.look(ctx)
	if err != nil {
		return err
	}
	if applied {
		return o.write(ctx, state)
	}
	select {
	case o.slots <- struct{}{}:
	default:
		return o.write(ctx, state+" Too many merges are watched at the same time, so this is not: `get_change` tells.")
	}
	if err := o.write(ctx, state+" This comment follows."); err != nil {
		<-o.slots
		return err
	}
	o.watched.Go(func() {
		defer func() { <-o.slots }()
		o.watch(state)
	})
	return nil
}

// watch looks until Flux has applied the merge, its patience ends or the worker stops, and writes that.
func (o *outcome) watch(state string) {
	ctx, cancel := context.WithTimeout(o.watching, o.options.Patience)
	defer cancel()
	tick := time.NewTicker(o.options.Every)
	defer tick.Stop()
	for applied := false; !applied; {
		select {
		case <-tick.C:
			done, now, err := o.look(ctx)
			if err == nil {
				applied, state = done, now
			}
			continue
		case <-ctx.Done():
		}
		if o.watching.Err() != nil {
			state += " The server stopped before that: `get_change` tells."
		} else {
			state += fmt.Sprintf(" It is not watched any more after %s: `get_change` tells.", gitops.Interval(o.options.Patience))
		}
		break
	}
	last, end := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer end()
	err := o.renew(last)
	if err == nil {
		err = o.write(last, state)
	}
	if err != nil {
		o.options.Log.WarnContext(last, "webhook: the outcome of a merge could not be written", "repository", o.of.FullName(), "number", o.change.pull.Number, "error", err.Error())
	}
}

// look says whether every Kustomization that applies files of the merge is at it or past it, in words too.
func (o *outcome) look(ctx context.Context) (bool, string, error) {
	followers, err := o.options.Followers(ctx)
	if err == nil {
		err = o.renew(ctx)
	}
	if err != nil {
		return false, "", err
	}
	appliers := clustermanager.AppliersOf(followers, o.of.FullName(), o.change.pull.Base, o.files)
	if len(appliers) == 0 {
		return true, "No Flux Kustomization of this installation applies its files.", nil
	}
	var said []string
	for _, applier := range appliers {
		holds := false
		if applier.Commit != "" {
			// A revision that the repository does not hold is none that holds the merge.
			if holds, err = o.client.Contains(ctx, applier.Commit, o.change.pull.MergeSHA); err != nil && !forge.IsNotFound(err) {
				return false, "", err
			}
		}
		if !holds {
			return false, notApplied(applier), nil
		}
		said = append(said, fmt.Sprintf("Flux Kustomization %s has applied it: it is at revision %s.", gitops.Code(applier.Kustomization.String()), gitops.Code(applier.Commit)))
	}
	return true, strings.Join(said, " "), nil
}

func notApplied(applier clustermanager.Follower) string {
	text := fmt.Sprintf("Flux Kustomization %s has not applied it yet", gitops.Code(applier.Kustomization.String()))
	switch {
	case applier.Suspends():
		return text + ": it or its source is suspended."
	case applier.NotReady != "":
		return text + ": " + gitops.Plain(clustermanager.OneLine(applier.NotReady, 400)) + "."
	}
	return text + "."
}

// write writes the comment with a state.
func (o *outcome) write(ctx context.Context, state string) error {
	var body strings.Builder
	fmt.Fprintf(&body, "%s\nMerged as %s. %s\n", marker, gitops.Code(o.change.pull.MergeSHA), state)
	for _, tool := range removals {
		if tool == o.change.subject.Tool {
			fmt.Fprintf(&body, "\nWhat the merge of a removal leaves is named by `get_change` (liveSteps); %s in mode apply with the same arguments removes it.\n", gitops.Code(tool))
		}
	}
	if o.objects != "" {
		fmt.Fprintf(&body, "\n<details>\n<summary>Objects that the merge changed</summary>\n\n%s\n</details>\n", o.objects)
	}
	return o.client.SetComment(ctx, o.change.pull.Number, marker, body.String())
}
