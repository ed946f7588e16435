package mcptools

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"
)

// piped is a server on two streams, and its client's ends of them.
type piped struct {
	t     *testing.T
	in    *io.PipeWriter
	lines *bufio.Scanner
	stop  context.CancelFunc
	ended chan error
}

// newPiped serves tools on two streams; within is how long a stop may take.
func newPiped(t *testing.T, tools *Tools, within time.Duration) *piped {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	in, fromClient := io.Pipe()
	toClient, out := io.Pipe()
	made := &piped{t: t, in: fromClient, lines: bufio.NewScanner(toClient), stop: stop, ended: make(chan error, 1)}
	go func() {
		made.ended <- tools.ServeStdio(ctx, in, out, within)
		_ = out.Close()
	}()
	t.Cleanup(stop)
	return made
}

func (p *piped) say(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// hear returns the next message, nil at the end.
func (p *piped) hear() (message map[string]any) {
	p.t.Helper()
	if !p.lines.Scan() {
		return nil
	}
	if err := json.Unmarshal(p.lines.Bytes(), &message); err != nil {
		p.t.Fatal(err)
	}
	return message
}

const callWaits = `{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"waits","arguments":{}}}`

// However the streams or the process end, a call that was read is answered, and what comes after it is not begun.
func TestAStopOnTheStreamsAnswersWhatRuns(t *testing.T) {
	// The library keeps the client of the streams in a variable of its own.
	for name, end := range map[string]func(*piped){
		"a signal":       func(p *piped) { p.stop() },
		"a client's end": func(p *piped) { _ = p.in.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			fakes := newFakes(t, Options{Version: "test"})
			client := newPiped(t, fakes.Tools, time.Minute)
			client.say(callWaits)
			running := <-fakes.begun
			end(client)
			select {
			case err := <-client.ended:
				t.Fatalf("it ended at once: %v", err)
			case <-running.Done():
				t.Fatal("the call was cut off")
			case <-time.After(50 * time.Millisecond):
			}
			close(fakes.goOn)
			if answer := client.hear(); answer["id"] != 1.0 || answer["result"] == nil {
				t.Errorf("%v", answer)
			}
			if more := client.hear(); more != nil {
				t.Errorf("more came: %v", more)
			}
			if err := <-client.ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// A call that takes longer than a stop may is cut off.
func TestAStopOnTheStreamsIsBounded(t *testing.T) {
	fakes := newFakes(t, Options{Version: "test"})
	client := newPiped(t, fakes.Tools, time.Millisecond)
	client.say(callWaits)
	<-fakes.begun
	client.stop()
	for client.hear() != nil {
	}
	if err := <-client.ended; err != nil || fakes.cut.Load() != 1 {
		t.Errorf("%v, %d cut", err, fakes.cut.Load())
	}
}

func TestTheStreamsSpeakTheProtocol(t *testing.T) {
	fakes := newFakes(t, Options{Version: "test"})
	client := newPiped(t, fakes.Tools, time.Minute)
	for _, step := range []struct{ say, want string }{
		{`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`, "result"},
		{`{"jsonrpc":"2.0","id":2,"method":"ping"}`, "result"},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, "result"},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/none"}`, "error"},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"none"}}`, "error"},
		{`no JSON`, "error"},
		{`{"jsonrpc":"2.0","id":6,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}}}`, "result"},
	} {
		client.say(step.say)
		if answer := client.hear(); answer[step.want] == nil {
			t.Errorf("%s: %v", step.say, answer)
		}
	}
	// A call that is cancelled is not waited for.
	client.say(callWaits)
	<-fakes.begun
	client.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	client.stop()
	for client.hear() != nil {
	}
	if err := <-client.ended; err != nil || fakes.cut.Load() != 1 {
		t.Errorf("%v, %d cut", err, fakes.cut.Load())
	}
}
