package mcptools

import (
	"context"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/survey"
)

// write is a call of a tool that writes.
type write[Facts any] struct {
	tool   string
	mode   clustermanager.Mode
	dryRun bool
	// refused is what the arguments alone are refused for; nil: nothing.
	refused error
	// read reads what decide decides from.
	read   func(ctx context.Context, reader *survey.Reader) (Facts, error)
	decide func(facts Facts) (change, clustermanager.WriteResult, error)
}

// carryOut does the call: it reads as the caller, decides, and takes what was decided through the door of its mode.
func (w write[Facts]) carryOut(ctx context.Context, t *Tools, call Call) (clustermanager.WriteResult, error) {
	none := clustermanager.WriteResult{}
	if w.refused != nil {
		return none, w.refused
	}
	ctx, cancel, err := t.begin(ctx, call, w.mode)
	if err != nil {
		return none, err
	}
	defer cancel()
	reader, err := t.reader(call)
	if err != nil {
		return none, err
	}
	call.Progress(stepSurvey)
	facts, err := w.read(ctx, reader)
	if err != nil {
		return none, err
	}
	call.Progress(stepCompose)
	decided, result, err := w.decide(facts)
	if err != nil {
		return none, err
	}
	result.Warnings = decided.plan.Warnings
	decided.tool, decided.mode, decided.dryRun = w.tool, w.mode, w.dryRun
	if len(decided.plan.Steps) == 0 {
		result.Mode, result.DryRun, result.Objects = w.mode, w.dryRun, []clustermanager.Change{}
		return result, nil
	}
	return t.carryOut(ctx, call, decided, result)
}
