package service

import (
	"context"
	"errors"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

// Caller is who makes a call.
type Caller struct {
	managed.Principal
	// RequestID finds the call in the log.
	RequestID string
}

// call is a call under way.
type call struct {
	*Service
	ctx    context.Context
	caller Caller
	method managed.Method
	now    time.Time
	audit  managed.Audit
	// limited says that the call was counted.
	limited bool
}

// run makes a call: read-only, what the call does, the audit record.
func run[In, Out any](
	ctx context.Context, s *Service, caller Caller, row managed.Call[In, Out], tenant string, do func(*call) (Out, error),
) (Out, error) {
	now := s.rooms.Clock()
	c := &call{Service: s, ctx: ctx, caller: caller, method: row.Method, now: now}
	c.audit = managed.Audit{At: now, RequestID: caller.RequestID, Principal: caller.ID, Method: row.String(), Tenant: tenant}
	var none Out
	if s.settings.ReadOnly && row.Kind == managed.Mutation {
		return none, c.end(managed.Fault(managed.AccessDenied, "%s: the service is read-only: call one that is not", row).
			With(managed.Details{Reason: managed.ReasonReadOnly}))
	}
	out, err := do(c)
	if err := c.end(err); err != nil {
		return none, err
	}
	return out, nil
}

// allow decides on a resource, and counts the call once it is allowed: a stranger uses up nobody's rate.
func (c *call) allow(action managed.Action, resource managed.Resource) error {
	decision := c.decide(action, resource)
	switch {
	case !decision.Allowed:
		// The kind is the method's, whether there is such a cluster or not.
		return managed.Denied(action, c.method.Resource)
	case c.limited:
		return nil
	}
	c.limited = true
	if wait, within := c.limiter.take(resource.Tenant, c.now); !within {
		fault := managed.Fault(managed.RateLimited, "tenant %s: it has no more calls in this second: wait and call again", resource.Tenant)
		fault.RetryAfter = wait
		return fault
	}
	return nil
}

func (c *call) decide(action managed.Action, resource managed.Resource) managed.Decision {
	decision := c.rooms.Policy.Decide(managed.Query{Principal: c.caller.Principal, Action: action, Resource: resource})
	c.audit.Decisions = append(c.audit.Decisions, managed.Decided{
		Action: action, ResourceType: resource.Type, Resource: resource.ID, Allowed: decision.Allowed,
		Policies: decision.Policies, Faults: decision.Faults,
	})
	if len(decision.Faults) > 0 {
		c.rooms.Log.ErrorContext(c.ctx, "a policy cannot be evaluated, so the decision is a refusal",
			"request", c.caller.RequestID, "action", action, "faults", decision.Faults)
	}
	return decision
}

// cluster finds the record that a call is about, decides on it, and answers NOT_FOUND when it is not the tenant's. A
// record that is unknown or deleted has no owner any more: the decision is on the tenant.
func (c *call) cluster(tenant, id string, actions ...managed.Action) (managed.Cluster, error) {
	c.audit.Resource = id
	row, err := c.rooms.Store.Cluster(c.ctx, id)
	unknown := errors.Is(err, managed.ErrUnknown)
	if err != nil && !unknown {
		return row, err
	}
	resource := managed.TenantResource(tenant)
	if !unknown && row.State != managed.StateDeleted {
		resource = row.Resource()
	}
	for _, action := range actions {
		if err := c.allow(action, resource); err != nil {
			return row, err
		}
	}
	if unknown || row.TenantID != tenant {
		return row, managed.NoCluster(id)
	}
	return row, nil
}

// end makes the answer's error of what went wrong, and writes the audit record.
func (c *call) end(err error) error {
	err = c.answerable(err)
	c.audit.Code = managed.CodeOf(err)
	c.rooms.Log.InfoContext(c.ctx, "call", "audit", c.audit)
	if c.method.Kind != managed.Mutation {
		return err
	}
	// The record of a call that was broken off is written all the same.
	if failed := c.rooms.Store.Audit(context.WithoutCancel(c.ctx), c.audit); failed != nil {
		c.rooms.Log.ErrorContext(c.ctx, "an audit record is in the log alone", "request", c.caller.RequestID, "cause", failed)
	}
	return err
}

// answerable is the error as the caller gets it. Its cause stays in the log.
func (c *call) answerable(err error) error {
	var fault *managed.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &fault):
		return fault
	}
	c.rooms.Log.ErrorContext(c.ctx, "a call could not be served", "request", c.caller.RequestID, "method", c.method.String(), "cause", err)
	if errors.Is(err, managed.ErrUnreachable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return managed.Unreached("the service cannot reach its store")
	}
	return managed.Fault(managed.Internal, "%s: the service is at fault: report the request %s", c.method, c.caller.RequestID).
		With(managed.Details{RequestID: c.caller.RequestID})
}
