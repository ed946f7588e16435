package settings

import (
	"fmt"
	"strconv"
)

// Defaults of what one caller may ask of a server.
const (
	// DefaultCallerRate is in calls a second.
	DefaultCallerRate = 10
	// DefaultCallerConcurrency is in calls at once.
	DefaultCallerConcurrency = 8
)

// limits are the settings of what a server takes.
func limits() []Setting {
	return []Setting{
		{Name: "mcp-enabled", Variable: "CLUSTER_MANAGER_MCP_ENABLED", Form: Boolean, Scope: Listener, Default: "true", Help: "serve the MCP endpoint", take: takeMCPEnabled},
		{Name: "max-request-bytes", Variable: "CLUSTER_MANAGER_MAX_REQUEST_BYTES", Form: Number, Scope: Listener, Default: strconv.Itoa(DefaultMaxRequestBytes), Help: "most bytes of a request's body", take: takeMaxRequestBytes},
		{Name: "caller-rate", Variable: "CLUSTER_MANAGER_CALLER_RATE", Form: Number, Scope: Listener, Default: strconv.Itoa(DefaultCallerRate), Help: "tool calls a second that one caller may make; 0: no limit", take: takeLimit(func(r *Resolved) *int { return &r.CallerRate })},
		{Name: "caller-concurrency", Variable: "CLUSTER_MANAGER_CALLER_CONCURRENCY", Form: Number, Scope: Listener, Default: strconv.Itoa(DefaultCallerConcurrency), Help: "tool calls that one caller may have running at once; 0: no limit", take: takeLimit(func(r *Resolved) *int { return &r.CallerConcurrency })},
	}
}

func takeMCPEnabled(r *Resolved, value string) error {
	enabled, err := strconv.ParseBool(value)
	r.WithoutMCP = !enabled
	return err
}

func takeLimit(field func(*Resolved) *int) func(*Resolved, string) error {
	return func(r *Resolved, value string) (err error) {
		if *field(r), err = strconv.Atoi(value); err != nil || *field(r) < 0 {
			return fmt.Errorf("%s is below 0, or too large", value)
		}
		return nil
	}
}

func takeMaxRequestBytes(r *Resolved, value string) (err error) {
	if r.MaxRequestBytes, err = strconv.ParseInt(value, 10, 64); err != nil || r.MaxRequestBytes < 1 {
		return fmt.Errorf("%s is below 1, or too large", value)
	}
	return nil
}
