package identity

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	// githubTimeout is what a call waits for GitHub before it goes on without. An aggregator in front of the server gives up
	// on a call at about ten seconds, and a call in mode apply wants most of them.
	githubTimeout = 3 * time.Second
	// keepLogin is how long a login is believed: a user token does not tell when it ends.
	keepLogin = 15 * time.Minute
	// maximalLogins bounds the logins that are kept.
	maximalLogins = 10_000
)

// errNotAccepted says that GitHub knows the token and does not take it, or does not know it.
var errNotAccepted = errors.New("GitHub does not accept the token")

// pairing knows whose GitHub user tokens are.
type pairing struct {
	address string
	client  *http.Client
	now     func() time.Time

	mutex  sync.Mutex
	logins map[digest]known
	// order has the digests of logins, the first one known longest.
	order []digest
}

// digest is the SHA-256 of a token: no token is kept.
type digest [sha256.Size]byte

type known struct {
	login string
	until time.Time
}

func newPairing(apiURL string, now func() time.Time) *pairing {
	return &pairing{
		address: apiURL + "/user", now: now, logins: map[digest]known{},
		client: &http.Client{CheckRedirect: stay, Timeout: githubTimeout},
	}
}

// login is whose the token is. The error is [errNotAccepted], or says why GitHub could not be asked.
func (p *pairing) login(ctx context.Context, token clustermanager.Secret) (string, error) {
	of := digest(sha256.Sum256([]byte(token.Reveal())))
	if login, there := p.known(of); there {
		return login, nil
	}
	login, err := p.ask(ctx, token)
	if err != nil {
		return "", err
	}
	p.keep(of, login)
	return login, nil
}

func (p *pairing) ask(ctx context.Context, token clustermanager.Secret) (string, error) {
	got, err := get(ctx, p.client, p.address, http.Header{
		"Accept": {"application/vnd.github+json"}, "Authorization": {"Bearer " + token.Reveal()},
	})
	if err != nil {
		return "", fmt.Errorf("GitHub cannot be reached: %w", err)
	}
	switch {
	case got.status == http.StatusOK:
	case limited(got):
		return "", fmt.Errorf("GitHub takes no more requests for now: status %d", got.status)
	case got.status == http.StatusUnauthorized || got.status == http.StatusForbidden:
		return "", errNotAccepted
	default:
		return "", fmt.Errorf("GitHub cannot say whose authorization this is: status %d %s", got.status, http.StatusText(got.status))
	}
	var user struct {
		Login string `json:"login"`
	}
	if err := json.Unmarshal(got.body, &user); err != nil || user.Login == "" {
		return "", errors.New("GitHub cannot say whose authorization this is: its answer has no login")
	}
	return user.Login, nil
}

// limited says that GitHub's limits refused the request, which says nothing of the token.
func limited(got answer) bool {
	return got.status == http.StatusTooManyRequests ||
		got.status == http.StatusForbidden && (got.header.Get("Retry-After") != "" || got.header.Get("X-RateLimit-Remaining") == "0")
}

func (p *pairing) known(of digest) (string, bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	found, there := p.logins[of]
	return found.login, there && p.now().Before(found.until)
}

// keep remembers a login. Those that are no longer believed go, and with too many of them the oldest.
func (p *pairing) keep(of digest, login string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	now := p.now()
	for len(p.order) > 0 && !now.Before(p.logins[p.order[0]].until) {
		p.forgetOldest()
	}
	if _, there := p.logins[of]; there {
		return
	}
	if len(p.order) >= maximalLogins {
		p.forgetOldest()
	}
	p.order = append(p.order, of)
	p.logins[of] = known{login: login, until: now.Add(keepLogin)}
}

func (p *pairing) forgetOldest() {
	delete(p.logins, p.order[0])
	p.order = p.order[1:]
}
