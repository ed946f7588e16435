package mcptools

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/limits"
)

// eras are the revisions that are served, the newest first; they are one endpoint's.
var eras = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"}

// fakes are tools whose calls a test holds in its hand.
type fakes struct {
	*Tools
	// begun gets each call of the tool "waits", which goes on once go is closed, or its context ends: that is counted.
	begun chan context.Context
	goOn  chan struct{}
	cut   atomic.Int32
	done  atomic.Int32
}

func newFakes(t *testing.T, options Options) *fakes {
	t.Helper()
	if options.Caller == nil {
		options.Caller = func(context.Context) (clustermanager.Caller, error) { return clustermanager.Caller{}, nil }
	}
	options.Now = time.Now
	made := &fakes{Tools: &Tools{options: options, sealer: newSealer()}, begun: make(chan context.Context, 100), goOn: make(chan struct{})}
	type answer struct {
		Text string `json:"text"`
	}
	quick, err := newTool(Tool{Name: "quick", Title: "Quick"}, nil, func(_ context.Context, call Call, _ struct{}) (answer, error) {
		call.Progress(stepSurvey)
		call.Progress(stepCompose)
		call.Progress(stepWrite)
		return answer{"done"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	waits, err := newTool(Tool{Name: "waits", Title: "Waits"}, nil, func(ctx context.Context, call Call, _ struct{}) (answer, error) {
		call.Progress(stepSurvey)
		made.begun <- ctx
		select {
		case <-made.goOn:
			made.done.Add(1)
			return answer{"waited"}, nil
		case <-ctx.Done():
			made.cut.Add(1)
			return answer{}, ctx.Err()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	made.all = []Tool{quick, waits}
	made.list = made.all
	return made
}

// serve serves the tools until the test ends.
func (f *fakes) serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(f.Handler("/mcp"))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

// posted is a request as a client of a revision sends it. The id is left out of a notification.
func posted(ctx context.Context, t *testing.T, endpoint, era, session string, id any, method string, params map[string]any) *http.Request {
	t.Helper()
	params = maps.Clone(params)
	if params == nil {
		params = map[string]any{}
	}
	header := map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": era, "Mcp-Session-Id": session,
	}
	if era == "2026-07-28" {
		meta, _ := params["_meta"].(map[string]any)
		meta = maps.Clone(meta)
		if meta == nil {
			meta = map[string]any{}
		}
		meta["io.modelcontextprotocol/protocolVersion"] = era
		meta["io.modelcontextprotocol/clientCapabilities"] = map[string]any{}
		meta["io.modelcontextprotocol/clientInfo"] = map[string]any{"name": "test", "version": "1"}
		params["_meta"] = meta
		header["Mcp-Method"] = method
		for _, key := range []string{"name", "uri"} {
			if name, is := params[key].(string); is {
				header["Mcp-Name"] = name
			}
		}
	}
	message := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if id != nil {
		message["id"] = id
	}
	return request(ctx, t, endpoint, message, header)
}

func request(ctx context.Context, t *testing.T, endpoint string, body any, header map[string]string) *http.Request {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	made, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		if value != "" {
			made.Header.Set(name, value)
		}
	}
	return made
}

// heard are the messages of an answer, in order, and its status.
func heard(t *testing.T, request *http.Request) (status int, header http.Header, messages []map[string]any) {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{string(text)}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		lines = nil
		for line := range strings.Lines(string(text)) {
			if data, is := strings.CutPrefix(line, "data: "); is {
				lines = append(lines, data)
			}
		}
	}
	for _, line := range lines {
		var message map[string]any
		if json.Unmarshal([]byte(line), &message) == nil {
			messages = append(messages, message)
		}
	}
	return response.StatusCode, response.Header, messages
}

// last is the answer's own message: its result, or its error's code.
func last(messages []map[string]any) (result map[string]any, code float64) {
	if len(messages) == 0 {
		return nil, 0
	}
	message := messages[len(messages)-1]
	result, _ = message["result"].(map[string]any)
	fault, _ := message["error"].(map[string]any)
	code, _ = fault["code"].(float64)
	return result, code
}

func TestEveryRevisionOnOneEndpoint(t *testing.T) {
	t.Parallel()
	endpoint := newFakes(t, Options{Version: "test"}).serve(t)
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			ask := func(method string, params map[string]any) (int, map[string]any, float64) {
				status, _, messages := heard(t, posted(t.Context(), t, endpoint, era, "", 7, method, params))
				result, code := last(messages)
				if len(messages) > 0 && messages[len(messages)-1]["id"] != 7.0 {
					t.Errorf("%s: the answer's id is %v", method, messages[len(messages)-1]["id"])
				}
				return status, result, code
			}
			if era == "2026-07-28" {
				_, found, _ := ask("server/discover", nil)
				if versions, _ := found["supportedVersions"].([]any); !slices.Contains(versions, any(era)) {
					t.Errorf("server/discover: %v", found)
				}
			} else {
				_, begun, _ := ask("initialize", map[string]any{"protocolVersion": era, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}})
				if begun["protocolVersion"] != era || begun["instructions"] == "" {
					t.Errorf("initialize: %v", begun)
				}
				if status, pong, code := ask("ping", nil); status != http.StatusOK || pong == nil || code != 0 {
					t.Errorf("ping: %d %v %v", status, pong, code)
				}
				status, _, _ := heard(t, posted(t.Context(), t, endpoint, era, "", nil, "notifications/initialized", nil))
				if status != http.StatusAccepted {
					t.Errorf("a notification: %d", status)
				}
			}
			if _, listed, _ := ask("tools/list", nil); len(listed["tools"].([]any)) != 2 {
				t.Errorf("tools/list: %v", listed)
			}
			_, called, _ := ask("tools/call", map[string]any{"name": "quick", "arguments": map[string]any{}})
			if content, _ := called["structuredContent"].(map[string]any); content["text"] != "done" {
				t.Errorf("tools/call: %v", called)
			}
			if _, refused, _ := ask("tools/call", map[string]any{"name": "quick", "arguments": map[string]any{"x": 1}}); refused["isError"] != true {
				t.Errorf("an argument that the tool has not: %v", refused)
			}
			if _, _, code := ask("tools/call", map[string]any{"name": "none", "arguments": map[string]any{}}); code != -32602 {
				t.Errorf("an unknown tool: %v", code)
			}
			if _, _, code := ask("tools/none", nil); code != -32601 {
				t.Errorf("an unknown method: %v", code)
			}
		})
	}
}

