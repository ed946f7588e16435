package survey

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// bound gives a read of a workload cluster what is left of that cluster's time.
func (r *Reader) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.deadline.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, r.deadline)
}

// failed is a read that failed. What concerns a workload cluster as a whole, such as that it does not answer, is said of
// the cluster, in the same words whatever was read.
func (r *Reader) failed(ctx context.Context, what string, err error) error {
	if r.where == "" {
		return &readError{what, err}
	}
	cluster := r.cluster()
	var transport *url.Error
	switch {
	case !r.deadline.IsZero() && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &clusterError{fmt.Sprintf("%s: reading it: no answer within %s", cluster, r.options.WorkloadBudget), err}
	case errors.As(err, &transport):
		return &clusterError{cluster + ": connecting: " + transport.Err.Error(), err}
	case apierrors.IsUnauthorized(err):
		return &clusterError{cluster + ": reading it: it does not accept your token (Unauthorized)", err}
	}
	return &readError{what + r.where, err}
}

// cluster names the workload cluster that is read.
func (r *Reader) cluster() string { return "Cluster" + strings.TrimPrefix(r.where, " on cluster") }

// clusterError is a read that failed for a reason that concerns the whole cluster.
type clusterError struct {
	message string
	cause   error
}

func (e *clusterError) Error() string { return e.message }

func (e *clusterError) Unwrap() error { return e.cause }
