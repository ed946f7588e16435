package mcptools

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// What the transport has to know of the protocol, in the names of its specification.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	// batches is the one revision with batches; a request that names none is of it.
	batches = "2025-03-26"
	// modern is the first revision without sessions, where a client cancels by closing the stream of its request.
	modern          = "2026-07-28"
	metaVersion     = "io.modelcontextprotocol/protocolVersion"
	methodCancelled = "notifications/cancelled"
	methodStart     = "initialize"
	// mostOfBatch is ours: the answers to a batch are kept until the last one is there.
	mostOfBatch    = 100
	invalidRequest = -32600
	parseError     = -32700
)

// message is what the transport reads of a message.
type message struct {
	Method string `json:"method"`
	Params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	} `json:"params"`
}

// transported stands before the library's endpoint, which serves each request on its own, and adds what needs more than
// one: a name for each client that starts as the older revisions have it, by which its cancellations find its own requests
// and nobody else's, and the batches of the one revision that has them. It opens no stream to listen on: nothing is told
// outside a request, and without sessions a stream would take what is meant for others.
func transported(endpoint http.Handler) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		switch request.Method {
		case http.MethodPost:
		case http.MethodGet:
			writer.Header().Set("Allow", http.MethodPost)
			http.Error(writer, "there is nothing to listen to: send a request", http.StatusMethodNotAllowed)
			return
		default:
			endpoint.ServeHTTP(writer, request)
			return
		}
		body, err := io.ReadAll(request.Body)
		switch {
		case err != nil:
			http.Error(writer, "the request's body could not be read", http.StatusBadRequest)
		case bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")):
			answerBatch(endpoint, writer, request, body)
		default:
			answerOne(endpoint, writer, request, body)
		}
	})
}

func answerOne(endpoint http.Handler, writer http.ResponseWriter, request *http.Request, body []byte) {
	var sent struct {
		Method string `json:"method"`
	}
	// What is no message the library refuses.
	_ = json.Unmarshal(body, &sent)
	switch {
	case sent.Method == methodCancelled && !named(request, body):
		writer.WriteHeader(http.StatusAccepted)
		return
	case sent.Method == methodStart:
		// Drawn anew and kept nowhere: any replica takes it.
		writer.Header().Set(headerSession, rand.Text())
	}
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	endpoint.ServeHTTP(writer, request)
}

// named says whether a cancellation comes from a client with a name of its own. Without one the library would look for the
// number among the requests of everybody.
func named(request *http.Request, body []byte) bool {
	var sent message
	_ = json.Unmarshal(body, &sent)
	_, isModern := sent.Params.Meta[metaVersion]
	return request.Header.Get(headerSession) != "" && !isModern && request.Header.Get(headerVersion) < modern
}

// answerBatch answers each message of a batch in turn.
func answerBatch(endpoint http.Handler, writer http.ResponseWriter, request *http.Request, body []byte) {
	var batch []json.RawMessage
	if err := json.Unmarshal(body, &batch); err != nil {
		refuseBatch(writer, parseError, "the request's body is no JSON")
		return
	}
	if fault := faultOf(batch, request.Header.Get(headerVersion)); fault != "" {
		refuseBatch(writer, invalidRequest, fault)
		return
	}
	var answers []json.RawMessage
	for _, one := range batch {
		kept := &keptAnswer{header: http.Header{}}
		answerOne(endpoint, kept, request.Clone(request.Context()), one)
		if answer := bytes.TrimSpace(kept.body.Bytes()); json.Valid(answer) {
			answers = append(answers, answer)
		}
	}
	if len(answers) == 0 {
		writer.WriteHeader(http.StatusAccepted)
		return
	}
	writeJSON(writer, http.StatusOK, answers)
}

// faultOf says why a batch is not taken; "": it is.
func faultOf(batch []json.RawMessage, version string) string {
	switch {
	case version != "" && version != batches:
		return "revision " + version + " of the protocol has no batches: send each message in a request of its own"
	case len(batch) == 0 || len(batch) > mostOfBatch:
		return fmt.Sprintf("a batch has 1 to %d messages, and this one has %d", mostOfBatch, len(batch))
	case slices.ContainsFunc(batch, starts):
		return methodStart + " is no part of a batch: send it in a request of its own"
	}
	return ""
}

func starts(one json.RawMessage) bool {
	var sent message
	return json.Unmarshal(one, &sent) == nil && sent.Method == methodStart
}

// refuseBatch answers a JSON-RPC error that belongs to no message.
func refuseBatch(writer http.ResponseWriter, code int, message string) {
	writeJSON(writer, http.StatusBadRequest, map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": message},
	})
}

func writeJSON(writer http.ResponseWriter, status int, value any) {
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(status)
	_ = json.NewEncoder(writer).Encode(value)
}

// keptAnswer keeps an answer. It cannot stream, so that notifications, which a batch has no place for, are left out.
type keptAnswer struct {
	header http.Header
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (k *keptAnswer) Header() http.Header { return k.header }

// WriteHeader implements http.ResponseWriter; the status of one message of a batch is not told.
func (k *keptAnswer) WriteHeader(int) {}

// Write implements http.ResponseWriter.
func (k *keptAnswer) Write(data []byte) (int, error) { return k.body.Write(data) }
