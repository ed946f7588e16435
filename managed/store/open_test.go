package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/clustermanager/cluster-manager/managed"
)

// secondProcess makes this test binary open the database that the variable names, and end.
const secondProcess = "CLUSTER_MANAGER_TEST_SECOND_PROCESS"

func openInSecondProcess(path string) int {
	store, err := Open(context.Background(), path)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	_ = store.Close()
	return 0
}

func TestS02ASecondProcessOnTheFileIsRefused(t *testing.T) {
	t.Parallel()
	path := locations["sqlite"](t)
	s := newScene(t, path)
	row := s.insert("one")
	other := func() (string, error) {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), secondProcess+"="+path)
		said, err := command.CombinedOutput()
		return string(said), err
	}
	said, err := other()
	if err == nil || !strings.Contains(said, path) || !strings.Contains(said, ErrInUse.Error()) || !strings.Contains(said, "postgres://") {
		t.Errorf("a second process: %v, %q", err, said)
	}
	if _, err := Open(t.Context(), path); !errors.Is(err, ErrInUse) {
		t.Errorf("a second time in this process: %v", err)
	}
	// Reading goes on beside it.
	reader, err := OpenReader(t.Context(), path)
	s.must(err)
	for _, err := range reader.Hours(t.Context(), managed.HoursFilter{}) {
		s.must(err)
	}
	s.must(reader.Close())
	s.must(s.Close())
	if said, err := other(); err != nil {
		t.Errorf("after the first was closed: %v, %q", err, said)
	}
	s.Store = s.open()
	got, err := s.Cluster(t.Context(), row.ID)
	s.must(err)
	equal(t, "what was kept", row, got)
}

func TestAFileNeedsNoSpecialName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b.db", "a?b.db", "a%20b#c.db", "new/folder/ü.db"} {
		path := filepath.Join(t.TempDir(), name)
		s := newScene(t, path)
		s.insert("one")
		s.must(s.Close())
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestS02TwoProcessesStartAtOnce(t *testing.T) {
	t.Parallel()
	location := locations["postgres"](t)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			store, err := Open(t.Context(), location)
			if err != nil {
				t.Error(err)
				return
			}
			_ = store.Close()
		})
	}
	wait.Wait()
}

func TestLocationsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ location, want string }{
		"none":          {"", "none is named"},
		"another":       {"mysql://user:made-for-tests@127.0.0.1/x", "mysql://…"},
		"no URL":        {"postgres://user:made-for-tests@127.0.0.1:port/x", "cannot be read"},
		"nobody there":  {"postgres://user:made-for-tests@127.0.0.1:1/x?sslmode=disable", "cannot be reached"},
		"a folder":      {t.TempDir(), "database"},
		"no such place": {"/dev/null/managed.db", "database"},
	} {
		store, err := Open(t.Context(), test.location)
		if err == nil {
			_ = store.Close()
			t.Errorf("%s: opened", name)
			continue
		}
		if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "made-for-tests") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := OpenReader(t.Context(), filepath.Join(t.TempDir(), "none.db")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("reading what is not there: %v", err)
	}
}
