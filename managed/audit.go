package managed

import (
	"log/slog"
	"time"
)

// Audit is who did what, and what came of it.
type Audit struct {
	At        time.Time
	RequestID string
	Principal string
	Method    string
	Tenant    string
	// Resource is the id of the cluster that the call was about; empty for the tenant itself.
	Resource  string
	Decisions []Decided
	// Code is the outcome; empty: the call was answered.
	Code Code
}

// Decided is a decision of a call.
type Decided struct {
	Action       Action
	ResourceType ResourceType
	Resource     string
	Allowed      bool
	Policies     []string
	Faults       []string
}

// LogValue is the audit record as one group.
func (a Audit) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("request", a.RequestID), slog.String("principal", a.Principal), slog.String("method", a.Method),
		slog.String("tenant", a.Tenant), slog.String("resource", a.Resource), slog.Any("decisions", a.Decisions),
		slog.String("code", string(a.Code)),
	)
}
