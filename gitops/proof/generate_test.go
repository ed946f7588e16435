package proof

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSweep takes old folders of ours and nothing else.
func TestSweep(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, age := range map[string]time.Duration{
		tempPrefix + "old": 2 * time.Hour, tempPrefix + "new": time.Minute, "other": 48 * time.Hour,
	} {
		at := filepath.Join(temp, name)
		if err := errors.Join(os.MkdirAll(filepath.Join(at, "x"), 0o700), os.Chtimes(at, now, now.Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(now); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(temp, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{filepath.Join(temp, tempPrefix+"new"), filepath.Join(temp, "other")}, left); d != "" {
		t.Errorf("left (-want +got):\n%s", d)
	}
}
