package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/settings"
	"github.com/clustermanager/cluster-manager/mcptools"
)

// statuses are the exit statuses of call by the class of an error result.
var statuses = map[clustermanager.Reason]int{
	"":                                    0,
	clustermanager.ReasonInvalidArguments: 2,
	clustermanager.ReasonRefused:          3,
	clustermanager.ReasonNotFound:         4,
	clustermanager.ReasonError:            1,
}

// callOptions are the flags of call.
type callOptions struct {
	arguments string
	keep      string
	// above are the settings' sources, which win over a snapshot's file; flags are the names of those that were given.
	above  []settings.Source
	flags  []string
	server string
	now    string
	output string
}

func newCall() *cobra.Command {
	var options callOptions
	command := &cobra.Command{
		Use: "call TOOL", Short: "Call one tool and print its answer",
		Long: `call calls one tool, of the installation that the kubeconfig names, of a folder (--snapshot) or of a running server
(--server), and prints the answer.

Exit status: 0 done, 2 the arguments do not fit the tool's input schema, 3 refused, 4 not found, 1 anything else.`,
		Example: `  cluster-manager call get_info --snapshot fixtures/installations/gazelle
  cluster-manager call create_node_pool --snapshot fixtures/installations/gazelle -o json \
    --args '{"cluster":"wc1","name":"gpu-l4","serving":false,"mode":"commit","dryRun":true}'`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTools,
	}
	sources := addSettings(command, settings.Decision, settings.Offer, settings.Reach)
	flags := command.Flags()
	flags.StringVar(&options.arguments, "args", "{}", "the arguments as a JSON object, or @FILE (@- is standard input)")
	flags.StringVar(&options.keep, "keep", "", "with --snapshot: keep repositories, pull requests and written objects in this folder and go on from it")
	flags.StringVar(&options.server, "server", "", "MCP endpoint of a running server, such as http://127.0.0.1:8080/mcp")
	flags.StringVar(&options.now, "now", "", "time of the call in RFC 3339, for ages and times in answers (default: now)")
	flags.StringVarP(&options.output, "output", "o", "text", "json, yaml or text")
	command.RunE = func(command *cobra.Command, arguments []string) error {
		options.above, options.flags = sources(), slices.Sorted(maps.Keys(given(flags)))
		return call(command, arguments[0], options)
	}
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml", "text"}, cobra.ShellCompDirectiveNoFileComp))
	return command
}

