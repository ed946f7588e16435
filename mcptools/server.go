package mcptools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/limits"
	"github.com/clustermanager/cluster-manager/internal/telemetry"
	"github.com/clustermanager/cluster-manager/live/session"
	"github.com/clustermanager/cluster-manager/live/survey"
)

// Options are what the tools need besides their arguments.
type Options struct {
	// Version is the build's version.
	Version  string
	Settings clustermanager.Settings
	// Sessions makes a caller's clients of the installation and of workload clusters.
	Sessions *session.Sessions
	// Charts reads charts from the registry; nil: none is read.
	Charts survey.Charts
	// Resolver asks the DNS which zone a host is in; nil: none is asked, and an issuer that needs one is refused.
	Resolver survey.Resolver
	// Resolve tells which repository a GitRepository's URL means.
	Resolve func(url string) (clustermanager.GitRepository, error)
	// Transport carries git's and GitHub's requests; nil is http.DefaultTransport.
	Transport http.RoundTripper
	// Caller returns the person of a request, as the authentication middleware put them on its context.
	Caller func(ctx context.Context) (clustermanager.Caller, error)
	// Now is the clock of ages, phases and times in answers. Budgets run on real time.
	Now func() time.Time
	// CommitOffered says that callers may carry a GitHub identity, so that mode commit is offered.
	CommitOffered bool
	// NoCommit says, where mode commit is not offered, that it is not and the way out.
	NoCommit string
	// ReadOnly leaves the tools out that write; Picked, when not empty, all tools whose names it lacks.
	ReadOnly bool
	Picked   []string
	// Notes are what get_info says of this server beside what the build leaves out.
	Notes []string
	// Limits bound what one caller may ask; nil: nothing does.
	Limits *limits.Table
	// Observe begins the observation of a tool's call, and what it returns ends it; nil: nobody observes.
	Observe func(ctx context.Context, tool string) (context.Context, func(telemetry.Outcome))
	Log     *slog.Logger
}

// Tools is the set of tools over one installation.
type Tools struct {
	options Options
	// all are the build's tools, list those that are offered.
	all, list []Tool
	// resources and prompts are those of the tools that are offered.
	resources []Resource
	prompts   []Prompt
	sealer    sealer
}

// New makes the tools. A fault in a tool's declaration is an error, so the server does not start with it.
func New(options Options) (*Tools, error) {
	tools := &Tools{options: options, sealer: newSealer()}
	for _, declare := range []func() (Tool, error){
		tools.getInfo,
		tools.listClusters,
		tools.listReleases,
		tools.createCluster,
		tools.deleteCluster,
		tools.listNodePools,
		tools.createNodePool,
		tools.deleteNodePool,
		tools.enableModelServing,
		tools.disableModelServing,
		tools.removeModelCache,
		tools.listChanges,
		tools.getChange,
	} {
		tool, err := declare()
		if err != nil {
			return nil, err
		}
		tools.all = append(tools.all, tool)
	}
	var err error
	if tools.list, err = offered(tools.all, options.ReadOnly, options.Picked); err != nil {
		return tools, err
	}
	if tools.resources, err = resourcesOf(tools.list); err != nil {
		return tools, err
	}
	tools.prompts, err = promptsOf(tools.list)
	return tools, err
}

// List returns the tools in their order.
func (t *Tools) List() []Tool { return slices.Clone(t.list) }

const instructions = `cluster-manager writes Kubernetes clusters, their GPU node pools and their model serving, as the person who calls.
get_info: version, modes and tools, and what this build leaves out.
list_clusters: the clusters, what runs GPU nodes and serves models on each and how far, and the repository that owns each.
list_releases: the releases that create_cluster takes, newest first, and why another is not taken.
create_cluster: a workload cluster of an organization.
delete_cluster: removes a cluster that create_cluster made, in several calls with the same arguments; it is complete when the answer is not found.
list_node_pools: the pools of a cluster, their phase, why a node does not come, which nodes are idle.
create_node_pool: adds or updates a GPU node pool of a cluster, with GPU operator and model serving where they are missing.
delete_node_pool: removes a pool and, with the last one, GPU operator and serving; refused while its nodes are busy.
enable_model_serving, disable_model_serving: model serving of a cluster on and off, with or without a GPU pool.
remove_model_cache: deletes the claims of a cluster's model cache, and what they hold.
list_changes, get_change: the pull requests of mode commit, and whether Flux has applied a merged one.
Of a tool that writes: mode commit opens one pull request in the Git repository that owns the cluster or its organization, and dryRun shows every file and what Flux will build; mode apply writes to the installation, and dryRun shows what would change. A re-run is safe: nothing to change pushes and writes nothing, and one that was cut short goes on.
Every call runs with the caller's own rights. A refusal says why and what to do instead.
The rules of a tool, whole, with examples: resource ` + rulesURI + `<tool>.`

