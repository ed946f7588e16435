package reconcile

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"golang.org/x/sync/errgroup"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/managed"
)

// SignatureHeader has the HMAC-SHA256 of an event's body, as sha256=<hex>.
const SignatureHeader = "X-Cluster-Manager-Signature-256"

const (
	// relayJob is the job of who delivers.
	relayJob = "relay"
	// deliveryDeadline is how long a webhook has for an event.
	deliveryDeadline = 10 * time.Second
	// The wait after a refusal begins at the one and doubles up to the other.
	deliveryWaitFirst = time.Second
	deliveryWaitMost  = 5 * time.Minute
	// deliveriesAtOnce are of as many clusters.
	deliveriesAtOnce = 8
)

// Webhook is where events go.
type Webhook struct {
	// URL is http or https.
	URL string
	// SecretFile holds the secret that signs; it is read again for each delivery, so that it can be replaced.
	SecretFile string
	// Transport carries the requests; nil: the default one.
	Transport http.RoundTripper
}

// relay delivers events.
type relay struct {
	webhook Webhook
	rooms   Rooms
	client  *http.Client
}

func newRelay(webhook Webhook, rooms Rooms) (*relay, error) {
	to, err := url.Parse(webhook.URL)
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		// It may have a password, so it is not repeated.
		return nil, fmt.Errorf("events webhook: its URL is none of http or https: write https://host/path")
	}
	r := &relay{webhook: webhook, rooms: rooms, client: &http.Client{
		Transport: webhook.Transport, Timeout: deliveryDeadline,
		// A redirect is no delivery: the signed body is for the host that was named.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	_, err = r.secret()
	return r, err
}

func (r *relay) secret() (clustermanager.Secret, error) {
	if r.webhook.SecretFile == "" {
		return clustermanager.Secret{}, fmt.Errorf("events webhook: no file with its secret is named: events are signed, name one")
	}
	data, err := os.ReadFile(r.webhook.SecretFile)
	if err != nil {
		return clustermanager.Secret{}, fmt.Errorf("events webhook: reading its secret: %w", err)
	}
	secret := strings.TrimSpace(string(data))
	if secret == "" {
		return clustermanager.Secret{}, fmt.Errorf("events webhook: the file %s is empty: write the secret into it", r.webhook.SecretFile)
	}
	return clustermanager.NewSecret(secret), nil
}

// Deliver delivers the events that are due now, unless another process does, or there is no webhook.
func (r *Reconciler) Deliver(ctx context.Context) {
	if r.relay == nil {
		return
	}
	if err := r.deliver(ctx); err != nil {
		r.failed(ctx, "events cannot be delivered now", err)
	}
}

func (r *Reconciler) deliver(ctx context.Context) error {
	began := r.rooms.Clock()
	waiting, err := r.rooms.Store.Waiting(ctx, began, batch)
	if err != nil || len(waiting) == 0 {
		return err
	}
	owner := r.claimant()
	taken, err := r.rooms.Store.ClaimJob(ctx, relayJob, owner, began, lease)
	if err != nil || !taken {
		return err
	}
	// What another process delivered meanwhile is not waiting any more.
	for err == nil && ctx.Err() == nil && r.rooms.Clock().Sub(began) < lease/2 {
		if waiting, err = r.rooms.Store.Waiting(ctx, r.rooms.Clock(), deliveriesAtOnce); err != nil || len(waiting) == 0 {
			break
		}
		err = r.relay.deliver(ctx, waiting)
	}
	if failed := r.rooms.Store.FinishJob(ctx, relayJob, owner, r.rooms.Clock()); err == nil {
		err = failed
	}
	return err
}

// deliver delivers events of several clusters at once. A refusal is recorded; what cannot be recorded is the error.
func (r *relay) deliver(ctx context.Context, waiting []managed.Delivery) error {
	secret, err := r.secret()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, one := range waiting {
		group.Go(func() error {
			if err := r.post(ctx, one.Body, secret); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				wait := deliveryWait(one.Failures + 1)
				r.rooms.Log.WarnContext(ctx, "the events webhook did not take an event", "event", one.ID, "cluster", one.Cluster, "failures", one.Failures+1, "wait", wait, "cause", err)
				return r.rooms.Store.Postpone(ctx, one.ID, r.rooms.Clock().Add(wait))
			}
			return r.rooms.Store.Delivered(ctx, one.ID, r.rooms.Clock())
		})
	}
	return group.Wait()
}

func (r *relay) post(ctx context.Context, body []byte, secret clustermanager.Secret) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.webhook.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	signer := hmac.New(sha256.New, []byte(secret.Reveal()))
	signer.Write(body)
	request.Header.Set("Content-Type", event.ApplicationCloudEventsJSON)
	request.Header.Set(SignatureHeader, "sha256="+hex.EncodeToString(signer.Sum(nil)))
	answer, err := r.client.Do(request)
	if err != nil {
		return withoutURL(err)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20))
	_ = answer.Body.Close()
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("it answered %s", answer.Status)
	}
	return nil
}

// deliveryWait is the wait after so many refusals in a row.
func deliveryWait(failures int) time.Duration {
	wait := deliveryWaitFirst
	for range failures - 1 {
		if wait *= 2; wait >= deliveryWaitMost {
			return deliveryWaitMost
		}
	}
	return wait
}

// withoutURL is a request's failure without the URL, which may have a password.
func withoutURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
