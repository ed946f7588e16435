package clustermanager_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The messages that docs/troubleshooting.md explains are the product's own.
func TestTroubleshootingQuotesMessages(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	err = fs.WalkDir(os.DirFS("."), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		source.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile(`"([^"]+)"`)
	count := 0
	for line := range strings.SplitSeq(string(page), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, phrase := range quoted.FindAllStringSubmatch(cells[1], -1) {
			// What stands between the parts differs from call to call.
			for part := range strings.SplitSeq(phrase[1], " … ") {
				count++
				if !strings.Contains(source.String(), part) {
					t.Errorf("no message says %q", part)
				}
			}
		}
	}
	if count < 20 {
		t.Errorf("%d phrases are quoted", count)
	}
}
