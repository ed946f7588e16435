// Package manageddemo shows the managed clusters API on this machine alone: the server with SQLite, the provider's double, an
// issuer and a webhook of its own, and a clock that it moves itself.
//
// It promises that nothing leaves the machine and nothing stays behind, and that what it prints is what the server
// answered. A kubeconfig of an API server lets its credentials be tried.
package manageddemo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

// walk is the demonstration under way.
type walk struct {
	*world
	out     io.Writer
	began   time.Time
	step    int
	planned bool
	// shown is how many of the provider's requests were shown.
	shown int
}

type fields = map[string]any

// Run shows a Standard and an Autopilot cluster from create to delete. The kubeconfig is of the API server that stands for
// their control planes; empty: there is none, so credentials are refused.
func Run(ctx context.Context, out io.Writer, kubeconfig, version string) (err error) {
	began := time.Now()
	of := plane{address: nobody, authority: "made for the demo"}
	if kubeconfig != "" {
		if of, err = readPlane(kubeconfig); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	world, err := newWorld(ctx, of, version)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, world.close()) }()
	w := &walk{world: world, out: out, began: began, planned: kubeconfig != ""}
	return w.run(ctx)
}

func (w *walk) say(format string, arguments ...any) {
	_, _ = fmt.Fprintf(w.out, format+"\n", arguments...)
}

func (w *walk) heading(format string, arguments ...any) {
	w.step++
	w.say("\n%d. %s", w.step, fmt.Sprintf(format, arguments...))
}

func (w *walk) run(ctx context.Context) error {
	w.say("Server %s with SQLite; a double of Google Kubernetes Engine; %s is signed in by the demo's own issuer.", w.url, person)
	w.say("The server's clock goes as fast as it can. Every request stays on this machine.")
	standard := fields{
		"tenantId": tenant, "poolId": poolID, "name": "web", "mode": "standard", "location": "europe-west1-b", "idempotencyKey": "demo-1",
		"authorizedNetworks": []string{"127.0.0.0/8"},
		"nodePools": []any{
			fields{"name": "general", "machineType": "e2-standard-4", "nodeCount": 2},
			fields{"name": "spot", "machineType": "e2-standard-8", "nodeCount": 0, "spot": true, "autoscaling": fields{"minNodes": 0, "maxNodes": 5}},
		},
	}
	autopilot := fields{
		"tenantId": tenant, "poolId": poolID, "name": "batch", "mode": "autopilot", "location": "europe-west1", "releaseChannel": "stable", "idempotencyKey": "demo-2",
	}
	web, err := w.create(ctx, "a Standard cluster with two node pools", standard)
	if err != nil {
		return err
	}
	batch, err := w.create(ctx, "an Autopilot cluster", autopilot)
	if err != nil {
		return err
	}
	for _, part := range []func(context.Context, string) error{w.credentials, w.update, w.age, w.delete} {
		if err := part(ctx, web); err != nil {
			return err
		}
	}
	if err := w.delete(ctx, batch); err != nil {
		return err
	}
	if err := w.hours(ctx); err != nil {
		return err
	}
	w.say("\nDone in %.1f s; the server's clock says %s.", time.Since(w.began).Seconds(), w.clock.Now().Format(time.TimeOnly))
	return nil
}

// call makes a call and shows it.
func (w *walk) call(ctx context.Context, method string, body fields) (fields, error) {
	path := managed.APIPath + managed.GroupClusters + "/" + method
	answer, status, err := w.post(ctx, path, body)
	if err != nil {
		return nil, err
	}
	request, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	w.say("   POST %s\n     %s\n   %d %s", path, request, status, brief(answer))
	return answer, nil
}

func (w *walk) post(ctx context.Context, path string, body fields) (fields, int, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+path, bytes.NewReader(data))
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+w.token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer fields
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, 0, fmt.Errorf("%s: decoding the answer: %w", path, err)
	}
	return answer, response.StatusCode, nil
}

// telling are the fields of an answer that are shown; a token is not among them.
var telling = []string{
	"clusterId", "state", "message", "version", "kubernetesVersion", "nodeVersion", "endpoint", "releaseChannel", "role", "expiresAt", "error",
}

