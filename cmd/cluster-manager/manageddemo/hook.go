package manageddemo

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"sync"

	"github.com/clustermanager/cluster-manager/managed/reconcile"
)

// hook takes events and holds their signatures.
type hook struct {
	secret []byte

	mu     sync.Mutex
	events []event
}

// event is what is shown of one.
type event struct {
	ID, Type, Subject, Time string
	// signed says that the signature is right.
	signed bool
}

// ServeHTTP takes an event.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	var one event
	if err != nil || json.Unmarshal(body, &one) != nil {
		http.Error(w, "no event", http.StatusBadRequest)
		return
	}
	mac := hmac.New(sha256.New, h.secret)
	_, _ = mac.Write(body)
	one.signed = hmac.Equal([]byte("sha256="+hex.EncodeToString(mac.Sum(nil))), []byte(r.Header.Get(reconcile.SignatureHeader)))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, one)
}

// taken are the events so far.
func (h *hook) taken() []event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]event(nil), h.events...)
}
