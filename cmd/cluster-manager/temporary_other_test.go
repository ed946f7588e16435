//go:build !linux

package main

import (
	"os"
	"testing"
)

// temporary is a folder that must be empty in the end; what came and went is seen on Linux alone.
type temporary struct{ folder string }

func watchTemporary(t *testing.T, folder string) *temporary {
	t.Helper()
	return &temporary{folder: folder}
}

func (w *temporary) settle(*testing.T) {}

func (w *temporary) contents(t *testing.T) []byte {
	t.Helper()
	entries, err := os.ReadDir(w.folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		t.Errorf("temporary file %s stays", entry.Name())
	}
	return nil
}