// Server returns the tools as an MCP server that speaks the newest revision of the protocol and the older ones.
func (t *Tools) Server() *server.MCPServer {
	mcpServer := server.NewMCPServer("cluster-manager", t.options.Version,
		server.WithToolCapabilities(false), server.WithResourceCapabilities(false, false), server.WithPromptCapabilities(false),
		server.WithInstructions(instructionsFor(instructions, t.all, t.list)), server.WithRecovery(), server.WithToolFilter(t.ordered))
	for _, tool := range t.list {
		mcpServer.AddTool(declaration(tool), t.handler(mcpServer, tool))
	}
	for _, resource := range t.resources {
		mcpServer.AddResource(mcp.Resource{URI: resource.URI, Name: resource.Name, Title: resource.Title, Description: resource.Description, MIMEType: markdown}, readResource(resource))
	}
	for _, prompt := range t.prompts {
		mcpServer.AddPrompt(promptDeclaration(prompt), getPrompt(prompt))
	}
	return mcpServer
}

const markdown = "text/markdown"

func readResource(resource Resource) server.ResourceHandlerFunc {
	return func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: resource.URI, MIMEType: markdown, Text: resource.Text}}, nil
	}
}

func promptDeclaration(prompt Prompt) mcp.Prompt {
	declared := mcp.Prompt{Name: prompt.Name, Title: prompt.Title, Description: prompt.Description}
	for _, argument := range prompt.Arguments {
		declared.Arguments = append(declared.Arguments, mcp.PromptArgument{Name: argument.Name, Description: argument.Description, Required: argument.Required})
	}
	return declared
}

func getPrompt(prompt Prompt) server.PromptHandlerFunc {
	return func(_ context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		text, err := prompt.Fill(request.Params.Arguments)
		if err != nil {
			return nil, err
		}
		return mcp.NewGetPromptResult(prompt.Description, []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))}), nil
	}
}

// ordered puts the tools of a list into their own order; the library sorts them by name.
func (t *Tools) ordered(_ context.Context, listed []mcp.Tool) []mcp.Tool {
	position := func(listed mcp.Tool) int {
		return slices.IndexFunc(t.list, func(tool Tool) bool { return tool.Name == listed.Name })
	}
	slices.SortFunc(listed, func(a, b mcp.Tool) int { return cmp.Compare(position(a), position(b)) })
	return listed
}

// Handler returns the MCP endpoint over streamable HTTP, without session state. Who may ask, and by which name of this
// server, is for what stands before it: a gateway beside the process has a request's own name for the server.
func (t *Tools) Handler(path string) http.Handler {
	return transported(server.NewStreamableHTTPServer(t.Server(), server.WithStateLess(true), server.WithEndpointPath(path),
		server.WithDisableLocalhostProtection(true), server.WithStreamableHTTPLogger(t.options.Log)))
}

// ServeStdio answers the one MCP client at the other end of the streams until they or the context end. Calls that have
// started are answered first, within the time that a stop may take.
func (t *Tools) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, stop time.Duration) error {
	open := newStdio(in, out)
	defer open.close()
	go open.feed(ctx, stop)
	err := server.NewStdioServer(t.Server()).Listen(context.WithoutCancel(ctx), open, open)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func declaration(tool Tool) mcp.Tool {
	reading, removing := tool.Kind == Reading, tool.Kind == Removing
	yes := true
	declared := mcp.Tool{Name: tool.Name, Title: tool.Title, Description: tool.Description}
	declared.RawInputSchema, declared.RawOutputSchema = tool.inputText, tool.outputText
	declared.Annotations = mcp.ToolAnnotation{
		Title: tool.Title, ReadOnlyHint: &reading, DestructiveHint: &removing, IdempotentHint: &yes, OpenWorldHint: &yes,
	}
	return declared
}

func (t *Tools) handler(mcpServer *server.MCPServer, tool Tool) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		raw := request.Params.RawArguments
		if raw == nil && request.Params.Arguments != nil {
			encoded, err := json.Marshal(request.Params.Arguments)
			if err != nil {
				return nil, fmt.Errorf("tool %s: reading the arguments: %w", tool.Name, err)
			}
			raw = encoded
		}
		ctx, observed := t.observe(ctx, tool, raw)
		defer observed.end()
		done, err := t.admit(ctx, tool)
		if err != nil {
			return toolResult(observed.ended(ctx, clustermanager.Caller{}, nil, resultOf(nil, err))), nil
		}
		defer done()
		if canBeAsked(ctx) {
			switch asked, result := t.ask(ctx, tool, raw, replyOf(request)); {
			case result != nil:
				return toolResult(observed.ended(ctx, clustermanager.Caller{}, nil, *result)), nil
			case asked != nil:
				observed.ended(ctx, clustermanager.Caller{}, nil, Result{})
				return server.NewInputRequestBuilder(asked.state).Elicit(confirmation, mcp.ElicitationParams{
					Message: asked.text, RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}},
				}).ToolResult(), nil
			}
		}
		return toolResult(t.call(ctx, observed, progress(ctx, mcpServer, request))), nil
	}
}

