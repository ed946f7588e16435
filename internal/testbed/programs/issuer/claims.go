package main

import (
	"context"
	"slices"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// scopeGroups is the scope and the claim of a user's groups. The standard has none; this is what providers call it.
const scopeGroups = "groups"

// store adds groups to the library's store.
type store struct {
	*storage.Storage
	people people
}

var (
	_ exampleop.Storage            = (*store)(nil)
	_ op.CanSetUserinfoFromRequest = (*store)(nil)
)

// GetClientByClientID is a client that puts e-mail and groups into its id_tokens.
func (s *store) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	found, err := s.Storage.GetClientByClientID(ctx, id)
	if err != nil {
		return nil, err
	}
	return client{found}, nil
}

// SetUserinfoFromRequest fills an id_token.
func (s *store) SetUserinfoFromRequest(ctx context.Context, info *oidc.UserInfo, request op.IDTokenRequest, scopes []string) error {
	if err := s.Storage.SetUserinfoFromRequest(ctx, info, request, scopes); err != nil {
		return err
	}
	s.addGroups(info, request.GetSubject(), scopes)
	return nil
}

// SetUserinfoFromToken fills the answer of the userinfo endpoint.
func (s *store) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, tokenID, subject, origin string) error {
	if err := s.Storage.SetUserinfoFromToken(ctx, info, tokenID, subject, origin); err != nil {
		return err
	}
	s.addGroups(info, subject, []string{scopeGroups})
	return nil
}

func (s *store) addGroups(info *oidc.UserInfo, subject string, scopes []string) {
	if one, found := s.people[subject]; found && slices.Contains(scopes, scopeGroups) {
		info.AppendClaims(scopeGroups, one.Groups)
	}
}

type client struct{ op.Client }

// IsScopeAllowed lets the client ask for groups.
func (client) IsScopeAllowed(scope string) bool { return scope == scopeGroups }

// IDTokenUserinfoClaimsAssertion asks for the claims in the id_token, where API servers look for them.
func (client) IDTokenUserinfoClaimsAssertion() bool { return true }
