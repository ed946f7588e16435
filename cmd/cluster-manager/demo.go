package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/gitops"
	"github.com/clustermanager/cluster-manager/gitops/proof"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/mcptools"
	"github.com/clustermanager/cluster-manager/render"
)

func newDemo() *cobra.Command {
	var snapshot string
	var keepRunning bool
	command := &cobra.Command{
		Use: "demo", Short: "Show the main job on fixtures, on this machine alone", Args: cobra.NoArgs,
		Long: "demo starts a server on an installation of fixtures with a local GitHub-compatible forge, acts as an MCP client, and shows\nwhat a pull request for a GPU node pool looks like from dry run to merge. It needs git and no network.",
		RunE: func(command *cobra.Command, _ []string) error {
			return runDemo(command.Context(), command.OutOrStdout(), snapshot, keepRunning)
		},
	}
	command.AddCommand(newDemoManaged())
	command.Flags().StringVar(&snapshot, "snapshot", "fixtures/installations/gazelle", "the installation's folder")
	command.Flags().BoolVar(&keepRunning, "keep-running", false, "leave server and forge running until interrupted")
	return command
}

// demo is a walk through the main job.
type demo struct {
	out     io.Writer
	started time.Time
	opened  *installation
	client  *mcptools.Client
	step    int
	// pages are the addresses of the pull requests that were opened.
	pages []string
}

func runDemo(ctx context.Context, out io.Writer, snapshot string, keepRunning bool) (err error) {
	keep, err := os.MkdirTemp("", "cluster-manager-demo-")
	if err != nil {
		return fmt.Errorf("demo folder: making: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(keep)) }()
	serveContext, stop := context.WithCancel(ctx)
	defer stop()
	type startedServer struct {
		opened   *installation
		endpoint string
	}
	ready, ended := make(chan startedServer, 1), make(chan error, 1)
	go func() {
		ended <- serve(serveContext, serveOptions{keep: keep, Resolved: settings.Resolved{Server: settings.Server{Snapshot: snapshot, Listen: "127.0.0.1:0", MCPPath: settings.DefaultMCPPath, MaxRequestBytes: settings.DefaultMaxRequestBytes}}}, io.Discard,
			func(opened *installation, endpoint string) { ready <- startedServer{opened, endpoint} })
	}()
	var server startedServer
	select {
	case server = <-ready:
	case err := <-ended:
		return err
	}
	walk := &demo{out: out, started: time.Now(), opened: server.opened}
	walkErr := walk.run(ctx, server.endpoint)
	if walkErr == nil && keepRunning {
		walk.say("\nStill running. MCP endpoint: %s   GitHub-compatible forge: %s", server.endpoint, server.opened.forge.URL())
		walk.say("Pull requests, to be opened in a browser:\n   %s", strings.Join(walk.pages, "\n   "))
		walk.say("Connect an MCP client with   {\"mcpServers\": {\"cluster-manager\": {\"type\": \"http\", \"url\": %q}}}", server.endpoint)
		walk.say("or from another terminal     bin/cluster-manager call get_info --server %s", server.endpoint)
		walk.say("Interrupt to end.")
		<-ctx.Done()
	}
	stop()
	return errors.Join(walkErr, <-ended)
}

func (d *demo) say(format string, arguments ...any) {
	_, _ = fmt.Fprintf(d.out, format+"\n", arguments...)
}

func (d *demo) heading(format string, arguments ...any) {
	d.step++
	d.say("\n%d. %s", d.step, fmt.Sprintf(format, arguments...))
}

func (d *demo) run(ctx context.Context, endpoint string) (err error) {
	d.say("Server %s on the installation of fixtures; forge %s. Every request stays on this machine.", endpoint, d.opened.forge.URL())
	if d.client, err = mcptools.Dial(ctx, endpoint, version); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.client.Close()) }()
	for _, part := range []func(context.Context) error{d.plainPool, d.sealedPool, d.refusedZone} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	d.say("\nDone in %.1f s.", time.Since(d.started).Seconds())
	return nil
}

// plainPool takes a pool of wc1 from dry run to merge and back to a re-run.
func (d *demo) plainPool(ctx context.Context) error {
	arguments := map[string]any{"cluster": "wc1", "name": "gpu-l4", "serving": false, "mode": "commit"}
	d.heading("Dry run: a GPU node pool for wc1")
	planned, err := d.create(ctx, arguments, true)
	if err != nil {
		return err
	}
	d.showPlan(planned)
	d.heading("Open its pull request, as %s", planned.Commit.Author)
	proposed, err := d.create(ctx, arguments, false)
	if err != nil {
		return err
	}
	if proposed.Commit.PullRequest == "" {
		return errors.New("demo: opening the pull request: the answer names none")
	}
	d.showPage(proposed)
	owner, name, _ := strings.Cut(proposed.Commit.Repository, "/")
	diff, err := d.opened.forge.Diff(owner, name, proposed.Commit.Number)
	if err != nil {
		return err
	}
	d.quote(diff, 24)
	d.heading("A reviewer merges it; Flux would build this tree")
	if err := d.opened.forge.Merge(owner, name, proposed.Commit.Number); err != nil {
		return err
	}
	if err := d.showTree(ctx, proposed.Commit, "wc1-gpu-l4"); err != nil {
		return err
	}
	d.heading("The same call again")
	again, err := d.create(ctx, arguments, false)
	if err != nil {
		return err
	}
	if again.Commit.PullRequest != "" {
		return fmt.Errorf("demo: re-running: opened %s, though the base holds the pool", again.Commit.PullRequest)
	}
	d.say("   %s", again.NextStep)
	return nil
}