func completeTools(_ *cobra.Command, arguments []string, _ string) ([]string, cobra.ShellCompDirective) {
	tools, err := mcptools.New(mcptools.Options{Version: version})
	if err != nil || len(arguments) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, tool := range tools.List() {
		names = append(names, tool.Name+"\t"+tool.Title)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func call(command *cobra.Command, tool string, options callOptions) error {
	draw, ok := outputs[options.output]
	if !ok {
		return fmt.Errorf("flag --output: %q is not one of json, yaml, text", options.output)
	}
	arguments, err := readArguments(options.arguments, command.InOrStdin())
	if err != nil {
		return err
	}
	result, err := callTool(command.Context(), tool, arguments, options, progressTo(command.ErrOrStderr()))
	// An answer is printed whatever goes wrong behind it.
	if len(result.Texts) == 0 {
		return err
	}
	if err := draw(command.OutOrStdout(), command.ErrOrStderr(), tool, result); err != nil {
		return fmt.Errorf("answer: printing: %w", err)
	}
	if err != nil {
		_, _ = fmt.Fprintln(command.ErrOrStderr(), "cluster-manager: "+err.Error())
	}
	if status := statuses[result.Reason]; status != 0 {
		return &exitError{status: status}
	}
	return nil
}

func callTool(ctx context.Context, tool string, arguments json.RawMessage, options callOptions, progress func(string)) (_ mcptools.Result, err error) {
	client, closeAll, err := connect(ctx, options)
	if err != nil {
		return mcptools.Result{}, err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	result, err := client.Call(ctx, tool, arguments, progress)
	if err != nil {
		err = explained(ctx, client, tool, err)
	}
	return result, err
}

// furthestName is how many letters a tool's name may differ by to be meant.
const furthestName = 5

// explained says of a call that failed because there is no such tool which ones there are: those with a name like it,
// else all.
func explained(ctx context.Context, client *mcptools.Client, tool string, failed error) error {
	names, err := client.Tools(ctx)
	if err != nil || slices.Contains(names, tool) {
		return failed
	}
	known := &cobra.Command{SuggestionsMinimumDistance: furthestName}
	for _, name := range names {
		known.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	if near := known.SuggestionsFor(tool); len(near) > 0 {
		return fmt.Errorf("tool %q: calling: there is none of this name here: did you mean %s?", tool, strings.Join(near, " or "))
	}
	return fmt.Errorf("tool %q: calling: there is none of this name here; there are %s", tool, strings.Join(names, ", "))
}

func connect(ctx context.Context, options callOptions) (*mcptools.Client, func() error, error) {
	if own := options.own(); options.server != "" && len(own) > 0 {
		return nil, nil, fmt.Errorf("flags --server and --%s: a running server has its own; leave one side out", strings.Join(own, ", --"))
	}
	if options.server != "" {
		client, err := mcptools.Dial(ctx, options.server, version)
		if err != nil {
			return nil, nil, err
		}
		return client, client.Close, nil
	}
	now := time.Now
	if options.now != "" {
		fixed, err := time.Parse(time.RFC3339, options.now)
		if err != nil {
			return nil, nil, fmt.Errorf("flag --now: reading %q: %w", options.now, err)
		}
		now = func() time.Time { return fixed }
	}
	resolved, err := settings.Resolve(options.above...)
	if err != nil && resolved.Snapshot == "" {
		return nil, nil, err
	}
	opened, err := options.open(ctx, resolved, now)
	if err != nil {
		return nil, nil, err
	}
	client, err := opened.tools.Client(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, opened.Close())
	}
	return client, func() error { return errors.Join(client.Close(), opened.Close()) }, nil
}

// open opens the installation that the settings name.
func (o callOptions) open(ctx context.Context, resolved settings.Resolved, now func() time.Time) (*installation, error) {
	switch {
	case resolved.Snapshot != "":
		return openSnapshot(ctx, snapshotOptions{directory: resolved.Snapshot, keep: o.keep, above: o.above, now: now})
	case o.keep != "":
		return nil, errors.New(keepNeedsSnapshot)
	}
	return openLive(liveOptions{Resolved: resolved, github: takeGitHubToken(), now: now})
}

// own are the flags given that say what a running server knows for itself.
func (o callOptions) own() []string {
	own := slices.Clone(o.flags)
	for name, value := range map[string]string{"keep": o.keep, "now": o.now} {
		if value != "" {
			own = append(own, name)
		}
	}
	return slices.Sorted(slices.Values(own))
}

func readArguments(flag string, standardInput io.Reader) (json.RawMessage, error) {
	data := []byte(flag)
	if name, isFile := strings.CutPrefix(flag, "@"); isFile {
		var err error
		if name == "-" {
			data, err = io.ReadAll(standardInput)
		} else {
			data, err = os.ReadFile(name)
		}
		if err != nil {
			return nil, fmt.Errorf("flag --args: reading: %w", err)
		}
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, &exitError{status: statuses[clustermanager.ReasonInvalidArguments], message: fmt.Sprintf("flag --args: no JSON object: %v", err)}
	}
	return data, nil
}

// progressTo prints the steps of a call for a person who waits: on a terminal alone.
func progressTo(writer io.Writer) func(string) {
	file, ok := writer.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return func(step string) { _, _ = fmt.Fprintln(writer, step+" …") }
}

// outputs are the ways to print a result.
var outputs = map[string]func(out, errOut io.Writer, tool string, result mcptools.Result) error{
	"json": func(out, _ io.Writer, _ string, result mcptools.Result) error {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(printed(result))
	},
	"yaml": func(out, _ io.Writer, _ string, result mcptools.Result) error {
		data, err := yaml.Marshal(printed(result))
		if err != nil {
			return err
		}
		_, err = out.Write(data)
		return err
	},
	"text": func(out, errOut io.Writer, tool string, result mcptools.Result) error {
		if result.Reason != "" {
			_, err := fmt.Fprintf(errOut, "%s: %s\n", result.Reason, strings.Join(result.Texts, "\n"))
			return err
		}
		return drawText(out, tool, []byte(result.Texts[0]))
	},
}

// printedResult is what -o json and -o yaml print.
type printedResult struct {
	IsError bool  `json:"isError"`
	Answer  any   `json:"answer"`
	Blocks  []any `json:"blocks"`
}

func printed(result mcptools.Result) printedResult {
	printed := printedResult{IsError: result.Reason != "", Blocks: []any{}}
	for i, text := range result.Texts {
		var value any = json.RawMessage(text)
		if !json.Valid([]byte(text)) {
			value = text
		}
		if i == 0 {
			printed.Answer = value
			continue
		}
		printed.Blocks = append(printed.Blocks, value)
	}
	return printed
}