// What is no message of the protocol is refused as the protocol has it.
func TestWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	endpoint := newFakes(t, Options{Version: "test"}).serve(t)
	for name, test := range map[string]struct {
		body, version string
		status        int
		code          float64
	}{
		"no JSON":            {`{"jsonrpc"`, "2025-06-18", http.StatusBadRequest, -32700},
		"no JSON-RPC":        {`{"id":1,"method":"ping"}`, "2025-06-18", http.StatusOK, -32600},
		"an unknown version": {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "2020-01-01", http.StatusBadRequest, 0},
	} {
		made := request(t.Context(), t, endpoint, json.RawMessage(`{}`), map[string]string{"Content-Type": "application/json", "Mcp-Protocol-Version": test.version})
		made.Body, made.ContentLength = io.NopCloser(strings.NewReader(test.body)), int64(len(test.body))
		status, _, messages := heard(t, made)
		if _, code := last(messages); status != test.status || code != test.code {
			t.Errorf("%s: %d %v", name, status, messages)
		}
	}
	listening := request(t.Context(), t, endpoint, nil, map[string]string{"Accept": "text/event-stream"})
	listening.Method = http.MethodGet
	if status, _, _ := heard(t, listening); status != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d: a stream to listen on would take what is meant for others", status)
	}
}

// Progress arrives while the call runs, with the step's name and numbers, in every era and for nobody who did not ask.
func TestProgressComesBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			fakes := newFakes(t, Options{Version: "test"})
			endpoint := fakes.serve(t)
			withToken := func(tool string) map[string]any {
				return map[string]any{"name": tool, "arguments": map[string]any{}, "_meta": map[string]any{"progressToken": "mine"}}
			}
			response, err := http.DefaultClient.Do(posted(t.Context(), t, endpoint, era, "", 1, "tools/call", withToken("waits")))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
				t.Fatalf("the answer is %q", kind)
			}
			lines := bufio.NewScanner(response.Body)
			next := func() (message map[string]any) {
				for lines.Scan() {
					if data, is := strings.CutPrefix(lines.Text(), "data: "); is {
						if err := json.Unmarshal([]byte(data), &message); err != nil {
							t.Fatal(err)
						}
						return message
					}
				}
				t.Fatal("the stream ended")
				return nil
			}
			first := next()
			params, _ := first["params"].(map[string]any)
			if first["method"] != "notifications/progress" || params["progressToken"] != "mine" || params["message"] != "survey" || params["progress"] != 1.0 || params["total"] != 7.0 {
				t.Errorf("%v", first)
			}
			// The call is still running: nothing has let it go on.
			close(fakes.goOn)
			if answer := next(); answer["result"] == nil || answer["id"] != 1.0 {
				t.Errorf("%v", answer)
			}

			_, _, messages := heard(t, posted(t.Context(), t, endpoint, era, "", 2, "tools/call", withToken("quick")))
			var steps []string
			for _, message := range messages[:len(messages)-1] {
				params, _ := message["params"].(map[string]any)
				steps = append(steps, fmt.Sprint(params["message"], params["progress"]))
			}
			if !slices.Equal(steps, []string{"survey1", "compose2", "write7"}) {
				t.Errorf("steps %q", steps)
			}
			_, _, messages = heard(t, posted(t.Context(), t, endpoint, era, "", 3, "tools/call", map[string]any{"name": "quick", "arguments": map[string]any{}}))
			if len(messages) != 1 {
				t.Errorf("without a token: %v", messages)
			}
		})
	}
}

