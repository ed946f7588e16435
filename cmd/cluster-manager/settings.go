package main

import (
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clustermanager/cluster-manager/internal/settings"
)

// settingFlag holds the text of a setting's flag. It is read with the other sources, so that all faults are in one
// message.
type settingFlag struct {
	text string
	form settings.Form
}

// String implements pflag.Value.
func (f *settingFlag) String() string { return f.text }

// Set implements pflag.Value.
func (f *settingFlag) Set(text string) error {
	f.text = text
	return nil
}

// Type implements pflag.Value.
func (f *settingFlag) Type() string { return string(f.form) }

// addSettings adds the flags of the settings of some scopes to a command, each with its variable in its help. A setting
// of what is not built has a flag too, which the help leaves out: it is refused by name. The function that is returned
// gives the sources of a call: flags, environment and the file that one of them names.
func addSettings(command *cobra.Command, scopes ...settings.Scope) (sources func() []settings.Source) {
	wanted := func(setting settings.Setting) bool { return slices.Contains(scopes, setting.Scope) }
	flags := command.Flags()
	for _, setting := range settings.All() {
		if !wanted(setting) {
			continue
		}
		shorthand := ""
		if setting.Name == "verbose" {
			shorthand = "v"
		}
		flag := flags.VarPF(&settingFlag{text: setting.Default, form: setting.Form}, setting.Name, shorthand, setting.Help+" ["+setting.Variable+"]")
		flag.Hidden = !setting.Built()
		if setting.Form == settings.Boolean {
			flag.NoOptDefVal = "true"
		}
	}
	return func() []settings.Source {
		above := []settings.Source{settings.Flags(given(flags)), settings.Environment(os.Getenv, wanted)}
		if file := settings.Lookup("config", above...); file != "" {
			above = append(above, settings.File(file))
		}
		return above
	}
}

// given are the settings' flags that the command line has.
func given(flags *pflag.FlagSet) map[string]string {
	values := map[string]string{}
	flags.Visit(func(flag *pflag.Flag) {
		if _, is := flag.Value.(*settingFlag); is {
			values[flag.Name] = flag.Value.String()
		}
	})
	return values
}
