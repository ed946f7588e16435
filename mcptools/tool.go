package mcptools

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Kind classes a tool by what it does to the world; it yields the annotations.
type Kind int

const (
	// Reading tools change nothing.
	Reading Kind = iota
	// Adding tools create and update; a re-run changes nothing more.
	Adding
	// Removing tools delete; a re-run changes nothing more.
	Removing
)

// Tool is one tool, free of the MCP library.
type Tool struct {
	Name        string
	Title       string
	Description string
	Kind        Kind
	// Commits says that the tool takes mode commit.
	Commits bool
	// Input and Output are JSON schemas of objects.
	Input  *jsonschema.Schema
	Output *jsonschema.Schema
	// Handle answers one call; the arguments have passed the input schema.
	Handle func(ctx context.Context, call Call, arguments json.RawMessage) (any, error)

	// shallow leaves the fields of a list's entries out of what clients get of the output schema: another tool's has them.
	shallow bool

	// inputText and outputText are the schemas as clients get them, the output's shortened.
	inputText, outputText json.RawMessage
}

// Call is the circumstances of one call.
type Call struct {
	Caller clustermanager.Caller
	// Start is when the call came in; budgets count from it.
	Start time.Time
	// Now is the clock of ages and times in answers.
	Now time.Time
	// Progress tells a client that asked for it which step begins.
	Progress func(step string)

	bounds *bounds
}

// newTool completes a tool from its input and output types. The adjustments refine the input's properties by name
// with what struct tags cannot say; a name that is no property is a fault of the table.
func newTool[Input, Output any](tool Tool, adjustments map[string]func(*jsonschema.Schema),
	handle func(ctx context.Context, call Call, input Input) (Output, error),
) (Tool, error) {
	var err error
	if tool.Input, err = schemaFor[Input](); err != nil {
		return Tool{}, fmt.Errorf("tool %s: making the input schema: %w", tool.Name, err)
	}
	if tool.Output, err = schemaFor[Output](); err != nil {
		return Tool{}, fmt.Errorf("tool %s: making the output schema: %w", tool.Name, err)
	}
	for name, adjust := range adjustments {
		property, ok := tool.Input.Properties[name]
		if !ok {
			return Tool{}, fmt.Errorf("tool %s: refining the input schema: no argument %q", tool.Name, name)
		}
		adjust(property)
	}
	if tool.inputText, err = json.Marshal(tool.Input); err != nil {
		return Tool{}, fmt.Errorf("tool %s: encoding the input schema: %w", tool.Name, err)
	}
	shown := tool.Output
	if tool.shallow {
		shown = cut(shown, 1)
	}
	if tool.outputText, err = shortened(shown); err != nil {
		return Tool{}, fmt.Errorf("tool %s: encoding the output schema: %w", tool.Name, err)
	}
	tool.Handle = func(ctx context.Context, call Call, arguments json.RawMessage) (any, error) {
		var input Input
		if err := json.Unmarshal(arguments, &input); err != nil {
			return nil, &clustermanager.InvalidArguments{Message: fmt.Sprintf("tool %s: reading the arguments: %v", tool.Name, err)}
		}
		return handle(ctx, call, input)
	}
	return tool, nil
}
