package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/mcptools"
)

const (
	// replicaCommand is this test binary as a server that shares a forge with others.
	replicaCommand  = "cluster-manager-replica"
	replicaVariable = "CLUSTER_MANAGER_TEST_REPLICA"
)

// replicaOrder is what a replica serves.
type replicaOrder struct{ Snapshot, Forge, Token string }

// replicaReport is what a replica prints once it answers; everything after it is the program's own.
type replicaReport struct{ Endpoint, KubernetesToken string }

// forgeAt are the addresses of a forge in another process.
type forgeAt string

func (f forgeAt) CloneURL(owner, name string) string {
	return string(f) + "/" + owner + "/" + name + ".git"
}
func (f forgeAt) APIURL() string { return string(f) + "/api/v3" }

// replica is the main function of the command: serve, verbose, beside a forge that runs already.
func replica() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var order replicaOrder
	err := json.Unmarshal([]byte(os.Getenv(replicaVariable)), &order)
	if err == nil {
		forge := &outsideForge{addresses: forgeAt(order.Forge), token: clustermanager.NewSecret(order.Token)}
		err = serve(ctx, serveOptions{Resolved: settings.Resolved{Server: settings.Server{Snapshot: order.Snapshot, Listen: "127.0.0.1:0", MCPPath: "/mcp", MaxRequestBytes: 1 << 20, Verbose: true}}, forge: forge}, os.Stderr,
			func(opened *installation, endpoint string) {
				_ = json.NewEncoder(os.Stdout).Encode(replicaReport{endpoint, opened.offline.Caller.KubernetesToken.Reveal()})
			})
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// startedReplica is a replica that answers.
type startedReplica struct {
	replicaReport
	process *exec.Cmd
	output  *bufio.Reader
	errors  sink
}

// startReplica starts a process of its own over the scene's snapshot and the forge at an address.
func (s *scene) startReplica(t *testing.T, forge string) *startedReplica {
	t.Helper()
	order, err := json.Marshal(replicaOrder{s.snapshot, forge, s.forgeToken})
	if err != nil {
		t.Fatal(err)
	}
	started := &startedReplica{process: exec.Command(replicaCommand)}
	started.process.Env = append(os.Environ(), replicaVariable+"="+string(order))
	started.process.Stderr = &started.errors
	output, err := started.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started.output = bufio.NewReader(output)
	if err := started.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = started.process.Process.Kill() })
	line, err := started.output.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &started.replicaReport)
	}
	if err != nil {
		t.Fatalf("replica: %v: %s", err, started.errors.take())
	}
	return started
}

// stop ends the process as a supervisor does, and returns what it printed.
func (r *startedReplica) stop(t *testing.T) []byte {
	t.Helper()
	if err := r.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(r.output)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.process.Wait(); err != nil {
		t.Errorf("replica: %v", err)
	}
	return append(rest, r.errors.take()...)
}

// dial connects one caller.
func dial(t *testing.T, endpoint string) *mcptools.Client {
	t.Helper()
	client, err := mcptools.Dial(t.Context(), endpoint, version)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// The program itself, on everything that it prints and answers: serve with -v beside a forge that echoes, and call.
func TestNoCredentialLeavesTheProgram(t *testing.T) {
	s := newScene(t, oddCredentials)
	server := s.startReplica(t, proxied(t, s.forge.URL(), s.git))
	s.client = dial(t, proxied(t, server.Endpoint, &answering{to: s.answers}))
	results := []mcptools.Result{s.pool(t, "wc3", "gpu-l4", map[string]any{"dryRun": true}), s.pool(t, "wc3", "gpu-l4", nil)}
	for _, stage := range stages {
		s.git.answers(echoes(http.StatusForbidden, nil, "no", stage.matches))
		results = append(results, s.pool(t, "wc3", "gpu-a10g", map[string]any{"accelerator": "nvidia-a10g"}))
		s.git.answers(nil)
	}
	printed := server.stop(t)
	needles := s.needles()
	needles["the program's Kubernetes token"] = server.KubernetesToken
	if !strings.Contains(string(printed), "tool call") {
		t.Errorf("the program logged nothing: %s", printed)
	}
	for _, leak := range needles.find("what the program printed", printed) {
		t.Error(leak)
	}
	for _, leak := range needles.find("what the program answered", s.answers.take()) {
		t.Error(leak)
	}
	s.search(t, results...)
	if results[1].Reason != "" {
		t.Errorf("%s", results[1].Texts)
	}

	delete(needles, "the forge token")
	delete(needles, "the Kubernetes token")
	// The token that the program makes for its own forge.
	needles["a token of the program's own"] = "ghu_"
	for _, output := range []string{"json", "yaml", "text"} {
		command := exec.Command("cluster-manager", "call", "create_node_pool", "--snapshot", s.snapshot, "--keep", filepath.Join(s.root, "kept-"+output), "-o", output,
			"--args", `{"cluster":"wc3","name":"gpu-l4","serving":false,"mode":"commit"}`)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("call -o %s: %v: %s", output, err, out)
		}
		for _, leak := range needles.find("call -o "+output, out) {
			t.Error(leak)
		}
		for _, leak := range needles.find("the kept repository", objectsOf(t, filepath.Join(s.root, "kept-"+output, "repos", "research", "clusters.git"))) {
			t.Error(leak)
		}
	}
	s.temporary.contents(t)
}