// A client of an older revision cancels its own request by its number, and nobody else's of the same number.
func TestACancellationFindsItsOwnRequest(t *testing.T) {
	t.Parallel()
	fakes := newFakes(t, Options{Version: "test"})
	endpoint := fakes.serve(t)
	const era = "2025-11-25"
	begin := func() string {
		_, header, _ := heard(t, posted(t.Context(), t, endpoint, era, "", 0, "initialize", map[string]any{
			"protocolVersion": era, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"},
		}))
		return header.Get("Mcp-Session-Id")
	}
	mine, another := begin(), begin()
	if mine == "" || mine == another {
		t.Fatalf("names %q and %q", mine, another)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		response, err := http.DefaultClient.Do(posted(t.Context(), t, endpoint, era, mine, 7, "tools/call", map[string]any{"name": "waits", "arguments": map[string]any{}}))
		if err == nil {
			_ = response.Body.Close()
		}
	}()
	running := <-fakes.begun
	cancel := map[string]any{"requestId": 7, "reason": "made for the test"}
	for name, made := range map[string]*http.Request{
		"another client": posted(t.Context(), t, endpoint, era, another, nil, "notifications/cancelled", cancel),
		"nobody":         posted(t.Context(), t, endpoint, era, "", nil, "notifications/cancelled", cancel),
		"the newest":     posted(t.Context(), t, endpoint, "2026-07-28", mine, nil, "notifications/cancelled", cancel),
	} {
		if status, _, _ := heard(t, made); status != http.StatusAccepted || running.Err() != nil {
			t.Fatalf("%s: status %d, the call: %v", name, status, running.Err())
		}
	}
	if status, _, _ := heard(t, posted(t.Context(), t, endpoint, era, mine, nil, "notifications/cancelled", cancel)); status != http.StatusAccepted {
		t.Errorf("status %d", status)
	}
	<-ended
	if !errors.Is(running.Err(), context.Canceled) || fakes.cut.Load() != 1 {
		t.Errorf("the call: %v", running.Err())
	}
}

// Of two calls of the newest revision that have the same number, neither can be cancelled by a message; each ends with its
// own stream.
func TestANewestClientCancelsByItsStream(t *testing.T) {
	t.Parallel()
	fakes := newFakes(t, Options{Version: "test"})
	endpoint := fakes.serve(t)
	call := func() (running context.Context, leave func(), ended chan struct{}) {
		ctx, leave := context.WithCancel(t.Context())
		ended = make(chan struct{})
		go func() {
			defer close(ended)
			response, err := http.DefaultClient.Do(posted(ctx, t, endpoint, "2026-07-28", "", 7, "tools/call", map[string]any{"name": "waits", "arguments": map[string]any{}}))
			if err == nil {
				_ = response.Body.Close()
			}
		}()
		return <-fakes.begun, leave, ended
	}
	stays, _, staysEnded := call()
	leaves, leave, leavesEnded := call()
	if status, _, _ := heard(t, posted(t.Context(), t, endpoint, "2026-07-28", "", nil, "notifications/cancelled", map[string]any{"requestId": 7})); status != http.StatusAccepted {
		t.Errorf("status %d", status)
	}
	if stays.Err() != nil || leaves.Err() != nil {
		t.Fatal("a message cancelled a call")
	}
	leave()
	<-leaves.Done()
	<-leavesEnded
	if stays.Err() != nil {
		t.Error("the other call ended too")
	}
	close(fakes.goOn)
	<-staysEnded
	if fakes.done.Load() != 1 {
		t.Error("the call that stayed was not done")
	}
}

