package aftermerge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops"
	"github.com/clustermanager/cluster-manager/gitops/forge"
	"github.com/clustermanager/cluster-manager/gitops/proof"
)

// checkName is the name of the check run.
const checkName = "cluster-manager"

// mostRefreshed is how many pull requests a push to their base has looked at again.
const mostRefreshed = 50

// Conclusions of a check run. What could not be built whole is neutral: it stops no merge.
const (
	success = "success"
	failure = "failure"
	neutral = "neutral"
)

// baseMoved writes the check runs of the open pull requests into a branch anew.
func (r *repository) baseMoved(ctx context.Context, base string) error {
	if r.options.Followers == nil {
		return nil
	}
	branches, err := r.client.Branches(ctx, r.prefix)
	if err != nil {
		return err
	}
	if len(branches) > mostRefreshed {
		r.options.Log.WarnContext(ctx, "webhook: a base moved, and not all check runs are written anew", "repository", r.of.FullName(), "branches", len(branches), "of them", mostRefreshed)
		branches = branches[:mostRefreshed]
	}
	var failed []error
	for _, branch := range branches {
		open, err := r.client.OpenOf(ctx, branch)
		failed = append(failed, err)
		for _, pull := range open {
			if pull.Base == base {
				failed = append(failed, r.check(ctx, pull))
			}
		}
	}
	return errors.Join(failed...)
}

// changed writes the check run of a pull request that was opened or written to.
func (r *repository) changed(ctx context.Context, number int) error {
	if r.options.Followers == nil {
		return nil
	}
	pull, err := r.client.Change(ctx, number)
	if err != nil || pull.State != clustermanager.PullRequestOpen {
		return err
	}
	return r.check(ctx, pull)
}

func (r *repository) check(ctx context.Context, pull clustermanager.PullRequestDetail) error {
	change, err := r.recognize(ctx, pull)
	if err != nil || change == nil {
		return err
	}
	run, err := r.built(ctx, change)
	if err != nil {
		return err
	}
	return r.client.SetCheckRun(ctx, pull.HeadSHA, run)
}

// built builds the tree of every Kustomization that applies files of a pull request, as it is and with those files.
func (r *repository) built(ctx context.Context, change *ours) (forge.CheckRun, error) {
	files, err := r.client.FilesOf(ctx, change.pull.Number)
	if err != nil {
		return forge.CheckRun{}, err
	}
	followers, err := r.options.Followers(ctx)
	if err != nil {
		return forge.CheckRun{}, err
	}
	appliers := clustermanager.AppliersOf(followers, r.of.FullName(), change.pull.Base, files)
	if len(appliers) == 0 {
		return forge.CheckRun{Name: checkName, Conclusion: neutral, Title: "nothing applies these files", Summary: fmt.Sprintf(
			"No Flux Kustomization of this installation follows %s at %s and applies a file of this pull request.\n", gitops.Code(r.of.FullName()), gitops.Code(change.pull.Base))}, nil
	}
	workspace, err := r.stage(ctx, change.pull, files)
	if err != nil {
		return forge.CheckRun{}, err
	}
	made := report{base: workspace.Base()}
	for _, applier := range appliers {
		result, err := proof.Compare(ctx, proof.Input{
			Base: workspace.FS(), Proposed: workspace.Proposed(), Target: applier.Target, Diff: r.options.Diff, Deadline: time.Now().Add(buildTime),
			Load: func(ctx context.Context, directory string, blobs func(string) bool) error {
				err := workspace.Load(ctx, directory, blobs)
				if errors.Is(err, gitops.ErrTooLarge) {
					return proof.TooLarge(err.Error())
				}
				return err
			},
		})
		if err != nil && clustermanager.ReasonOf(err) != clustermanager.ReasonRefused {
			return forge.CheckRun{}, err
		}
		made.add(applier.Kustomization.String(), result, err)
	}
	return made.checkRun(), nil
}

// stage opens the base as it is now, with the files of the pull request's head in it.
func (r *repository) stage(ctx context.Context, pull clustermanager.PullRequestDetail, files []string) (*gitops.Workspace, error) {
	of := r.of
	of.Branch = pull.Base
	workspace, err := gitops.Open(ctx, gitops.Options{Repository: of, Token: r.token, Transport: forge.Transport(r.options.Transport)})
	if err != nil {
		return nil, err
	}
	head, err := workspace.Head(ctx, pull.Branch)
	if err != nil {
		return nil, err
	}
	if head == nil {
		return nil, clustermanager.Refuse("branch %s of %s is gone", pull.Branch, of.FullName())
	}
	staged := clustermanager.FileSet{}
	for _, file := range files {
		content, err := fs.ReadFile(head, file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			staged[file] = clustermanager.File{Delete: true}
		case err != nil:
			return nil, err
		default:
			// What is sealed stays sealed, and no content is shown.
			staged[file] = clustermanager.File{Content: content, Sensitive: true}
		}
	}
	return workspace, workspace.Stage(staged)
}

// report collects what was built, for a check run.
type report struct {
	base    string
	text    strings.Builder
	objects int
	// failed and unsure count the Kustomizations that would not build, and those that could not be built whole.
	failed, unsure int
}

func (m *report) add(kustomization string, result proof.Result, refused error) {
	fmt.Fprintf(&m.text, "\n### Kustomization %s\n\n", gitops.Code(kustomization))
	switch {
	case refused != nil:
		m.failed++
		fmt.Fprintf(&m.text, "%s\n", gitops.Plain(refused.Error()))
		return
	case !result.Proof.Built:
		m.unsure++
	}
	if result.Proof.Note != "" {
		fmt.Fprintf(&m.text, "%s\n\n", gitops.Plain(result.Proof.Note))
	}
	m.objects += len(result.Objects)
	gitops.WriteObjects(&m.text, result.Objects)
}

func (m *report) checkRun() forge.CheckRun {
	run := forge.CheckRun{Name: checkName, Conclusion: success, Title: fmt.Sprintf("objects that change: %d", m.objects)}
	switch {
	case m.failed > 0:
		run.Conclusion, run.Title = failure, "the tree would not build after the merge"
	case m.unsure > 0:
		run.Conclusion, run.Title = neutral, run.Title+", and not all could be built"
	}
	run.Summary = fmt.Sprintf("What Flux makes of the merge, with the base at %s. Differences are told by their paths.\n%s", gitops.Code(m.base), m.text.String())
	return run
}
