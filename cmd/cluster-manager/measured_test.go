package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/fixtures/repos"
	"github.com/clustermanager/cluster-manager/internal/bench"
	"github.com/clustermanager/cluster-manager/internal/localforge"
	"github.com/clustermanager/cluster-manager/internal/offline"
	"github.com/clustermanager/cluster-manager/live/session"
	"github.com/clustermanager/cluster-manager/live/survey"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// measuredToken is made for the measured calls and opens nothing.
const measuredToken = "ghu_made-for-the-measured-calls"

// measuredForge is a forge with one generated repository, acme/large, that counts requests.
type measuredForge struct {
	options   repos.Options
	bare      string
	address   string
	git, api  atomic.Int64
	fetched   atomic.Int64
	directory string
	// pools counts the pools that were asked for, so that each has a name and a branch of its own.
	pools atomic.Int64
}

func newMeasuredForge(tb testing.TB, options repos.Options) *measuredForge {
	tb.Helper()
	folder := tb.TempDir()
	measured := &measuredForge{options: options, bare: filepath.Join(folder, "acme", "large.git")}
	// A cluster in the middle of the repository.
	measured.directory = options.ClusterPath(options.Clusters()*617/1000 + 1)
	bareRepository(tb, measured.bare, options)
	forge, err := localforge.New(tb.Context(), localforge.Options{Repositories: folder})
	if err != nil {
		tb.Fatal(err)
	}
	forge.AddUser(localforge.User{Login: "jane", Email: "jane@acme.example", ID: 1, Token: clustermanager.NewSecret(measuredToken), Push: true})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			measured.api.Add(1)
		} else {
			measured.git.Add(1)
			w = countedAnswer{w, &measured.fetched}
		}
		forge.ServeHTTP(w, r)
	}))
	tb.Cleanup(func() {
		server.Close()
		if err := forge.Close(); err != nil {
			tb.Error(err)
		}
	})
	measured.address = server.Listener.Addr().String()
	return measured
}

// countedAnswer counts the bytes of an answer's body.
type countedAnswer struct {
	http.ResponseWriter
	count *atomic.Int64
}

func (c countedAnswer) Write(data []byte) (int, error) {
	n, err := c.ResponseWriter.Write(data)
	c.count.Add(int64(n))
	return n, err
}

// traffic is what crossed to a forge: bytes with headers, and of git's answers the bodies.
type traffic struct {
	GitRequests, APIRequests, BytesUp, BytesDown, Fetched int64
}

func (m *measuredForge) traffic(link *bench.Link) traffic {
	up, down := link.Bytes()
	return traffic{GitRequests: m.git.Load(), APIRequests: m.api.Load(), BytesUp: up, BytesDown: down, Fetched: m.fetched.Load()}
}

func (t traffic) since(before traffic) traffic {
	return traffic{
		GitRequests: t.GitRequests - before.GitRequests, APIRequests: t.APIRequests - before.APIRequests,
		BytesUp: t.BytesUp - before.BytesUp, BytesDown: t.BytesDown - before.BytesDown, Fetched: t.Fetched - before.Fetched,
	}
}

// deleteBranches makes the repository what it was, so that the number of branches grows for nobody.
func (m *measuredForge) deleteBranches(tb testing.TB) {
	tb.Helper()
	git := func(input string, arguments ...string) string {
		command := exec.CommandContext(context.WithoutCancel(tb.Context()), "git", append([]string{"--git-dir", m.bare}, arguments...)...)
		command.Stdin = strings.NewReader(input)
		output, err := command.Output()
		if err != nil {
			tb.Fatalf("git %s: %v", arguments, err)
		}
		return string(output)
	}
	var commands strings.Builder
	for ref := range strings.FieldsSeq(git("", "for-each-ref", "--format=%(refname)", "refs/heads")) {
		if ref != "refs/heads/main" {
			fmt.Fprintf(&commands, "delete %s\n", ref)
		}
	}
	git(commands.String(), "update-ref", "--stdin")
}

// measuredOrder is one call that the measured process is asked for.
type measuredOrder struct {
	Pool   string
	DryRun bool
	// Memory asks for the peak memory, which costs time.
	Memory bool
}

// measuredCall is what one call took, as the process counts it.
type measuredCall struct {
	Answer clustermanager.WriteResult
	// Refused is an error result's text.
	Refused string
	// Whole is the call's time, Git that from the first byte fetched to the pull request.
	Whole, Git, CPU time.Duration
	// Idle is the resident memory of the idle process, Peak how much more it had at the peak, in bytes.
	Idle, Peak int64
}

// measuredProcess is a process of its own that makes calls: the test binary under the name "measured".
type measuredProcess struct {
	orders  *json.Encoder
	results *json.Decoder
	// temporary is its folder for temporary files.
	temporary string
	forge     *measuredForge
}

func startMeasured(tb testing.TB, forge *measuredForge, link *bench.Link) *measuredProcess {
	tb.Helper()
	process := &measuredProcess{temporary: tb.TempDir(), forge: forge}
	command := exec.CommandContext(context.WithoutCancel(tb.Context()), "measured", sealedSnapshot(tb, forge.directory), link.Address)
	command.Env = append(os.Environ(), "TMPDIR="+process.temporary)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := command.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = input.Close()
		if err := command.Wait(); err != nil {
			tb.Errorf("measured process: %v", err)
		}
	})
	process.orders, process.results = json.NewEncoder(input), json.NewDecoder(bufio.NewReader(output))
	return process
}

