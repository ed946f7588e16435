package mcptools

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"regexp"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/telemetry"
)

// redacted stands for an argument that may hold what is nobody else's business.
const redacted = "[redacted]"

// plainText is what names, versions, zones and words of a closed set look like, and no token.
var plainText = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)

// free are arguments that a person writes as they like.
var free = map[string]bool{"description": true, "values": true}

// observation is what is seen of one call: its record in the log, and whatever observes calls.
type observation struct {
	tools *Tools
	tool  Tool
	raw   json.RawMessage
	start time.Time

	outcome telemetry.Outcome
	observe func(telemetry.Outcome)
}

// observe begins one. Whoever begins it ends it.
func (t *Tools) observe(ctx context.Context, tool Tool, raw json.RawMessage) (context.Context, *observation) {
	begun := &observation{tools: t, tool: tool, raw: raw, start: time.Now(), outcome: telemetry.Broken, observe: func(telemetry.Outcome) {}}
	if t.options.Observe != nil {
		ctx, begun.observe = t.options.Observe(ctx, tool.Name)
	}
	return ctx, begun
}

func (o *observation) end() { o.observe(o.outcome) }

// ended writes the one record of a call: who, what on what, how it ended, and what it wrote.
func (o *observation) ended(ctx context.Context, caller clustermanager.Caller, answer any, result Result) Result {
	o.outcome = telemetry.Answered
	if result.Reason != "" {
		o.outcome = telemetry.Refused
	}
	if log := o.tools.options.Log; log == nil || !log.Enabled(ctx, slog.LevelInfo) {
		return result
	}
	attributes := []slog.Attr{
		slog.String("tool", o.tool.Name), slog.String("caller", callerName(caller)), slog.Any("arguments", redact(o.tool, o.raw, result.Reason)),
		slog.String("reason", string(result.Reason)), slog.Duration("duration", time.Since(o.start)),
	}
	if written, is := answer.(clustermanager.WriteResult); is {
		attributes = append(attributes, effects(written)...)
	}
	o.tools.options.Log.LogAttrs(ctx, slog.LevelInfo, "tool call", attributes...)
	return result
}

// effects are what a write did, counted by action, and the pull request that it opened.
func effects(written clustermanager.WriteResult) []slog.Attr {
	counts := map[string]int{}
	for _, change := range written.Objects {
		counts[string(change.Action)]++
	}
	attributes := []slog.Attr{
		slog.String("mode", string(written.Mode)), slog.Bool("dryRun", written.DryRun), slog.Bool("partial", written.Partial), slog.Any("objects", counts),
	}
	if written.Commit != nil && written.Commit.PullRequest != "" {
		attributes = append(attributes, slog.String("pullRequest", written.Commit.PullRequest))
	}
	return attributes
}

// callerName is how a record names the caller; a process that is its own has no name.
func callerName(caller clustermanager.Caller) string {
	switch {
	case caller.Email != "":
		return caller.Email
	case caller.Subject != "":
		return caller.Subject
	}
	return "the process's own"
}

// redact keeps of the arguments what names and switches are made of. Of a call whose arguments were not taken it keeps
// the declared ones' names alone: anything may stand in them.
func redact(tool Tool, raw json.RawMessage, reason clustermanager.Reason) map[string]any {
	given := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if decoder.Decode(&given) != nil {
		return nil
	}
	kept := make(map[string]any, len(given))
	for name, value := range given {
		if _, declared := tool.Input.Properties[name]; !declared {
			continue
		}
		kept[name] = redacted
		if reason != clustermanager.ReasonInvalidArguments && !free[name] && isPlain(value) {
			kept[name] = value
		}
	}
	return kept
}

func isPlain(value any) bool {
	switch value := value.(type) {
	case bool, json.Number, nil:
		return true
	case string:
		return plainText.MatchString(value)
	case []any:
		for _, element := range value {
			if !isPlain(element) {
				return false
			}
		}
		return true
	}
	return false
}
