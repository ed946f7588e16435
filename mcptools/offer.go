package mcptools

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// offered are the tools that the settings read-only and tools leave, in their own order. A name that is no tool's is a
// fault, and so is a choice that leaves none.
func offered(all []Tool, readOnly bool, picked []string) ([]Tool, error) {
	var faults []error
	for _, name := range picked {
		if !slices.ContainsFunc(all, func(tool Tool) bool { return tool.Name == name }) {
			faults = append(faults, fmt.Errorf("setting tools: %q is no tool of this build: it has %s", name, strings.Join(toolNames(all), ", ")))
		}
	}
	left := slices.DeleteFunc(slices.Clone(all), func(tool Tool) bool {
		return readOnly && tool.Kind != Reading || len(picked) > 0 && !slices.Contains(picked, tool.Name)
	})
	if len(left) == 0 && len(faults) == 0 {
		faults = append(faults, errors.New("settings tools and read-only: together they leave no tool: take one of them out"))
	}
	return left, errors.Join(faults...)
}

// instructionsFor are the server's instructions without the lines of tools that are not offered.
func instructionsFor(text string, all, left []Tool) string {
	lines := strings.Split(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		name, _, _ := strings.Cut(line, ":")
		return slices.Contains(toolNames(all), name) && !slices.Contains(toolNames(left), name)
	}), "\n")
}

func toolNames(tools []Tool) []string {
	var found []string
	for _, tool := range tools {
		found = append(found, tool.Name)
	}
	return found
}
