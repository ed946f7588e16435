package testbed

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func quiet(string, ...any) {}

func TestBuildLeavesNothingHalfDone(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		want   string
	}{
		"done":   {`echo program > OUT`, ""},
		"failed": {`echo half > OUT; echo "a compiler's words"; exit 1`, "a compiler's words"},
		"silent": {`true`, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			source, target := t.TempDir(), filepath.Join(t.TempDir(), "cache", "program")
			one := place{product{"program", []string{"sh", "-c", test.script}}, source, target}
			err := one.build(t.Context(), quiet)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("building: %v, want %q", err, test.want)
			}
			if one.missing() != (test.want != "") {
				t.Errorf("the program is missing: %t", one.missing())
			}
			expectNames(t, filepath.Dir(target), one.missing())
		})
	}
}

func TestInterruptedBuild(t *testing.T) {
	target := filepath.Join(t.TempDir(), "program")
	started := filepath.Join(t.TempDir(), "started")
	// It ends at the interrupt, as the go command does.
	script := "echo half > OUT; : > " + started + "; exec sleep 600"
	one := place{product{"program", []string{"sh", "-c", script}}, t.TempDir(), target}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- one.build(ctx, quiet) }()
	if err := Eventually(t.Context(), func(context.Context) error { _, err := os.Stat(started); return err }); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Errorf("building: %v", err)
	}
	expectNames(t, filepath.Dir(target), true)
}

// expectNames checks that a folder holds the program or nothing.
func expectNames(t *testing.T, folder string, empty bool) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[bool]int{true: 0, false: 1}[empty]; len(entries) != want {
		t.Errorf("the folder holds %v", entries)
	}
}

func TestSumTellsBuildsApart(t *testing.T) {
	folder := t.TempDir()
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sums := map[string]string{}
	for name, test := range map[string]struct{ content, flags string }{
		"first": {"module x\n", "-s"}, "other file": {"module y\n", "-s"}, "other flags": {"module x\n", "-w"},
	} {
		write(test.content)
		sum, err := module{"x", []product{{"program", goBuild(test.flags, ".")}}}.sum(folder)
		if err != nil {
			t.Fatal(err)
		}
		if twin, found := sums[sum]; found {
			t.Errorf("%s and %s have the same sum", name, twin)
		}
		sums[sum] = name
	}
}

func TestEventuallySaysWhatWasMissing(t *testing.T) {
	missing := errors.New("it is not there")
	ctx, cancel := context.WithCancel(t.Context())
	err := Eventually(ctx, func(context.Context) error { cancel(); return missing })
	if !errors.Is(err, missing) || !errors.Is(err, context.Canceled) {
		t.Errorf("waiting: %v", err)
	}
	calls := 0
	err = Eventually(t.Context(), func(context.Context) error { calls++; return final{missing} })
	if !errors.Is(err, missing) || calls != 1 {
		t.Errorf("waiting for what will not be: %v after %d calls", err, calls)
	}
}
