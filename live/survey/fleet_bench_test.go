package survey_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/bench"
	"github.com/clustermanager/cluster-manager/internal/offline"
	"github.com/clustermanager/cluster-manager/live/survey"
)

// replay is a network of API servers in memory: what each of them answered once it answers again, after the latency. So
// a fleet of any size is measured without a connection for each of its requests.
type replay struct {
	mu      sync.Mutex
	answers map[string]*replayed
	// ahead bounds the requests that are asked of the real server while the answers are not there yet.
	ahead chan struct{}
	// slow has the latency on; dead is the server that never answers.
	slow bool
	dead string
}

type replayed struct {
	response http.Response
	body     []byte
}

func newReplay() *replay {
	return &replay{answers: map[string]*replayed{}, ahead: make(chan struct{}, 16)}
}

func (r *replay) around(server string, next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		key := server + request.URL.RequestURI() + request.Header.Get("Accept")
		r.mu.Lock()
		answer, dead, slow := r.answers[key], r.dead == server, r.slow
		r.mu.Unlock()
		switch {
		case dead:
			<-request.Context().Done()
			return nil, request.Context().Err()
		case answer == nil:
			return r.record(key, request, next)
		case slow:
			time.Sleep(latency)
		}
		return answer.again(request), nil
	})
}

func (r *replay) record(key string, request *http.Request, next http.RoundTripper) (*http.Response, error) {
	r.ahead <- struct{}{}
	defer func() { <-r.ahead }()
	response, err := next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	if err := response.Body.Close(); err != nil {
		return nil, err
	}
	made := &replayed{*response, body}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[key] = made
	return made.again(request), err
}

func (a *replayed) again(request *http.Request) *http.Response {
	response := a.response
	response.Request, response.Body = request, io.NopCloser(bytes.NewReader(a.body))
	return &response
}

// benchFleet is an installation of so many clusters like wc1, each with an API server.
func benchFleet(clusters int) (*small, *replay) {
	network := newReplay()
	made := &small{management: wc1Management, clusters: map[string]string{}, around: network.around}
	made.names = []clustermanager.NamespacedName{{Namespace: "org-giantswarm", Name: "gazelle"}, {Namespace: "org-acme", Name: "wc1"}}
	for number := range clusters - 1 {
		made.names = append(made.names, clustermanager.NamespacedName{Namespace: "org-more", Name: fmt.Sprintf("c%03d", number)})
	}
	for _, name := range made.names[1:] {
		made.clusters[name.Name] = "{apiVersion: v1, kind: Namespace, metadata: {name: default}}\n" + wc1Target
	}
	return made, network
}

// BenchmarkFleet reads every cluster of an installation whose API servers take 20 ms to answer, beside the same reads
// one by one.
func BenchmarkFleet(b *testing.B) {
	for _, workload := range []struct {
		clusters    int
		unreachable bool
	}{{1, false}, {50, false}, {50, true}, {500, false}} {
		b.Run(fmt.Sprintf("clusters=%d/unreachable=%t", workload.clusters, workload.unreachable), func(b *testing.B) {
			if testing.Short() && workload.clusters > 50 {
				b.Skip("the large installation is left out with -short")
			}
			snapshot, network := benchFleet(workload.clusters)
			installation := snapshot.open(b)
			read := func(ctx context.Context) error { return readWhole(ctx, b, snapshot, installation, workload.clusters+1) }
			if err := read(b.Context()); err != nil {
				b.Fatal(err)
			}
			network.slow = true
			if workload.unreachable {
				network.dead = "c000"
			}
			ways := []bench.Way{withRequests(bench.Ours(func() error { return read(b.Context()) }), snapshot)}
			if workload.clusters <= 50 && !workload.unreachable {
				ways = append(ways, oneByOne(network))
			}
			bench.Interleave(b, ways...)
		})
	}
}

func readWhole(ctx context.Context, b *testing.B, snapshot *small, installation *offline.Installation, want int) error {
	fleet, err := snapshot.connect(b, installation).Clusters(ctx, survey.Page{})
	if err == nil && len(fleet.Clusters) != want {
		err = fmt.Errorf("%d clusters, want %d", len(fleet.Clusters), want)
	}
	return err
}

// withRequests reports how many requests a way makes.
func withRequests(way bench.Way, snapshot *small) bench.Way {
	run := way.Run
	way.Run = func(b *testing.B) {
		snapshot.mu.Lock()
		before := len(snapshot.requests)
		snapshot.mu.Unlock()
		run(b)
		snapshot.mu.Lock()
		defer snapshot.mu.Unlock()
		b.ReportMetric(float64(len(snapshot.requests)-before)/float64(b.N), "requests/op")
	}
	return way
}

// oneByOne makes the same requests, each after the answer to the one before.
func oneByOne(network *replay) bench.Way {
	return bench.Way{Name: "one-by-one", Run: func(b *testing.B) {
		for b.Loop() {
			for _, answer := range network.answers {
				time.Sleep(latency)
				_, _ = io.Copy(io.Discard, bytes.NewReader(answer.body))
			}
		}
		b.ReportMetric(float64(len(network.answers)), "requests/op")
	}}
}
