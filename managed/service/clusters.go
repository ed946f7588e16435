package service

import (
	"context"
	"errors"

	"github.com/clustermanager/cluster-manager/managed"
)

// listMost is how many clusters a list has; the rest is told by truncated.
const listMost = 500

// Create records a cluster. A retry with the same key meets its record first: catalogue, offer, budget, name and quota
// are not asked again.
func (s *Service) Create(ctx context.Context, caller Caller, in managed.CreateInput) (managed.ClusterAnswer, error) {
	return run(ctx, s, caller, managed.Create, in.TenantID, func(c *call) (managed.ClusterAnswer, error) {
		id := managed.ClusterID(in.TenantID, caller.ID, in.IdempotencyKey)
		c.audit.Resource = id
		recorded, err := s.rooms.Store.Cluster(ctx, id)
		switch {
		case errors.Is(err, managed.ErrUnknown):
			return c.insert(in)
		case err != nil:
			return managed.ClusterAnswer{}, err
		}
		return c.replay(recorded, in)
	})
}

func (c *call) insert(in managed.CreateInput) (managed.ClusterAnswer, error) {
	var none managed.ClusterAnswer
	catalogue := c.rooms.Catalogue.Current()
	pool, placement, err := catalogue.Place(in, c.capable)
	if err != nil {
		return none, err
	}
	row, created, err := managed.NewCluster(in, c.caller.Principal, pool, placement, c.now)
	if err != nil {
		return none, err
	}
	if err := c.allow(managed.ActionCreate, row.Resource()); err != nil {
		return none, err
	}
	if err := catalogue.Admit(pool, in.TenantID, placement.Region); err != nil {
		return none, err
	}
	err = c.rooms.Store.Insert(c.ctx, row, c.settings.MaxClusters, created)
	if errors.Is(err, managed.ErrRecorded) {
		recorded, err := c.rooms.Store.Cluster(c.ctx, row.ID)
		if err != nil {
			return none, err
		}
		return c.replay(recorded, in)
	}
	if err != nil {
		return none, err
	}
	return row.Answer(), nil
}

// replay answers a retry: decided on what is recorded, then held against it.
func (c *call) replay(recorded managed.Cluster, in managed.CreateInput) (managed.ClusterAnswer, error) {
	if err := c.allow(managed.ActionCreate, recorded.Resource()); err != nil {
		return managed.ClusterAnswer{}, err
	}
	hash, err := in.Hash()
	switch {
	case err != nil:
		return managed.ClusterAnswer{}, err
	case hash != recorded.InputHash:
		return managed.ClusterAnswer{}, managed.KeyTaken(managed.Create.Method)
	}
	return recorded.Answer(), nil
}

// List answers a tenant's clusters, oldest first, without those that a policy forbids.
func (s *Service) List(ctx context.Context, caller Caller, in managed.ListInput) (managed.ListAnswer, error) {
	return run(ctx, s, caller, managed.List, in.TenantID, func(c *call) (managed.ListAnswer, error) {
		answer := managed.ListAnswer{Clusters: []managed.ClusterAnswer{}}
		if err := c.allow(managed.ActionRead, managed.TenantResource(in.TenantID)); err != nil {
			return answer, err
		}
		filter := managed.Filter{Tenant: in.TenantID, Pool: in.PoolID, Project: in.ProjectID, Deleted: in.IncludeDeleted}
		for row, err := range s.rooms.Store.Clusters(ctx, filter) {
			switch {
			case err != nil:
				return answer, err
			case c.hidden(&row):
				continue
			case len(answer.Clusters) == listMost:
				answer.Truncated = true
				return answer, nil
			}
			answer.Clusters = append(answer.Clusters, row.Answer())
		}
		return answer, nil
	})
}

// hidden says that a policy forbids to read an item. One that no policy permits is read by the decision on the tenant.
func (c *call) hidden(row *managed.Cluster) bool {
	decision := c.rooms.Policy.Decide(managed.Query{Principal: c.caller.Principal, Action: managed.ActionRead, Resource: row.Resource()})
	return decision.Forbidden || len(decision.Faults) > 0
}

// Get answers one cluster.
func (s *Service) Get(ctx context.Context, caller Caller, in managed.GetInput) (managed.ClusterAnswer, error) {
	return run(ctx, s, caller, managed.Get, in.TenantID, func(c *call) (managed.ClusterAnswer, error) {
		row, err := c.cluster(in.TenantID, in.ClusterID, managed.ActionRead)
		if err != nil {
			return managed.ClusterAnswer{}, err
		}
		return row.Answer(), nil
	})
}

// Update records new values.
func (s *Service) Update(ctx context.Context, caller Caller, in managed.UpdateInput) (managed.ClusterAnswer, error) {
	return run(ctx, s, caller, managed.Update, in.TenantID, func(c *call) (managed.ClusterAnswer, error) {
		if _, err := c.cluster(in.TenantID, in.ClusterID, managed.ActionUpdate); err != nil {
			return managed.ClusterAnswer{}, err
		}
		return c.change(in.ClusterID, func(row managed.Cluster) (managed.Cluster, []managed.Event, error) {
			changed, err := row.Update(in, c.now)
			return changed, nil, err
		})
	})
}

// Delete marks a cluster and its pools for deletion.
func (s *Service) Delete(ctx context.Context, caller Caller, in managed.DeleteInput) (managed.ClusterAnswer, error) {
	return run(ctx, s, caller, managed.Delete, in.TenantID, func(c *call) (managed.ClusterAnswer, error) {
		if _, err := c.cluster(in.TenantID, in.ClusterID, managed.ActionDelete); err != nil {
			return managed.ClusterAnswer{}, err
		}
		return c.change(in.ClusterID, func(row managed.Cluster) (managed.Cluster, []managed.Event, error) {
			changed, event, unchanged := row.Delete(c.now)
			if unchanged {
				return row, nil, nil
			}
			return changed, []managed.Event{event}, nil
		})
	})
}

func (c *call) change(id string, change func(managed.Cluster) (managed.Cluster, []managed.Event, error)) (managed.ClusterAnswer, error) {
	row, err := c.rooms.Store.Change(c.ctx, id, change)
	switch {
	case errors.Is(err, managed.ErrUnknown):
		// A deleted record may go at any time.
		return managed.ClusterAnswer{}, managed.NoCluster(id)
	case err != nil:
		return managed.ClusterAnswer{}, err
	}
	return row.Answer(), nil
}
