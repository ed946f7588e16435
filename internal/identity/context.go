package identity

import (
	"context"
	"errors"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// ErrNoCaller says that a request came past no [Verifier.Protect].
var ErrNoCaller = errors.New("the request has no caller: nobody was asked who they are")

type contextKey struct{}

// With returns a context with a caller.
func With(ctx context.Context, caller clustermanager.Caller) context.Context {
	return context.WithValue(ctx, contextKey{}, caller)
}

// CallerFrom returns the caller that [Verifier.Protect] put on a request's context, else [ErrNoCaller].
func CallerFrom(ctx context.Context) (clustermanager.Caller, error) {
	caller, there := ctx.Value(contextKey{}).(clustermanager.Caller)
	if !there {
		return clustermanager.Caller{}, ErrNoCaller
	}
	return caller, nil
}
