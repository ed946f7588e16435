package service

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

// Credentials mints a kubeconfig for the caller. A role beyond view is a second decision, by the caller's own identity.
// The token goes to the caller alone: when its event cannot be written, it is not handed out.
func (s *Service) Credentials(ctx context.Context, caller Caller, in managed.CredentialsInput) (managed.CredentialsAnswer, error) {
	return run(ctx, s, caller, managed.Credentials, in.TenantID, func(c *call) (managed.CredentialsAnswer, error) {
		actions := []managed.Action{managed.ActionConnect}
		if also := in.Role.Needs(); also != "" {
			actions = append(actions, also)
		}
		row, err := c.cluster(in.TenantID, in.ClusterID, actions...)
		if err != nil {
			return managed.CredentialsAnswer{}, err
		}
		if err := row.Connect(); err != nil {
			return managed.CredentialsAnswer{}, err
		}
		ttl := s.settings.CredentialTTL
		if in.TTLSeconds != nil {
			ttl = time.Duration(*in.TTLSeconds) * time.Second
		}
		return c.mint(row, in.Role, ttl)
	})
}

func (c *call) mint(row managed.Cluster, role managed.Role, ttl time.Duration) (managed.CredentialsAnswer, error) {
	var none managed.CredentialsAnswer
	account, known := c.rooms.Catalogue.Current().Account(row.AccountID)
	if !known {
		return none, managed.Unreached("cluster " + row.ID + ": its provider account is not in the catalogue any more")
	}
	name := managed.ServiceAccountName(c.caller.ID, role)
	token, err := c.rooms.ControlPlane.Token(c.ctx, account, row, name, role, ttl)
	if err != nil {
		return none, c.unreached(row, account, err)
	}
	kubeconfig, err := managed.NewKubeconfig(&row, name, token.Secret)
	if err != nil {
		return none, err
	}
	if err := c.rooms.Store.Publish(c.ctx, row.Issued(c.caller.ID, name, role, ttl, token.Expires, c.now)); err != nil {
		return none, err
	}
	return managed.CredentialsAnswer{Kubeconfig: kubeconfig, ExpiresAt: token.Expires.UTC().Truncate(time.Microsecond), Role: role}, nil
}

// unreached is UNAVAILABLE of a control plane. Where the authorized networks may be what keeps us out, it says so, with
// both ways out.
func (c *call) unreached(row managed.Cluster, account managed.Account, cause error) error {
	c.rooms.Log.ErrorContext(c.ctx, "a control plane gave no token", "request", c.caller.RequestID, "cluster", row.ID, "cause", cause)
	what := "cluster " + row.ID + ": its control plane gave no token"
	if !errors.Is(cause, managed.ErrUnreachable) {
		return managed.Unreached(what)
	}
	what = "cluster " + row.ID + ": its control plane cannot be reached"
	if len(row.AuthorizedNetworks) == 0 || account.DNSEndpoint {
		return managed.Unreached(what)
	}
	egress := "the service's own ranges"
	if len(account.Egress) > 0 {
		egress = strings.Join(account.Egress, ", ")
	}
	return managed.Unreached(what + ", and its authorizedNetworks may be why: add " + egress +
		" to them, or have dnsEndpoint set for account " + account.ID)
}

// Versions answers the versions that a pool's provider offers in a location.
func (s *Service) Versions(ctx context.Context, caller Caller, in managed.VersionsInput) (managed.VersionsAnswer, error) {
	return run(ctx, s, caller, managed.Versions, in.TenantID, func(c *call) (managed.VersionsAnswer, error) {
		var none managed.VersionsAnswer
		if err := c.allow(managed.ActionRead, managed.TenantResource(in.TenantID)); err != nil {
			return none, err
		}
		_, account, err := s.rooms.Catalogue.Current().ClusterPool(in.PoolID, in.TenantID, s.capable)
		if err != nil {
			return none, err
		}
		if _, err := account.Locate(managed.Versions.Method, in.Location); err != nil {
			return none, err
		}
		versions, err := s.rooms.Providers[account.Provider].Versions(ctx, account, in.Location)
		if err != nil {
			s.rooms.Log.ErrorContext(ctx, "a provider gave no versions", "request", caller.RequestID, "account", account.ID, "cause", err)
			return none, managed.Unreached("provider " + account.Provider + ": it gave no versions of " + in.Location)
		}
		return versions, nil
	})
}
