package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/clustermanager/cluster-manager/mcptools"
)

func newTools() *cobra.Command {
	return &cobra.Command{
		Use: "tools", Short: "Print the tools as a model reads them, in Markdown", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			tools, err := mcptools.New(mcptools.Options{Version: version})
			if err != nil {
				return err
			}
			return writeTools(command.OutOrStdout(), tools.List())
		},
	}
}

func writeTools(out io.Writer, tools []mcptools.Tool) error {
	if _, err := fmt.Fprint(out, "# Tools\n\nMade by `make tools-doc`.\n"); err != nil {
		return err
	}
	for _, tool := range tools {
		schemas := make([]string, 2)
		for i, schema := range []any{tool.Input, tool.Output} {
			data, err := json.MarshalIndent(schema, "", "  ")
			if err != nil {
				return fmt.Errorf("tool %s: printing a schema: %w", tool.Name, err)
			}
			schemas[i] = string(data)
		}
		_, err := fmt.Fprintf(out, "\n## %s\n\n%s.\n\n%s\n\nInput:\n\n```json\n%s\n```\n\nOutput:\n\n```json\n%s\n```\n",
			tool.Name, tool.Title, tool.Description, schemas[0], schemas[1])
		if err != nil {
			return err
		}
	}
	return nil
}