// sealedPool opens the pull request of a pool whose registry credentials are sealed.
func (d *demo) sealedPool(ctx context.Context) error {
	d.heading("A pool for wc3, whose registry credentials go into a sealed Secret")
	proposed, err := d.create(ctx, map[string]any{"cluster": "wc3", "name": "gpu-a10g", "accelerator": "nvidia-a10g", "serving": false, "mode": "commit"}, false)
	if err != nil {
		return err
	}
	d.showPlan(proposed)
	d.showPage(proposed)
	owner, name, _ := strings.Cut(proposed.Commit.Repository, "/")
	for _, file := range proposed.Commit.Files {
		if !strings.HasSuffix(file.Path, "-secret.enc.yaml") {
			continue
		}
		content, err := d.opened.forge.File(owner, name, proposed.Commit.Branch, file.Path)
		if err != nil {
			return err
		}
		d.say("   %s:", file.Path)
		d.quote(string(content), 16)
		return nil
	}
	return errors.New("demo: opening the pull request of wc3: no sealed file in it")
}

// refusedZone shows a refusal.
func (d *demo) refusedZone(ctx context.Context) error {
	d.heading("A pool in a zone that the cluster lacks")
	_, err := d.create(ctx, map[string]any{"cluster": "wc1", "name": "gpu-zone", "zones": []string{"eu-central-1f"}, "serving": false, "mode": "commit"}, false)
	var refused *refusedCall
	if !errors.As(err, &refused) || refused.reason != clustermanager.ReasonRefused {
		return fmt.Errorf("demo: asking for an unknown zone: not refused: %w", err)
	}
	d.say("   refused: %s", refused.text)
	return nil
}

// refusedCall is a tool's error result.
type refusedCall struct {
	reason clustermanager.Reason
	text   string
}

func (r *refusedCall) Error() string { return string(r.reason) + ": " + r.text }

func (d *demo) create(ctx context.Context, arguments map[string]any, dryRun bool) (clustermanager.WriteResult, error) {
	arguments["dryRun"] = dryRun
	var answer clustermanager.WriteResult
	data, err := json.Marshal(arguments)
	if err != nil {
		return answer, err
	}
	begun := time.Now()
	var done []string
	result, err := d.client.Call(ctx, "create_node_pool", data, func(step string) { done = append(done, step) })
	if err != nil {
		return answer, err
	}
	if result.Reason != "" {
		return answer, &refusedCall{reason: result.Reason, text: result.Texts[0]}
	}
	d.say("   %s: %d ms", strings.Join(done, " → "), time.Since(begun).Milliseconds())
	if err := json.Unmarshal([]byte(result.Texts[0]), &answer); err != nil {
		return answer, fmt.Errorf("demo: reading the answer: %w", err)
	}
	return answer, nil
}

// showPage names a pull request's address, which is its page.
func (d *demo) showPage(answer clustermanager.WriteResult) {
	d.say("   %s", answer.Commit.PullRequest)
	d.pages = append(d.pages, answer.Commit.PullRequest)
}

func (d *demo) showPlan(answer clustermanager.WriteResult) {
	commit := answer.Commit
	d.say("   repository %s, branch %s, applied by Kustomization %s", commit.Repository, commit.Base, commit.Kustomization)
	for _, file := range commit.Files {
		d.say("   %-9s %s", file.Action, file.Path)
	}
	for _, object := range commit.Objects {
		d.say("   %-9s %s", object.Action, object.ObjectReference)
	}
	for _, size := range answer.Sizes {
		if size.PricePerHourUSD != nil {
			d.say("   size      %s: %d vCPU, %d GiB, %d GPU, %.4f USD an hour", size.InstanceType, size.VCPU, size.MemoryGiB, size.GPUs, *size.PricePerHourUSD)
		}
	}
	d.say("   proven    %t %s", commit.Proof.Built, commit.Proof.Note)
}

// showTree builds the base branch as Flux does and lists its objects.
func (d *demo) showTree(ctx context.Context, commit *clustermanager.CommitResult, expected string) error {
	repository, err := d.opened.resolve("https://github.com/" + commit.Repository)
	if err != nil {
		return err
	}
	repository.Branch = commit.Base
	workspace, err := gitops.Open(ctx, gitops.Options{Repository: repository, Token: d.opened.offline.Caller.GitHub.Token})
	if err != nil {
		return err
	}
	directory := path.Dir(commit.Directory)
	built, err := proof.Prove(ctx, proof.Input{
		Base: workspace.FS(), Proposed: workspace.FS(), Diff: render.Diff, Load: workspace.Load, Deadline: time.Now().Add(d.opened.offline.Settings.CommitBudget),
		Target: clustermanager.Target{Repository: repository, Path: directory, Spec: map[string]any{"path": directory}},
	})
	if err != nil {
		return err
	}
	found := false
	for _, object := range built.Built {
		d.say("   %s", clustermanager.ReferenceTo(object))
		found = found || object.GetName() == expected
	}
	if !found {
		return fmt.Errorf("demo: building the merged tree: %s is not in it", expected)
	}
	return nil
}

// quote prints the first lines of a text.
func (d *demo) quote(text string, most int) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		if i == most {
			d.say("   │ … %d more lines", len(lines)-most)
			return
		}
		d.say("   │ %s", printable(line))
	}
}
