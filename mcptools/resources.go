package mcptools

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

//go:embed rules/*.md
var rules embed.FS

// rulesURI is where a tool's rules are read.
const rulesURI = "cluster-manager://tools/"

// Resource is a document that a client reads when it needs it, free of the MCP library.
type Resource struct {
	URI, Name, Title, Description string
	// Text is Markdown.
	Text string
}

// resourcesOf are the rules of tools, whole: the descriptions that every model reads have what a call needs, these have the
// rest.
func resourcesOf(list []Tool) ([]Resource, error) {
	modes, err := rules.ReadFile("rules/modes.md")
	if err != nil {
		return nil, fmt.Errorf("rules of the modes: reading: %w", err)
	}
	var found []Resource
	for _, tool := range list {
		content, err := rules.ReadFile(path.Join("rules", tool.Name+".md"))
		if err != nil {
			return nil, fmt.Errorf("rules of tool %s: reading: %w", tool.Name, err)
		}
		text := "# " + tool.Name + "\n\n" + string(content)
		if tool.Kind != Reading {
			text += "\n" + string(modes)
		}
		found = append(found, Resource{
			URI: rulesURI + tool.Name, Name: tool.Name, Title: tool.Title + ": the rules",
			Description: "What " + tool.Name + " decides and refuses, its arguments with examples, and what to do after it.", Text: text,
		})
	}
	return found, nil
}

//go:embed prompts/*.md
var promptTexts embed.FS

// Prompt is a task that a person starts by its name, free of the MCP library.
type Prompt struct {
	Name, Title, Description string
	Arguments                []PromptArgument
	// tool is the one that the task leads to: without it the prompt is not offered.
	tool string
	text string
}

// PromptArgument is what a prompt is told. Its value stands where the text has its name in braces.
type PromptArgument struct {
	Name, Description string
	Required          bool
	// before stands before a value that is given.
	before string
}

// promptsOf are the tasks that some tools can do.
func promptsOf(list []Tool) ([]Prompt, error) {
	var found []Prompt
	for _, prompt := range prompts {
		if !slices.Contains(toolNames(list), prompt.tool) {
			continue
		}
		text, err := promptTexts.ReadFile(path.Join("prompts", prompt.Name+".md"))
		if err != nil {
			return nil, fmt.Errorf("prompt %s: reading: %w", prompt.Name, err)
		}
		prompt.text = string(text)
		found = append(found, prompt)
	}
	return found, nil
}

var prompts = []Prompt{
	{
		Name: "add_gpu_pool", Title: "Add a GPU pool", Description: "Plan, show and open a GPU node pool of a cluster, step by step.", tool: "create_node_pool",
		Arguments: []PromptArgument{
			{Name: "cluster", Description: "name of the cluster", Required: true},
			{Name: "accelerator", Description: "GPU of the nodes, such as nvidia-l4; none: the default", before: ", with accelerator "},
		},
	},
	{
		Name: "retire_cluster", Title: "Retire a cluster", Description: "Show what a cluster's removal takes along, remove it, and follow it to its end.", tool: "delete_cluster",
		Arguments: []PromptArgument{
			{Name: "cluster", Description: "name of the cluster", Required: true},
			{Name: "organization", Description: "organization of the cluster", Required: true},
		},
	},
}

// Fill is the prompt's text with its arguments. The error is *clustermanager.InvalidArguments.
func (p Prompt) Fill(values map[string]string) (string, error) {
	var pairs []string
	for _, argument := range p.Arguments {
		value := strings.TrimSpace(values[argument.Name])
		if value == "" && argument.Required {
			return "", &clustermanager.InvalidArguments{Message: fmt.Sprintf("prompt %s: argument %s is missing", p.Name, argument.Name)}
		}
		if value != "" {
			value = argument.before + value
		}
		pairs = append(pairs, "{{"+argument.Name+"}}", value)
	}
	return strings.NewReplacer(pairs...).Replace(p.text), nil
}
