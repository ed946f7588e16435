package mcptools

import (
	"context"
	"slices"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live"
	"github.com/clustermanager/cluster-manager/live/session"
)

// liveWrites is what a change does on the API servers, decided before anything is written.
type liveWrites struct {
	tools   *Tools
	call    Call
	change  change
	planned *live.Planned
	result  live.Result
}

// planLive reads what the steps are about, as the caller. Every refusal comes here.
func (t *Tools) planLive(ctx context.Context, call Call, change change, steps []clustermanager.Step) (*liveWrites, error) {
	writes := &liveWrites{tools: t, call: call, change: change}
	if len(steps) == 0 {
		return writes, nil
	}
	installation, err := t.options.Sessions.Installation(call.Caller)
	if err != nil {
		return nil, err
	}
	clients := live.Clients{Installation: installation, Target: func() (*session.Client, error) {
		cluster := change.survey.Cluster
		if cluster.Own {
			return installation, nil
		}
		endpoint, known := change.survey.Serving.Endpoint.Get()
		if !known {
			return nil, change.survey.Serving.Endpoint.Err()
		}
		return t.options.Sessions.Workload(call.Caller, cluster, endpoint)
	}}
	writes.planned, err = live.Plan(ctx, clients, steps)
	return writes, err
}

// carryOut writes, or on a dry run says what would be written. The error is a refusal, before anything was.
func (w *liveWrites) carryOut(ctx context.Context, budget clustermanager.Budget) error {
	started := time.Now()
	w.result.Changes = []clustermanager.Change{}
	var err error
	switch {
	case w.planned == nil:
		return nil
	case w.change.dryRun:
		w.result = w.planned.Preview()
	default:
		w.call.Progress(stepWrite)
		w.result, err = live.Apply(ctx, w.planned, live.Options{
			Budget: budget, Tool: w.change.tool, Caller: w.call.Caller.Email, Time: w.call.Now,
		})
	}
	if log := w.tools.options.Log; log != nil && err == nil {
		cluster, pool, _ := strings.Cut(w.change.subject, "/")
		log.InfoContext(ctx, "live writes", "tool", w.change.tool, "cluster", cluster, "pool", pool, "dryRun", w.change.dryRun,
			"objects", len(w.result.Changes), "written", w.result.Written, "partial", w.result.Partial, "duration", time.Since(started))
	}
	return err
}

// apply takes a plan through the live door.
func (t *Tools) apply(ctx context.Context, call Call, change change, result clustermanager.WriteResult) (clustermanager.WriteResult, error) {
	writes, err := t.planLive(ctx, call, change, change.plan.Steps)
	if err != nil {
		return result, err
	}
	if err := writes.carryOut(ctx, call.budget()); err != nil {
		return result, err
	}
	result.Objects = writes.result.Changes
	result.Manifests = append(result.Manifests, manifests(change.plan.Steps, change.shown)...)
	result.Warnings = slices.Concat(result.Warnings, writes.result.Warnings)
	result.Partial = writes.result.Partial
	switch {
	case result.Partial:
		result.NextStep = writes.result.NextStep
	case !slices.ContainsFunc(result.Objects, isWrite):
		result.NextStep = strings.TrimPrefix(result.NextStep+"; "+nothingToWrite(result.Objects), "; ")
	case change.dryRun:
		result.NextStep = "call again without dryRun to write this"
	}
	return result, nil
}

func nothingToWrite(changes []clustermanager.Change) string {
	if slices.ContainsFunc(changes, func(change clustermanager.Change) bool { return change.Action == clustermanager.ActionTerminating }) {
		return "nothing is to be written: what is left is being deleted"
	}
	return "everything stands as it should, nothing is to be written"
}

func isWrite(change clustermanager.Change) bool {
	return change.Action != clustermanager.ActionUnchanged && change.Action != clustermanager.ActionTerminating
}

// manifests are the composed objects of the steps, with the values of Secrets masked, but for those that are shown
// otherwise: as they stand in files, which know no owner, or without the credentials in them.
func manifests(steps []clustermanager.Step, otherwise map[clustermanager.ObjectReference]map[string]any) []map[string]any {
	var shown []map[string]any
	for _, step := range steps {
		if step.Verb != clustermanager.Ensure {
			continue
		}
		object, is := otherwise[step.Reference()]
		if !is {
			object = step.Object.Object
		}
		shown = append(shown, object)
	}
	return shown
}

// beside adds what the runtime lane did, or would do, to the answer of a proposal.
func (w *liveWrites) beside(result clustermanager.WriteResult) clustermanager.WriteResult {
	result.Objects = w.result.Changes
	result.Warnings = append(result.Warnings, w.result.Warnings...)
	result.Partial = w.result.Partial
	if result.Partial {
		result.NextStep += "; not all was written to the installation: " + w.result.NextStep
	}
	return result
}

// refusedLater is the answer of a write to the installation that was refused after the pull request was open.
func (w *liveWrites) refusedLater(err error) {
	w.result.Partial, w.result.NextStep = true, err.Error()
	for _, change := range w.planned.Preview().Changes {
		change.Action = clustermanager.ActionPending
		w.result.Changes = append(w.result.Changes, change)
	}
}
