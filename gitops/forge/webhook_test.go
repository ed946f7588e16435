package forge_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops/forge"
)

var webhookSecret = clustermanager.NewSecret("webhook-secret-made-for-this-test")

const delivery = `{"action":"closed","number":7,"repository":{"id":5,"full_name":"acme/fleet","clone_url":"https://github.com/acme/fleet.git"},"installation":{"id":9}}`

func sign(body string) string {
	mac := hmac.New(sha256.New, []byte(webhookSecret.Reveal()))
	_, _ = mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func deliver(webhook http.Handler, event, id, body, signature string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, "/github/webhook", strings.NewReader(body))
	request.Header.Set("X-GitHub-Event", event)
	request.Header.Set("X-GitHub-Delivery", id)
	request.Header.Set("X-Hub-Signature-256", signature)
	recorder := httptest.NewRecorder()
	webhook.ServeHTTP(recorder, request)
	return recorder
}

// Only a delivery whose very bytes are signed, that is of interest and comes for the first time, is handed on.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	var taken []forge.Event
	webhook := forge.NewWebhook(webhookSecret, func(event forge.Event, finished func(bool)) error {
		taken = append(taken, event)
		finished(true)
		return nil
	}, nil)
	large := `{"padding":"` + strings.Repeat("x", 5<<20) + `"}`
	for _, test := range []struct {
		name, event, id, body, signature string
		status, taken                    int
	}{
		{"signed", "pull_request", "a-1", delivery, sign(delivery), 202, 1},
		{"replayed", "pull_request", "a-1", delivery, sign(delivery), 202, 0},
		{"another one", "pull_request", "a-2", delivery, sign(delivery), 202, 1},
		{"a byte more", "pull_request", "a-3", delivery + " ", sign(delivery), 401, 0},
		{"unsigned", "pull_request", "a-4", delivery, "", 401, 0},
		{"the older signature", "pull_request", "a-5", delivery, "sha1=" + strings.TrimPrefix(sign(delivery), "sha256="), 401, 0},
		{"a part of it", "pull_request", "a-6", delivery, sign(delivery)[:20], 401, 0},
		{"no interest", "issues", "a-7", delivery, sign(delivery), 202, 0},
		{"ping", "ping", "a-8", delivery, sign(delivery), 202, 0},
		{"a tag", "push", "a-9", strings.Replace(delivery, `"action":"closed"`, `"ref":"refs/tags/v1"`, 1), sign(strings.Replace(delivery, `"action":"closed"`, `"ref":"refs/tags/v1"`, 1)), 202, 0},
		{"no JSON", "push", "b-1", "payload=%7B%7D", sign("payload=%7B%7D"), 400, 0},
		{"no installation", "pull_request", "b-2", strings.Replace(delivery, `"id":9`, `"id":0`, 1), sign(strings.Replace(delivery, `"id":9`, `"id":0`, 1)), 400, 0},
		{"a repository that is none", "pull_request", "b-3", strings.Replace(delivery, "acme/fleet\"", "acme/../x\"", 1), sign(strings.Replace(delivery, "acme/fleet\"", "acme/../x\"", 1)), 400, 0},
		{"no id", "pull_request", "", delivery, sign(delivery), 400, 0},
		{"too large", "push", "b-4", large, sign(large), 413, 0},
	} {
		before := len(taken)
		answer := deliver(webhook, test.event, test.id, test.body, test.signature)
		if answer.Code != test.status || len(taken)-before != test.taken {
			t.Errorf("%s: status %d, taken %d: %s", test.name, answer.Code, len(taken)-before, answer.Body)
		}
		if bytes.Contains(answer.Body.Bytes(), []byte(webhookSecret.Reveal())) {
			t.Errorf("%s: the secret is in the answer", test.name)
		}
	}
	if len(taken) == 0 || taken[0] != (forge.Event{Kind: "pull_request", Delivery: "a-1", Action: "closed", Number: 7, Host: "github.com", Owner: "acme", Name: "fleet", CloneURL: "https://github.com/acme/fleet.git", ID: 5, Installation: 9}) {
		t.Errorf("taken: %+v", taken)
	}
	if get := httptest.NewRecorder(); true {
		webhook.ServeHTTP(get, httptest.NewRequest(http.MethodGet, "/github/webhook", nil))
		if get.Code != http.StatusMethodNotAllowed {
			t.Errorf("GET: %d", get.Code)
		}
	}
}

// GitHub redelivers what failed under the id that it had.
func TestADeliveryThatFailedComesAgain(t *testing.T) {
	t.Parallel()
	outcomes := []func(func(bool)) error{
		func(func(bool)) error { return forge.ErrBusy },
		func(finished func(bool)) error { finished(false); return nil },
		func(finished func(bool)) error { finished(true); return nil },
	}
	calls := 0
	webhook := forge.NewWebhook(webhookSecret, func(_ forge.Event, finished func(bool)) error {
		calls++
		return outcomes[calls-1](finished)
	}, nil)
	for i, status := range []int{503, 202, 202, 202} {
		if answer := deliver(webhook, "pull_request", "c-1", delivery, sign(delivery)); answer.Code != status {
			t.Errorf("delivery %d: %d", i, answer.Code)
		}
	}
	if calls != 3 {
		t.Errorf("%d were taken", calls)
	}
}

// A server without a secret takes nothing, also what an empty key signs.
func TestNoSecretTakesNothing(t *testing.T) {
	t.Parallel()
	webhook := forge.NewWebhook(clustermanager.Secret{}, func(forge.Event, func(bool)) error { t.Error("taken"); return nil }, nil)
	mac := hmac.New(sha256.New, nil)
	_, _ = mac.Write([]byte(delivery))
	if answer := deliver(webhook, "pull_request", "d-1", delivery, "sha256="+hex.EncodeToString(mac.Sum(nil))); answer.Code != http.StatusUnauthorized {
		t.Errorf("status %d", answer.Code)
	}
}
