package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clustermanager/cluster-manager/internal/localforge"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"cluster-manager": main, replicaCommand: replica, "measured": measuredMain})
}

// Each script is one promise of the command line; its first lines say which.
func TestScripts(t *testing.T) {
	fixtures, err := filepath.Abs(filepath.Join("..", "..", "fixtures"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:  filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status, "live": liveInScript, "copytree": copyTree, "merge": mergeKept, "appliedat": appliedAt},
		Setup: func(env *testscript.Env) error {
			env.Setenv("GAZELLE", filepath.Join(fixtures, "installations", "gazelle"))
			env.Setenv("FIXTURES", fixtures)
			env.Setenv("TMPDIR", filepath.Join(env.WorkDir, ".tmp"))
			return os.MkdirAll(filepath.Join(env.WorkDir, ".tmp"), 0o700)
		},
	})
}

// status runs a command and wants its exit status: status 3 cluster-manager call ….
func status(script *testscript.TestScript, negated bool, arguments []string) {
	if negated || len(arguments) < 2 {
		script.Fatalf("usage: status NUMBER COMMAND [ARGUMENT …]")
	}
	err := script.Exec(arguments[1], arguments[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		script.Fatalf("%s: running: %v", arguments[1], err)
	}
	if strconv.Itoa(got) != arguments[0] {
		script.Fatalf("exit status %d, want %s", got, arguments[0])
	}
}

// copyTree copies what a folder holds into another: copytree FROM TO.
func copyTree(script *testscript.TestScript, negated bool, arguments []string) {
	if negated || len(arguments) != 2 {
		script.Fatalf("usage: copytree FROM TO")
	}
	script.Check(os.CopyFS(script.MkAbs(arguments[1]), os.DirFS(script.MkAbs(arguments[0]))))
}

// mergeKept merges a pull request of acme/fleet on the forge of a kept folder: merge KEEP NUMBER.
func mergeKept(script *testscript.TestScript, negated bool, arguments []string) {
	if negated || len(arguments) != 2 {
		script.Fatalf("usage: merge KEEP NUMBER")
	}
	number, err := strconv.Atoi(arguments[1])
	script.Check(err)
	forge := keptForge(script, arguments[0])
	script.Check(forge.Merge("acme", "fleet", number))
	script.Check(forge.Close())
}

// appliedAt lets a Kustomization of the fixtures have applied what main of acme/fleet is at: appliedat KEEP FILE.
func appliedAt(script *testscript.TestScript, negated bool, arguments []string) {
	if negated || len(arguments) != 2 {
		script.Fatalf("usage: appliedat KEEP FILE")
	}
	output, err := exec.Command("git", "--git-dir", script.MkAbs(filepath.Join(arguments[0], "repos", "acme", "fleet.git")), "rev-parse", "main").Output()
	script.Check(err)
	file := script.MkAbs(arguments[1])
	content := strings.ReplaceAll(script.ReadFile(file), strings.Repeat("0", 40), strings.TrimSpace(string(output)))
	script.Check(os.WriteFile(file, []byte(content), 0o600))
}

func keptForge(script *testscript.TestScript, folder string) *localforge.Forge {
	kept := script.MkAbs(folder)
	forge, err := localforge.New(context.Background(), localforge.Options{Repositories: filepath.Join(kept, "repos"), State: filepath.Join(kept, "forge.json")})
	script.Check(err)
	return forge
}