func brief(answer fields) string {
	shown := fields{}
	for _, name := range telling {
		if value := answer[name]; value != nil {
			shown[name] = value
		}
	}
	text, err := json.Marshal(shown)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (w *walk) create(ctx context.Context, what string, body fields) (string, error) {
	w.heading("Create %s", what)
	answer, err := w.call(ctx, "create", body)
	if err != nil {
		return "", err
	}
	id, is := answer["clusterId"].(string)
	if !is {
		return "", fmt.Errorf("demo: creating %s: %s", what, brief(answer))
	}
	return id, w.until(ctx, id, "ready")
}

// until lets time pass until a cluster is in a state, and shows what happens.
func (w *walk) until(ctx context.Context, id, want string) error {
	const most = 300
	before := ""
	for range most {
		answer, _, err := w.post(ctx, managed.APIPath+managed.GroupClusters+"/get", fields{"tenantId": tenant, "clusterId": id})
		if err != nil {
			return err
		}
		if state, _ := answer["state"].(string); state != before {
			before = state
			w.say("   %s %s %s", w.clock.Now().Format(time.TimeOnly), state, brief(answer))
		}
		if before == want {
			return nil
		}
		w.pass(ctx, 10*time.Second)
		w.provider()
	}
	return fmt.Errorf("demo: waiting for %s to be %s: it is %s", id, want, before)
}

// provider shows the writes that reached the provider since the last time.
func (w *walk) provider() {
	requests := w.cloud.Requests()
	for _, request := range requests[w.shown:] {
		if request.Method != http.MethodGet {
			w.say("   %s   provider: %s %s %d %s", request.At.Format(time.TimeOnly), request.Method, request.Path, request.Code, shorten(string(request.Body)))
		}
	}
	w.shown = len(requests)
}

func shorten(text string) string {
	const most = 160
	text = strings.TrimSpace(text)
	if characters := []rune(text); len(characters) > most {
		return string(characters[:most]) + "…"
	}
	return text
}

// credentials fetches a kubeconfig and tries it.
func (w *walk) credentials(ctx context.Context, id string) error {
	w.heading("Credentials to view it")
	answer, err := w.call(ctx, "credentials", fields{"tenantId": tenant, "clusterId": id, "role": "view", "ttlSeconds": 600})
	if err != nil {
		return err
	}
	if !w.planned {
		w.say("   No API server stands for its control plane here: `make testbed` builds one, which make demo-managed then uses.")
		return nil
	}
	text, _ := answer["kubeconfig"].(string)
	of, err := parsePlane([]byte(text))
	if err != nil {
		return err
	}
	for _, path := range []string{"/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/secrets"} {
		status, err := of.ask(ctx, path)
		if err != nil {
			return fmt.Errorf("demo: asking the control plane: %w", err)
		}
		w.say("   with that kubeconfig: GET %s  %s", path, status)
	}
	return nil
}

func (w *walk) update(ctx context.Context, id string) error {
	w.heading("Move it to another channel and version")
	if _, err := w.call(ctx, "update", fields{"tenantId": tenant, "clusterId": id, "releaseChannel": "rapid", "version": "1.34"}); err != nil {
		return err
	}
	return w.until(ctx, id, "ready")
}

// age lets hours pass, for the meter.
func (w *walk) age(ctx context.Context, _ string) error {
	w.heading("Two and a half hours pass")
	for range 30 {
		w.pass(ctx, 5*time.Minute)
	}
	w.provider()
	return ctx.Err()
}

func (w *walk) delete(ctx context.Context, id string) error {
	w.heading("Delete %s…", id[:12])
	if _, err := w.call(ctx, "delete", fields{"tenantId": tenant, "clusterId": id}); err != nil {
		return err
	}
	return w.until(ctx, id, "deleted")
}

// hours shows the events that the webhook took, and the hours.
func (w *walk) hours(ctx context.Context) error {
	// Each delivery lets the next of its cluster out.
	for range 5 {
		w.pass(ctx, time.Second)
	}
	w.heading("What the webhook took")
	for _, one := range w.hook.taken() {
		signature := "signed"
		if !one.signed {
			signature = "NOT SIGNED"
		}
		w.say("   %s  %-28s %s…  %s", one.Time, one.Type, one.Subject[:12], signature)
	}
	w.heading("The hours that are billed")
	for hour, err := range w.api.Store.Hours(ctx, managed.HoursFilter{Tenant: tenant}) {
		if err != nil {
			return err
		}
		line, err := json.Marshal(hour)
		if err != nil {
			return err
		}
		w.say("   %s", line)
	}
	return nil
}
