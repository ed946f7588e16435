package reconcile

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/clustermanager/cluster-manager/managed"
	"github.com/clustermanager/cluster-manager/managed/store/storetest"
)

// hook is a webhook that checks what it gets by the CloudEvents library. answer says what it answers to an event; nil: 200.
type hook struct {
	t      *testing.T
	answer func(of event.Event) int
	secret string

	mu    sync.Mutex
	taken []event.Event
	tries int
}

func newHook(t *testing.T) *hook { return &hook{t: t, secret: "made-for-tests"} }

func (h *hook) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	signer := hmac.New(sha256.New, []byte(h.secret))
	signer.Write(body)
	var of event.Event
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tries++
	switch err := of.UnmarshalJSON(body); {
	case request.Method != http.MethodPost || request.Header.Get("Content-Type") != "application/cloudevents+json":
		h.t.Errorf("%s with %s", request.Method, request.Header)
	case request.Header.Get("X-Cluster-Manager-Signature-256") != "sha256="+hex.EncodeToString(signer.Sum(nil)):
		h.t.Errorf("signature %q", request.Header.Get(SignatureHeader))
	case err != nil:
		h.t.Errorf("event %s: %v", body, err)
	case of.Validate() != nil:
		h.t.Errorf("event %s: %v", body, of.Validate())
	}
	status := http.StatusOK
	if h.answer != nil {
		status = h.answer(of)
	}
	if status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	if status < 300 {
		h.taken = append(h.taken, of)
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: http.NoBody, Request: request}, nil
}

// told are the last parts of the types of what was taken.
func (h *hook) told(subjects ...string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := []string{}
	for _, of := range h.taken {
		if len(subjects) == 0 || of.Subject() == subjects[0] {
			names = append(names, strings.TrimPrefix(of.Type(), "kubernetes.cluster."))
		}
	}
	return names
}

