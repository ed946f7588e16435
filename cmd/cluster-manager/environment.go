package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// environment names the variable of each flag that has one.
var environment = map[string]string{
	"snapshot":          "CLUSTER_MANAGER_SNAPSHOT",
	"listen":            "CLUSTER_MANAGER_LISTEN",
	"mcp-path":          "CLUSTER_MANAGER_MCP_PATH",
	"max-request-bytes": "CLUSTER_MANAGER_MAX_REQUEST_BYTES",
	"verbose":           "CLUSTER_MANAGER_VERBOSE",
}

// bindEnvironment adds each variable's name to its flag's help, and fills flags that were not given from their
// variables before the command runs. An empty variable is unset; one that does not parse is a fault, all in one message.
func bindEnvironment(command *cobra.Command) {
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		if variable := environment[flag.Name]; variable != "" {
			flag.Usage += " [" + variable + "]"
		}
	})
	command.PreRunE = func(command *cobra.Command, _ []string) error {
		var faults []string
		command.Flags().VisitAll(func(flag *pflag.Flag) {
			value := os.Getenv(environment[flag.Name])
			if environment[flag.Name] == "" || value == "" || flag.Changed {
				return
			}
			if err := command.Flags().Set(flag.Name, value); err != nil {
				faults = append(faults, fmt.Sprintf("%s: %v", environment[flag.Name], err))
			}
		})
		if len(faults) > 0 {
			return fmt.Errorf("environment: %s", strings.Join(faults, "; "))
		}
		return nil
	}
}
