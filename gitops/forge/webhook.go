package forge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	// maximalDelivery is how large a delivery may be. GitHub sends up to 25 MB, which nothing but a push of thousands of
	// commits comes near; a delivery about a pull request with the longest title and body is below 1 MB, and bodies are
	// held in memory before anybody has proven who they are.
	maximalDelivery = 5 << 20
	// deliveryTime is how long a delivery may take to come in; GitHub itself gives up after ten seconds.
	deliveryTime = 10 * time.Second
	// rememberedDeliveries is how many deliveries are known again when they are sent a second time.
	rememberedDeliveries = 1000
	// receivedAtOnce is how many deliveries are read at the same time, which bounds the memory of all.
	receivedAtOnce = 8
)

// Kinds of deliveries that something is done about.
const (
	EventPullRequest = "pull_request"
	EventPush        = "push"
)

// Event is what a delivery is about, no more: whatever is done about it is read from GitHub anew, so that one that comes
// late, twice or out of order does no harm.
type Event struct {
	// Kind is EventPullRequest or EventPush.
	Kind string
	// Delivery is GitHub's id of it.
	Delivery string
	// Action is what happened to the pull request with the number Number.
	Action string
	Number int
	// Branch is the branch that a push moved.
	Branch string
	// Host, Owner, Name and ID name the repository, CloneURL is where git speaks.
	Host, Owner, Name, CloneURL string
	ID                          int64
	// Installation is the App's installation there.
	Installation int64
}

// ErrBusy says that no more can be taken now.
var ErrBusy = errors.New("too much is to be done already")

// Webhook takes the deliveries of a GitHub App: an http.Handler that proves the signature and hands events on. Take must
// not wait; what it takes it ends with finished, whose false lets the same delivery be sent again.
type Webhook struct {
	secret clustermanager.Secret
	take   func(event Event, finished func(done bool)) error
	log    *slog.Logger
	slots  chan struct{}

	mutex sync.Mutex
	// seen are the deliveries that were taken; order has them from the oldest.
	seen  map[string]bool
	order []string
}

// NewWebhook makes the handler. A nil log keeps silent.
func NewWebhook(secret clustermanager.Secret, take func(Event, func(bool)) error, log *slog.Logger) *Webhook {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Webhook{secret: secret, take: take, log: log, slots: make(chan struct{}, receivedAtOnce), seen: map[string]bool{}}
}

// ServeHTTP answers 202 to what is taken, or of no interest, at once. 401: the signature does not hold; 413: too large;
// 503: too much is to be done already, so redeliver it.
func (w *Webhook) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		writer.Header().Set("Allow", http.MethodPost)
		http.Error(writer, "deliveries are posted", http.StatusMethodNotAllowed)
		return
	}
	select {
	case w.slots <- struct{}{}:
		defer func() { <-w.slots }()
	default:
		http.Error(writer, ErrBusy.Error(), http.StatusServiceUnavailable)
		return
	}
	_ = http.NewResponseController(writer).SetReadDeadline(time.Now().Add(deliveryTime))
	body, err := io.ReadAll(http.MaxBytesReader(writer, request.Body, maximalDelivery))
	var larger *http.MaxBytesError
	switch {
	case errors.As(err, &larger):
		http.Error(writer, "the delivery is larger than what is read", http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(writer, "the delivery could not be read", http.StatusBadRequest)
	case !w.signed(body, request.Header.Get("X-Hub-Signature-256")):
		w.log.WarnContext(request.Context(), "webhook: a delivery whose signature does not hold")
		http.Error(writer, "the signature does not hold", http.StatusUnauthorized)
	default:
		w.receive(writer, request, body)
	}
}

// signed says whether the signature is the one of these very bytes. It takes the same time for every wrong one.
func (w *Webhook) signed(body []byte, signature string) bool {
	text, is := strings.CutPrefix(signature, "sha256=")
	given, err := hex.DecodeString(text)
	mac := hmac.New(sha256.New, []byte(w.secret.Reveal()))
	_, _ = mac.Write(body)
	return hmac.Equal(given, mac.Sum(nil)) && is && err == nil && !w.secret.IsZero()
}

func (w *Webhook) receive(writer http.ResponseWriter, request *http.Request, body []byte) {
	event, wanted, err := readEvent(request.Header, body)
	switch {
	case err != nil:
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	case !wanted || !w.first(event.Delivery):
		writer.WriteHeader(http.StatusAccepted)
		return
	}
	if err := w.take(event, func(done bool) {
		if !done {
			w.forget(event.Delivery)
		}
	}); err != nil {
		w.forget(event.Delivery)
		writer.Header().Set("Retry-After", "60")
		http.Error(writer, err.Error(), http.StatusServiceUnavailable)
		return
	}
	writer.WriteHeader(http.StatusAccepted)
}

// first says whether a delivery comes for the first time, as far as is remembered.
func (w *Webhook) first(delivery string) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.seen[delivery] {
		return false
	}
	w.seen[delivery], w.order = true, append(w.order, delivery)
	if len(w.order) > rememberedDeliveries {
		delete(w.seen, w.order[0])
		w.order = w.order[1:]
	}
	return true
}

// forget lets a delivery come again: what failed is sent anew under its old id.
func (w *Webhook) forget(delivery string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.seen, delivery)
}

var deliveryPattern = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// delivered is what is read of a delivery.
type delivered struct {
	Action     string `json:"action"`
	Ref        string `json:"ref"`
	Number     int    `json:"number"`
	Repository struct {
		ID       int64  `json:"id"`
		FullName string `json:"full_name"`
		CloneURL string `json:"clone_url"`
	} `json:"repository"`
	Installation struct {
		ID int64 `json:"id"`
	} `json:"installation"`
}

// readEvent reads a delivery; false: it is of no interest. The error says what of it is none of GitHub's.
func readEvent(header http.Header, body []byte) (Event, bool, error) {
	kind, delivery := header.Get("X-GitHub-Event"), header.Get("X-GitHub-Delivery")
	if kind == "" || !deliveryPattern.MatchString(delivery) {
		return Event{}, false, errors.New("the delivery names no event, or has no id")
	}
	if kind != EventPullRequest && kind != EventPush {
		return Event{}, false, nil
	}
	var read delivered
	if err := json.Unmarshal(body, &read); err != nil {
		return Event{}, false, errors.New("the delivery is no JSON: set the content type of the webhook to application/json")
	}
	owner, name, _ := strings.Cut(read.Repository.FullName, "/")
	clone, err := url.Parse(read.Repository.CloneURL)
	if err != nil || clone.Host == "" || !validName(owner) || !validName(name) || read.Repository.ID == 0 || read.Installation.ID == 0 {
		return Event{}, false, errors.New("the delivery names no repository, or no installation of an App: deliveries come from the App's own webhook")
	}
	event := Event{
		Kind: kind, Delivery: delivery, Action: read.Action, Number: read.Number, Installation: read.Installation.ID,
		Host: strings.ToLower(clone.Host), Owner: owner, Name: name, CloneURL: read.Repository.CloneURL, ID: read.Repository.ID,
	}
	if kind == EventPush {
		var is bool
		event.Branch, is = strings.CutPrefix(read.Ref, "refs/heads/")
		return event, is, nil
	}
	return event, event.Number > 0, nil
}