// hooked is a scene with a webhook.
func hooked(t *testing.T) (*scene, *hook) {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("made-for-tests\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHook(t)
	s := newScene(t, func(set *Settings) {
		set.Webhook = Webhook{URL: "https://hook.example.com/events", SecretFile: secret, Transport: h}
	})
	return s, h
}

func (s *scene) deliver(by, step time.Duration) {
	s.t.Helper()
	for gone := time.Duration(0); gone < by; gone += step {
		s.Pass(s.t.Context())
		s.Jobs(s.t.Context())
		s.Deliver(s.t.Context())
		s.advance(step)
	}
}

func TestE01AWebhookThatIsDownForAnHour(t *testing.T) {
	t.Parallel()
	s, h := hooked(t)
	h.answer = func(event.Event) int { return []int{0, 503, 301, 404}[h.tries%4] }
	one, two := s.insert("one"), s.insert("two")
	s.deliver(10*time.Minute, 10*time.Second)
	s.state(one, managed.StateReady)
	s.delete(two)
	s.deliver(50*time.Minute, 30*time.Second)
	equal(t, "taken", []string{}, h.told())
	// Waits of 1 s doubling to 5 minutes, for each of two clusters.
	if h.tries < 30 || h.tries > 46 {
		t.Errorf("%d tries in an hour", h.tries)
	}
	h.answer = nil
	s.deliver(5*time.Minute+tick, 10*time.Second)
	equal(t, "of the one", []string{"created", "ready"}, h.told(one.ID))
	equal(t, "of the other", []string{"created", "ready", "deleting", "deleted"}, h.told(two.ID))
}

func TestE01OneRefusedEventHoldsBackItsClusterAlone(t *testing.T) {
	t.Parallel()
	s, h := hooked(t)
	one, two := s.insert("one"), s.insert("two")
	var ids []string
	h.answer = func(of event.Event) int {
		if of.Subject() == one.ID && of.Type() == "kubernetes.cluster.ready" {
			ids = append(ids, of.ID())
			return 400
		}
		return 204
	}
	s.deliver(10*time.Minute, 10*time.Second)
	s.delete(one)
	s.delete(two)
	s.deliver(10*time.Minute, 10*time.Second)
	equal(t, "of the one", []string{"created"}, h.told(one.ID))
	equal(t, "of the other", []string{"created", "ready", "deleting", "deleted"}, h.told(two.ID))
	h.answer = nil
	s.deliver(6*time.Minute, 10*time.Second)
	equal(t, "of the one", []string{"created", "ready", "deleting", "deleted"}, h.told(one.ID))
	for _, id := range ids {
		equal(t, "id of a try", ids[0], id)
	}
}

func TestE01ADeliveryWhoseAnswerIsLostIsRepeatedWithItsID(t *testing.T) {
	t.Parallel()
	s, h := hooked(t)
	s.insert("one")
	lost := false
	h.answer = func(of event.Event) int {
		if !lost {
			lost = true
			h.taken = append(h.taken, of)
			return 0
		}
		return 200
	}
	s.Deliver(t.Context())
	s.advance(time.Second)
	s.Deliver(t.Context())
	s.Deliver(t.Context())
	equal(t, "taken", []string{"created", "created"}, h.told())
	equal(t, "ids", h.taken[0].ID(), h.taken[1].ID())
}

func TestE03WhatAnEventHas(t *testing.T) {
	t.Parallel()
	s, h := hooked(t)
	row := s.ready("one")
	s.must(s.store.Publish(t.Context(), row.Issued("https://id.example.com|vera", "bc-u-0-view", managed.RoleView, time.Hour, s.now().Add(time.Hour), s.now())))
	// An event of a call that did not come to be.
	refused, created := storetest.NewCluster(t, "one", func(in *managed.CreateInput) { in.IdempotencyKey = "another" })
	if err := s.store.Insert(t.Context(), refused, 100, created); managed.CodeOf(err) != managed.Conflict {
		t.Errorf("a name twice: %v", err)
	}
	s.deliver(time.Minute, 10*time.Second)
	equal(t, "told", []string{"created", "ready", "credentials-issued"}, h.told())
	for i, of := range h.taken {
		equal(t, of.Type(), []any{"1.0", "/compute/kubernetes", row.ID, "acme", "application/json"},
			[]any{of.SpecVersion(), of.Source(), of.Subject(), of.Extensions()["tenantid"], of.DataContentType()})
		if of.Time().Before(start) || of.Time().After(s.now()) || i > 0 && of.ID() == h.taken[i-1].ID() {
			t.Errorf("%s: time %s, id %s", of.Type(), of.Time(), of.ID())
		}
	}
	var cluster managed.ClusterAnswer
	s.must(h.taken[1].DataAs(&cluster))
	equal(t, "data", []any{row.ID, managed.StateReady}, []any{cluster.ClusterID, cluster.State})
	var issued map[string]any
	s.must(h.taken[2].DataAs(&issued))
	equal(t, "K08 data", map[string]any{
		"clusterId": row.ID, "tenantId": "acme", "role": "view", "subject": "bc-u-0-view", "identity": "https://id.example.com|vera",
		"ttlSeconds": 3600.0, "expiresAt": issued["expiresAt"],
	}, issued)
}

func TestTwoRelaysDeliverOnce(t *testing.T) {
	t.Parallel()
	s, h := hooked(t)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		s.insert(name)
	}
	other := s.reconciler(s.store, s.cloud)
	var wait sync.WaitGroup
	for _, r := range []*Reconciler{s.Reconciler, other} {
		wait.Go(func() {
			for range 3 {
				r.Deliver(t.Context())
			}
		})
	}
	wait.Wait()
	s.Deliver(t.Context())
	equal(t, "taken", 10, len(h.told()))
}

func TestTheSecretIsReadAgain(t *testing.T) {
	t.Parallel()
	s, h := hooked(t)
	s.insert("one")
	s.must(os.WriteFile(s.settings.Webhook.SecretFile, nil, 0o600))
	s.Deliver(t.Context())
	equal(t, "tries without a secret", 0, h.tries)
	if !strings.Contains(s.log.String(), "is empty") {
		t.Errorf("log: %s", s.log.String())
	}
	h.secret = "another-made-for-tests"
	s.must(os.WriteFile(s.settings.Webhook.SecretFile, []byte(h.secret), 0o600))
	s.Deliver(t.Context())
	equal(t, "taken", []string{"created"}, h.told())
	if strings.Contains(s.log.String(), "made-for-tests") {
		t.Error("the secret is in the log")
	}
}

func TestWebhooksThatAreRefused(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("made-for-tests"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		webhook Webhook
		want    string
	}{
		"no file":       {Webhook{URL: "https://hook.example.com"}, "no file with its secret"},
		"no such file":  {Webhook{URL: "https://hook.example.com", SecretFile: secret + "x"}, "reading its secret"},
		"no URL":        {Webhook{URL: "hook.example.com/made-for-tests", SecretFile: secret}, "write https://"},
		"another":       {Webhook{URL: "ftp://user:made-for-tests@hook.example.com", SecretFile: secret}, "write https://"},
		"right":         {Webhook{URL: "https://hook.example.com", SecretFile: secret}, ""},
		"none is right": {Webhook{}, ""},
	} {
		_, err := New(Settings{Webhook: test.webhook}, Rooms{})
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "made-for-tests")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
