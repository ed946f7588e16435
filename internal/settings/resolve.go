package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Scope says who has use for a setting.
type Scope int

const (
	// Decision settings are what decisions depend on.
	Decision Scope = iota
	// Offer settings say which tools are offered.
	Offer
	// Reach settings say which installation is spoken to, and where settings are read.
	Reach
	// Listener settings are a server's own.
	Listener
)

// Setting is a row of the table.
type Setting struct {
	// Name is the flag without its dashes and the key in a file.
	Name string
	// Variable is the environment variable.
	Variable string
	Form     Form
	Scope    Scope
	// Default is the value that the setting has when no source gives one.
	Default string
	// Help is the flag's help, without the variable.
	Help string
	// later says that this build does not have what the setting is for; harmless are the values that ask for nothing.
	later    bool
	harmless []string
	take     func(*Resolved, string) error
}

// Built says whether this build has what the setting is for.
func (s Setting) Built() bool { return !s.later }

// give takes a value into what is resolved.
func (s Setting) give(resolved *Resolved, value string) error {
	if s.take == nil || value == "" && s.Form != Text {
		return nil
	}
	return s.take(resolved, value)
}

// errLater is the fault of a setting that asks for what is not built.
var errLater = errors.New("comes with a later build: leave it out")

// check holds a value against the form and against what is built.
func (s Setting) check(value string) error {
	if err := s.Form.check(value); err != nil {
		return err
	}
	if s.later && !slices.Contains(s.harmless, value) {
		return errLater
	}
	return nil
}

// fits says whether a value can be taken, also one that another source overrides.
func (s Setting) fits(value string) error {
	if err := s.check(value); err != nil {
		return err
	}
	return s.give(&Resolved{Settings: clustermanager.DefaultSettings()}, value)
}

// Resolved is what all sources together say.
type Resolved struct {
	// Settings are what decisions depend on.
	Settings clustermanager.Settings
	Server
	// Managed are those of the managed clusters API.
	Managed Managed
	// Given are the values that any source gives, by the name of their setting.
	Given map[string]string
}

// Server are the settings of one process.
type Server struct {
	Kubeconfig  string
	KubeContext string
	InCluster   bool
	// Snapshot is a folder that stands for an installation.
	Snapshot string
	ReadOnly bool
	// Tools are the names of the tools that are offered; none: all.
	Tools           []string
	Listen          string
	MCPPath         string
	MaxRequestBytes int64
	// WithoutMCP leaves the MCP endpoint out.
	WithoutMCP bool
	// CallerRate and CallerConcurrency are the tool calls a second, and at once, of one caller; 0: no limit.
	CallerRate        int
	CallerConcurrency int
	Stdio             bool
	Verbose           bool
	OAuth             OAuth
	GitHubApp         GitHubApp
}

// Resolve gives each setting the value of the first source that has one, else its default. The error names every fault
// of every source, also of values that another source overrides.
func Resolve(sources ...Source) (Resolved, error) {
	resolved := Resolved{Settings: clustermanager.DefaultSettings(), Given: map[string]string{}}
	var faults []string
	faulty := map[string]bool{}
	for _, setting := range table {
		value, from := setting.Default, "setting "+setting.Name
		for _, source := range slices.Backward(sources) {
			given, there := source.values[setting.Name]
			if !there {
				continue
			}
			if err := source.check(setting, given); err != nil {
				faults = append(faults, fmt.Sprintf("%s: %v", source.label(setting), err))
				faulty[setting.Name] = true
				continue
			}
			resolved.Given[setting.Name] = given
			if !source.aside(setting) {
				value, from = given, source.label(setting)
			}
		}
		if err := setting.give(&resolved, value); err != nil {
			faults = append(faults, fmt.Sprintf("%s: %v", from, err))
		}
	}
	faults = append(faults, resolved.completeManaged()...)
	for _, source := range sources {
		faults = append(faults, source.faults...)
	}
	faults = append(faults, resolved.completeOAuth(faulty)...)
	if len(faults) == 0 {
		faults = resolved.GitHubApp.checkTogether(resolved.MCPPath)
	}
	if len(faults) > 0 {
		return resolved, errors.New(strings.Join(faults, "; "))
	}
	return resolved, nil
}

// Lookup is the value that the first source with one gives a setting; "": none does.
func Lookup(name string, sources ...Source) string {
	for _, source := range sources {
		if value, there := source.values[name]; there {
			return value
		}
	}
	return ""
}
