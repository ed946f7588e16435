package bench_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/clustermanager/cluster-manager/internal/bench"
)

func TestLinkCountsAndIsSlow(t *testing.T) {
	const roundTrip = 40 * time.Millisecond
	body := strings.Repeat("x", 200_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	link := bench.NewLink(t, server.Listener.Addr().String(), roundTrip)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	// A new connection costs a round trip, each request one.
	for count, least := range []time.Duration{2 * roundTrip, roundTrip} {
		start := time.Now()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+link.Address, strings.NewReader(body[:50_000]))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(response.Body)
		if err != nil || string(got) != body {
			t.Errorf("%d bytes came, %v", len(got), err)
		}
		_ = response.Body.Close()
		if took := time.Since(start); took < least {
			t.Errorf("request %d took %s, at least %s", count, took, least)
		}
	}
	up, down := link.Bytes()
	if up < 100_000 || up > 102_000 || down < 400_000 || down > 402_000 {
		t.Errorf("%d bytes up, %d down", up, down)
	}
}

// What a command used is its own, however large the process that starts it is.
func TestMeterCountsTheCommandAlone(t *testing.T) {
	ballast := make([]byte, 200<<20)
	for i := range ballast {
		ballast[i] = 1
	}
	meter := bench.NewMeter(t)
	usage, err := meter.Run(exec.CommandContext(t.Context(), "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"))
	if err != nil {
		t.Fatal(err)
	}
	if usage.Peak < 100<<10 || usage.Peak > 64<<20 || usage.CPU <= 0 {
		t.Errorf("%+v", usage)
	}
	if ballast[len(ballast)-1] != 1 {
		t.Error("the ballast is gone")
	}
	if _, err := meter.Run(exec.CommandContext(t.Context(), "sh", "-c", "echo reason >&2; exit 3")); err == nil || !strings.Contains(err.Error(), "reason") {
		t.Errorf("error %v", err)
	}
}
