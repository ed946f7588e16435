package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clustermanager/cluster-manager/mcptools"
)

func TestToolsDocumentIsUpToDate(t *testing.T) {
	tools, err := mcptools.New(mcptools.Options{Version: version})
	if err != nil {
		t.Fatal(err)
	}
	var document bytes.Buffer
	if err := writeTools(&document, tools.List()); err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile(filepath.Join("..", "..", "docs", "tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(committed), document.String()); diff != "" {
		t.Errorf("docs/tools.md is not what the tools say; run make tools-doc (-committed +tools):\n%s", diff)
	}
}