// confirmation is the name of the question whether a removal goes on.
const confirmation = "confirm"

// canBeAsked says whether the client declared that it asks its user: on the newest revision with each request, before it
// when it connected, which a server without session state does not know any more.
func canBeAsked(ctx context.Context) bool {
	declared := mcp.ClientCapabilities{}
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		declared = *info.ClientCapabilities
	} else if session, is := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); is {
		declared = session.GetClientCapabilities()
	}
	// A client that names no mode takes a form.
	return declared.Elicitation != nil && (declared.Elicitation.Form != nil || declared.Elicitation.URL == nil)
}

// replyOf is what the client answered to an earlier question; nil: it was not asked.
func replyOf(request mcp.CallToolRequest) *reply {
	answered := server.ElicitationResponse(request.Params.InputResponses, confirmation)
	if answered == nil {
		return nil
	}
	return &reply{state: request.Params.RequestState, accepted: answered.Action == mcp.ElicitationResponseActionAccept}
}

// call runs one tool: arguments against the schema, the caller, the handler.
func (t *Tools) call(ctx context.Context, observed *observation, report func(string)) Result {
	call := t.begun(observed.start)
	answer, err := t.answer(ctx, observed.tool, observed.raw, call, report)
	return observed.ended(ctx, call.Caller, answer, resultOf(answer, err))
}

// begun is a call that came in at a moment; its caller is not known yet.
func (t *Tools) begun(at time.Time) *Call {
	return &Call{Start: at, Now: t.options.Now(), bounds: &bounds{}}
}

func (t *Tools) answer(ctx context.Context, tool Tool, raw json.RawMessage, call *Call, report func(string)) (any, error) {
	arguments, err := checkArguments(tool, raw)
	if err != nil {
		return nil, err
	}
	if call.Caller, err = t.options.Caller(ctx); err != nil {
		return nil, err
	}
	var step string
	call.Progress = func(name string) {
		step = name
		report(name)
	}
	answer, err := tool.Handle(ctx, *call, arguments)
	return answer, call.explainTime(tool.Name, step, err)
}

func toolResult(result Result) *mcp.CallToolResult {
	answered := &mcp.CallToolResult{StructuredContent: result.Structured, IsError: result.Reason != ""}
	for _, text := range result.Texts {
		answered.Content = append(answered.Content, mcp.NewTextContent(text))
	}
	if result.Reason != "" {
		answered.Meta = &mcp.Meta{AdditionalFields: map[string]any{ReasonKey: string(result.Reason)}}
	}
	return answered
}

// progress returns a reporter of named steps: notifications for a client that sent a token, nothing for others.
func progress(ctx context.Context, mcpServer *server.MCPServer, request mcp.CallToolRequest) func(string) {
	if request.Params.Meta == nil || request.Params.Meta.ProgressToken == nil {
		return func(string) {}
	}
	done := 0
	return func(step string) {
		// A call leaves steps out, by mode and by what there is to do; the number never goes back.
		done = max(done+1, slices.Index(steps, step)+1)
		// A client that cannot be reached loses its progress and nothing else.
		_ = mcpServer.SendNotificationToClient(ctx, string(mcp.MethodNotificationProgress), map[string]any{
			"progressToken": request.Params.Meta.ProgressToken, "progress": done, "total": len(steps), "message": step,
		})
	}
}
