package service

import (
	"context"

	"github.com/clustermanager/cluster-manager/managed"
)

// Endpoint is a method with what serves it.
type Endpoint struct {
	managed.Method
	// Serve takes a body and gives the answer, or a [managed.Error].
	Serve func(ctx context.Context, caller Caller, body []byte) (any, error)
}

// Endpoints are the endpoints of the method table, in its order.
func (s *Service) Endpoints() []Endpoint {
	return []Endpoint{
		endpoint(s, managed.Create, s.Create),
		endpoint(s, managed.List, s.List),
		endpoint(s, managed.Get, s.Get),
		endpoint(s, managed.Update, s.Update),
		endpoint(s, managed.Delete, s.Delete),
		endpoint(s, managed.Credentials, s.Credentials),
		endpoint(s, managed.Versions, s.Versions),
	}
}

// endpoint puts the input stage before a call.
func endpoint[In, Out any](s *Service, row managed.Call[In, Out], serve func(context.Context, Caller, In) (Out, error)) Endpoint {
	return Endpoint{Method: row.Method, Serve: func(ctx context.Context, caller Caller, body []byte) (any, error) {
		in, err := managed.Decode(row, body)
		if err != nil {
			c := &call{Service: s, ctx: ctx, caller: caller, method: row.Method}
			return nil, c.answerable(err)
		}
		out, err := serve(ctx, caller, in)
		if err != nil {
			return nil, err
		}
		return out, nil
	}}
}
