package session

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// maxClients bounds the clients that are kept of each kind: of the installation, and of workload clusters.
const maxClients = 256

type sum [sha256.Size]byte

// key finds a kept client: by the caller's token, and for a workload cluster by how its server is reached.
type key struct{ token, server sum }

// kept is a client that is reused.
type kept struct {
	key    key
	client *Client
	// expires is when the token does; zero: it does not say.
	expires time.Time
	// logged says that the token was found expired before.
	logged bool
}

func (k *kept) expired(now time.Time) bool { return !k.expires.IsZero() && now.After(k.expires) }

// keeper keeps a bounded number of clients. When it is full those of expired tokens go, and when no token has expired
// the one used least recently. It is safe for concurrent use.
type keeper struct {
	now func() time.Time

	mu sync.Mutex
	// order holds the kept clients, the one used last in front; byKey finds them.
	order *list.List
	byKey map[key]*list.Element
}

func newKeeper() *keeper {
	return &keeper{now: time.Now, order: list.New(), byKey: map[key]*list.Element{}}
}

// client returns the kept client of a key, else one that is made. Found says whether the token is expired and was not
// found so before.
func (k *keeper) client(of key, token clustermanager.Secret, build func() (*Client, error)) (client *Client, found *kept, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	element, there := k.byKey[of]
	if there {
		k.order.MoveToFront(element)
	} else {
		made, err := build()
		if err != nil {
			return nil, nil, err
		}
		k.makeRoom(now)
		element = k.order.PushFront(&kept{key: of, client: made, expires: expiry(token)})
		k.byKey[of] = element
	}
	entry := element.Value.(*kept)
	if entry.expired(now) && !entry.logged {
		entry.logged, found = true, entry
	}
	return entry.client, found, nil
}

// makeRoom lets clients go until there is room for one more.
func (k *keeper) makeRoom(now time.Time) {
	if k.order.Len() < maxClients {
		return
	}
	for element := k.order.Back(); element != nil; {
		before := element.Prev()
		if element.Value.(*kept).expired(now) {
			k.drop(element)
		}
		element = before
	}
	if k.order.Len() >= maxClients {
		k.drop(k.order.Back())
	}
}

func (k *keeper) drop(element *list.Element) {
	delete(k.byKey, k.order.Remove(element).(*kept).key)
}

// expiry is when a JWT says that it expires, unverified: it decides nothing but what is kept. Zero: the token does not
// say.
func expiry(token clustermanager.Secret) time.Time {
	parts := strings.Split(token.Reveal(), ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Expires float64 `json:"exp"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil || claims.Expires <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Expires), 0)
}

// LogTo makes the sessions log what an operator should know: once for each token that it is presented though it has
// expired, which the API server answers with 401. Call it before the first use.
func (s *Sessions) LogTo(log *slog.Logger) { s.log = log }

func (s *Sessions) logExpired(found *kept) {
	if found != nil && s.log != nil {
		s.log.LogAttrs(context.Background(), slog.LevelWarn, "a caller's Kubernetes token has expired, and is presented all the same",
			slog.Time("expired", found.expires))
	}
}
