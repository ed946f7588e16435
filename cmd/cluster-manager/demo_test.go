package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// visitor reads what the demo prints; at its end it visits the pages that were named, and ends the demo.
type visitor struct {
	t       *testing.T
	printed bytes.Buffer
	pages   []string
	leave   context.CancelFunc
}

func (v *visitor) Write(data []byte) (int, error) {
	v.printed.Write(data)
	if !strings.Contains(string(data), "Interrupt to end.") {
		return len(data), nil
	}
	defer v.leave()
	_, end, _ := strings.Cut(v.printed.String(), "in a browser:")
	for _, address := range regexp.MustCompile(`http://\S+/pull/\d+`).FindAllString(end, -1) {
		response, err := http.Get(address)
		if err != nil {
			v.t.Error(err)
			continue
		}
		page, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			v.t.Errorf("%s: %s %v", address, response.Status, err)
		}
		_ = response.Body.Close()
		v.pages = append(v.pages, string(page))
	}
	return len(data), nil
}

func TestDemoNamesPagesThatAnswer(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	out := &visitor{t: t, leave: leave}
	if err := runDemo(ctx, out, filepath.Join("..", "..", "fixtures", "installations", "gazelle"), true); err != nil {
		t.Fatalf("%v\n%s", err, out.printed.String())
	}
	if len(out.pages) != 2 || !strings.Contains(out.pages[0], "Merged by jane") || !strings.Contains(out.pages[1], "<button>Merge pull request</button>") {
		t.Errorf("%d pages: %s", len(out.pages), out.printed.String())
	}
	for _, page := range out.pages {
		if !strings.Contains(page, "<summary>Objects that change:") {
			t.Errorf("its sections are not shown:\n%s", page)
		}
	}
}