// call proposes a pool of a new name.
func (p *measuredProcess) call(order measuredOrder) (measuredCall, error) {
	order.Pool = fmt.Sprintf("gpu-%04d", p.forge.pools.Add(1))
	var call measuredCall
	if err := p.orders.Encode(order); err != nil {
		return call, err
	}
	if err := p.results.Decode(&call); err != nil {
		return call, fmt.Errorf("measured process: reading: %w", err)
	}
	if call.Refused != "" {
		return call, errors.New(call.Refused)
	}
	if commit := call.Answer.Commit; commit == nil || !commit.Proof.Built || !order.DryRun && commit.Number == 0 {
		return call, fmt.Errorf("no proven pull request: %+v", call.Answer)
	}
	return call, nil
}

// left are the files in its temporary folder.
func (p *measuredProcess) left(tb testing.TB) []string {
	tb.Helper()
	entries, err := os.ReadDir(p.temporary)
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// sealedSnapshot is gazelle with wc3, which has registry credentials, in a directory of the generated repository.
func sealedSnapshot(tb testing.TB, clusterPath string) string {
	tb.Helper()
	directory := tb.TempDir()
	if err := os.CopyFS(directory, os.DirFS(filepath.Join("..", "..", "fixtures", "installations", "gazelle"))); err != nil {
		tb.Fatal(err)
	}
	flux := filepath.Join(directory, "management", "flux-giantswarm")
	replace(tb, filepath.Join(flux, "kustomization-wc3.yaml"), "path: ./clusters/wc3", "path: ./"+clusterPath)
	replace(tb, filepath.Join(flux, "gitrepository-research.yaml"), "github.com/research/clusters", "github.com/acme/large")
	replace(tb, filepath.Join(directory, "cluster-manager.yaml"), "repos: ../../repos", "repos: none")
	return directory
}

// measuredMain is the measured process: measured SNAPSHOT ADDRESS. It makes each call that its input orders, and ends
// with the input.
func measuredMain() {
	if err := measure(context.Background(), os.Args[1], os.Args[2], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "measured process:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, snapshot, address string, input io.Reader, output io.Writer) (err error) {
	opened, err := offline.Open(ctx, offline.Options{Dir: snapshot})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	caller := opened.Caller
	caller.GitHub = &clustermanager.GitHubIdentity{Login: "jane", Token: clustermanager.NewSecret(measuredToken)}
	transport := &http.Transport{DialContext: (&net.Dialer{}).DialContext}
	tools, err := mcptools.New(mcptools.Options{
		Version: version, Settings: opened.Settings, Sessions: session.New(opened.Config(), opened.Route), Transport: transport, Now: time.Now,
		Resolve: func(url string) (clustermanager.GitRepository, error) {
			host, owner, name, err := survey.ParseGitURL(url)
			return clustermanager.GitRepository{
				Host: host, Owner: owner, Name: name,
				CloneURL: "http://" + address + "/" + owner + "/" + name + ".git", APIURL: "http://" + address + "/api/v3",
			}, err
		},
		Caller:        func(context.Context) (clustermanager.Caller, error) { return caller, nil },
		CommitOffered: true,
	})
	if err != nil {
		return err
	}
	client, err := tools.Client(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	for orders := json.NewDecoder(input); ; {
		var order measuredOrder
		switch err := orders.Decode(&order); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		// Each call finds the forge as a command does that was just started: without a connection.
		transport.CloseIdleConnections()
		call, err := measureCall(ctx, client, order)
		if err != nil {
			return err
		}
		if err := json.NewEncoder(output).Encode(call); err != nil {
			return err
		}
	}
}

func measureCall(ctx context.Context, client *mcptools.Client, order measuredOrder) (measuredCall, error) {
	arguments, err := json.Marshal(map[string]any{"cluster": "wc3", "name": order.Pool, "serving": false, "mode": "commit", "dryRun": order.DryRun})
	if err != nil {
		return measuredCall{}, err
	}
	var idle idleMemory
	if order.Memory {
		idle = rest()
	}
	cpu, start := processCPU(), time.Now()
	fetching := start
	result, err := client.Call(ctx, "create_node_pool", arguments, func(step string) {
		if step == "fetch" {
			fetching = time.Now()
		}
	})
	end := time.Now()
	if err != nil {
		return measuredCall{}, err
	}
	call := measuredCall{Whole: end.Sub(start), Git: end.Sub(fetching), CPU: processCPU() - cpu}
	if order.Memory {
		call.Idle, call.Peak = idle.resident, idle.over()
	}
	if result.Reason != "" {
		call.Refused = strings.Join(result.Texts, "\n")
		return call, nil
	}
	return call, json.Unmarshal([]byte(result.Texts[0]), &call.Answer)
}

func processCPU() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// idleMemory is the memory of this process before a call.
type idleMemory struct{ resident, held int64 }

// rest makes the process as small as an idle one, and starts the kernel's count of its peak anew.
func rest() idleMemory {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	return idleMemory{resident: statusBytes("VmRSS:"), held: heldMemory()}
}

// over is how much more the process has had since: resident memory at its peak, where the kernel counts it, else what
// Go's runtime holds, which it gives back slowly.
func (i idleMemory) over() int64 {
	if i.resident > 0 {
		return statusBytes("VmHWM:") - i.resident
	}
	return heldMemory() - i.held
}

// heldMemory is what Go's runtime has of the system and did not give back.
func heldMemory() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// statusBytes is one line of Linux's account of this process; 0 elsewhere.
func statusBytes(name string) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "\n"+name)
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kilobytes, _ := strconv.ParseInt(number, 10, 64)
	return kilobytes << 10
}