func TestBatches(t *testing.T) {
	t.Parallel()
	endpoint := newFakes(t, Options{Version: "test"}).serve(t)
	one := func(id any, method string) map[string]any {
		message := map[string]any{"jsonrpc": "2.0", "method": method, "params": map[string]any{"name": "quick", "arguments": map[string]any{}, "_meta": map[string]any{"progressToken": 1}}}
		if id != nil {
			message["id"] = id
		}
		return message
	}
	many := slices.Repeat([]any{one(1, "ping")}, mostOfBatch+1)
	for name, test := range map[string]struct {
		body, version string
		status        int
		want          string
	}{
		"calls":              {encoded(t, []any{one(1, "tools/call"), one(nil, "notifications/initialized"), one("b", "ping"), one(3, "tools/none"), 5}), "2025-03-26", 200, `1:result b:result 3:-32601 <nil>:-32700`},
		"no version":         {encoded(t, []any{one(1, "ping")}), "", 200, `1:result`},
		"notifications":      {encoded(t, []any{one(nil, "notifications/initialized")}), "", 202, ``},
		"none":               {`[]`, "", 400, `<nil>:-32600`},
		"no JSON":            {`[{`, "", 400, `<nil>:-32700`},
		"too many":           {encoded(t, many), "", 400, `<nil>:-32600`},
		"a batch in a batch": {`[[[{"jsonrpc":"2.0","id":1,"method":"ping"}]]]`, "", 200, `<nil>:-32700`},
		"initialize":         {encoded(t, []any{one(1, "ping"), one(2, "initialize")}), "", 400, `<nil>:-32600`},
		"another revision":   {encoded(t, []any{one(1, "ping")}), "2025-06-18", 400, `<nil>:-32600`},
		"the newest":         {encoded(t, []any{one(1, "ping")}), "2026-07-28", 400, `<nil>:-32600`},
	} {
		made := request(t.Context(), t, endpoint, json.RawMessage(`{}`), map[string]string{"Content-Type": "application/json", "Mcp-Protocol-Version": test.version})
		made.Body, made.ContentLength = io.NopCloser(strings.NewReader(test.body)), int64(len(test.body))
		response, err := http.DefaultClient.Do(made)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		var answers []map[string]any
		if json.Unmarshal(text, &answers) != nil {
			var single map[string]any
			if json.Unmarshal(text, &single) == nil {
				answers = append(answers, single)
			}
		}
		var got []string
		for _, answer := range answers {
			what := "result"
			if fault, is := answer["error"].(map[string]any); is {
				what = fmt.Sprint(fault["code"])
			}
			got = append(got, fmt.Sprint(answer["id"], ":", what))
		}
		if joined := strings.Join(got, " "); response.StatusCode != test.status || joined != test.want {
			t.Errorf("%s: %d %q, want %d %q: %s", name, response.StatusCode, joined, test.status, test.want, text)
		}
	}
}

func encoded(t *testing.T, value any) string { t.Helper(); return string(encode(t, value)) }

// A caller over a limit gets a refusal that a model reads, the others and the other methods nothing of it.
func TestLimitsOfACaller(t *testing.T) {
	t.Parallel()
	type person struct{}
	fakes := newFakes(t, Options{
		Version: "test", Limits: limits.New(3, 2, func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }),
		Caller: func(ctx context.Context) (clustermanager.Caller, error) {
			token, _ := ctx.Value(person{}).(string)
			if token == "" {
				return clustermanager.Caller{}, errors.New("nobody is signed in")
			}
			return clustermanager.Caller{KubernetesToken: clustermanager.NewSecret(token)}, nil
		},
	})
	handler := fakes.Handler("/mcp")
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		handler.ServeHTTP(writer, request.WithContext(context.WithValue(request.Context(), person{}, request.Header.Get("Who"))))
	}))
	t.Cleanup(server.Close)
	made := func(era, who, method, tool string) *http.Request {
		request := posted(t.Context(), t, server.URL+"/mcp", era, "", 1, method, map[string]any{"name": tool, "arguments": map[string]any{}})
		request.Header.Set("Who", who)
		return request
	}
	call := func(era, who, tool string) string {
		status, _, messages := heard(t, made(era, who, "tools/call", tool))
		result, _ := last(messages)
		if status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
		return textOf(result)
	}
	for _, era := range eras[:2] {
		for range 2 {
			go func() {
				if response, err := http.DefaultClient.Do(made(era, "running "+era, "tools/call", "waits")); err == nil {
					_ = response.Body.Close()
				}
			}()
		}
		<-fakes.begun
		<-fakes.begun
		if got := call(era, "running "+era, "quick"); !strings.Contains(got, "quick: 2 calls of yours are running, the most that this server takes of one caller at once: wait for one of them; nothing was done; call again in 1 s") {
			t.Errorf("%s: %s", era, got)
		}
		for range 3 {
			if got := call(era, "quick "+era, "quick"); !strings.Contains(got, "done") {
				t.Errorf("%s: %s", era, got)
			}
		}
		if got := call(era, "quick "+era, "quick"); !strings.Contains(got, "quick: this server takes 3 calls a second of one caller, and you made more: nothing was done; call again in 0.4 s") {
			t.Errorf("%s: %s", era, got)
		}
		if _, _, messages := heard(t, made(era, "quick "+era, "tools/list", "")); len(messages) != 1 || messages[0]["result"] == nil {
			t.Errorf("%s: tools/list: %v", era, messages)
		}
		if got := call(era, "", "quick"); !strings.Contains(got, "nobody is signed in") {
			t.Errorf("%s: %s", era, got)
		}
	}
	close(fakes.goOn)
}
