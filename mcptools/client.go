package mcptools

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Client calls tools over MCP: in the same process, or of a server. It speaks the newest revision of the protocol where
// the server does.
type Client struct {
	client *client.Client

	mutex sync.Mutex
	// calls counts the calls that ask for progress; listeners has what they gave, by their token.
	calls     int
	listeners map[string]func(step string)
}

// Client returns a client of the tools in this process.
func (t *Tools) Client(ctx context.Context) (*Client, error) {
	inProcess, err := client.NewInProcessClient(t.Server())
	if err != nil {
		return nil, fmt.Errorf("tools: connecting: %w", err)
	}
	return connect(ctx, inProcess, t.options.Version)
}

// Dial returns a client of the server at an MCP endpoint, such as http://127.0.0.1:8080/mcp.
func Dial(ctx context.Context, url, version string) (*Client, error) {
	remote, err := client.NewStreamableHttpClient(url)
	if err != nil {
		return nil, fmt.Errorf("server %s: connecting: %w", url, err)
	}
	return connect(ctx, remote, version)
}

func connect(ctx context.Context, mcpClient *client.Client, version string) (*Client, error) {
	if err := mcpClient.Start(ctx); err != nil {
		return nil, fmt.Errorf("MCP client: starting: %w", err)
	}
	request := mcp.InitializeRequest{}
	request.Params.ClientInfo = mcp.Implementation{Name: "cluster-manager", Version: version}
	if _, err := mcpClient.Initialize(ctx, request); err != nil {
		return nil, fmt.Errorf("MCP client: initializing: %w", err)
	}
	connected := &Client{client: mcpClient, listeners: map[string]func(string){}}
	mcpClient.OnNotification(connected.progressed)
	return connected, nil
}

// progressed hands a progress notification to the call that it belongs to.
func (c *Client) progressed(notification mcp.JSONRPCNotification) {
	if notification.Method != string(mcp.MethodNotificationProgress) {
		return
	}
	token, _ := notification.Params.AdditionalFields["progressToken"].(string)
	step, _ := notification.Params.AdditionalFields["message"].(string)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if listener := c.listeners[token]; listener != nil {
		listener(step)
	}
}

// listen gives a call's progress a token of its own until done is called.
func (c *Client) listen(listener func(step string)) (token string, done func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.calls++
	token = "call-" + strconv.Itoa(c.calls)
	c.listeners[token] = listener
	return token, func() {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		delete(c.listeners, token)
	}
}

// Close ends the connection.
func (c *Client) Close() error { return c.client.Close() }

// Tools returns the names of the server's tools, in its order.
func (c *Client) Tools(ctx context.Context) ([]string, error) {
	listed, err := c.client.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, fmt.Errorf("MCP client: listing the tools: %w", err)
	}
	names := make([]string, 0, len(listed.Tools))
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

// Call calls one tool. The arguments are a JSON object. progress gets the named steps, one after the other and none after
// Call has returned; it may be nil, and must not use the client. A tool's own
// refusal is a Result with its reason; the error is the protocol's.
func (c *Client) Call(ctx context.Context, tool string, arguments json.RawMessage, progress func(step string)) (Result, error) {
	request := mcp.CallToolRequest{}
	request.Params.Name = tool
	request.Params.Arguments = arguments
	if progress != nil {
		token, done := c.listen(progress)
		defer done()
		request.Params.Meta = &mcp.Meta{ProgressToken: token}
	}
	answered, err := c.client.CallTool(ctx, request)
	if err != nil {
		return Result{}, fmt.Errorf("tool %s: calling: %w", tool, err)
	}
	result := readResult(answered)
	if len(result.Texts) == 0 {
		return Result{}, fmt.Errorf("tool %s: reading the answer: it has no text", tool)
	}
	return result, nil
}

func readResult(answered *mcp.CallToolResult) Result {
	var result Result
	for _, content := range answered.Content {
		if text, ok := content.(mcp.TextContent); ok {
			result.Texts = append(result.Texts, text.Text)
		}
	}
	result.Structured = answered.StructuredContent
	if !answered.IsError {
		return result
	}
	result.Reason = clustermanager.ReasonError
	if answered.Meta != nil {
		if reason, ok := answered.Meta.AdditionalFields[ReasonKey].(string); ok {
			result.Reason = clustermanager.Reason(reason)
		}
	}
	return result
}
