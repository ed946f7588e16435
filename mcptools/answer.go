package mcptools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// ReasonKey is the key of an error result's class in its _meta.
const ReasonKey = "cluster-manager/reason"

// Result is a tool's result, free of the MCP library: the texts in order, the structured content, and for an error its
// class.
type Result struct {
	// Texts are the text contents: the answer's JSON, or the error's sentence and its block.
	Texts []string
	// Structured is the answer itself; nil on an error.
	Structured any
	Reason     clustermanager.Reason
}

// resultOf makes a result of a handler's answer.
func resultOf(answer any, err error) Result {
	if err != nil {
		return errorResult(err)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	// The reader is a model or a program, not a page: ">=0.8.0" stays as it is.
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		return errorResult(fmt.Errorf("answer: encoding: %w", err))
	}
	data := bytes.TrimSpace(text.Bytes())
	return Result{Texts: []string{string(data)}, Structured: json.RawMessage(data)}
}

func errorResult(err error) Result {
	result := Result{Texts: []string{err.Error()}, Reason: clustermanager.ReasonOf(err)}
	var refusal *clustermanager.Refusal
	var notFound *clustermanager.NotFound
	blocks := map[string]any{}
	if errors.As(err, &refusal) && refusal.Block != nil {
		blocks["refused"] = refusal.Block
	}
	if errors.As(err, &notFound) && notFound.Block != nil {
		blocks["notFound"] = notFound.Block
	}
	if len(blocks) == 0 {
		return result
	}
	if block, err := json.Marshal(blocks); err == nil {
		result.Texts = append(result.Texts, string(block))
	}
	return result
}
