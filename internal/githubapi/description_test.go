package githubapi

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestLoadKeepsLittle(t *testing.T) {
	ForTest(t)
	before := heap()
	description, err := Load(os.Getenv(Environment))
	if err != nil {
		t.Fatal(err)
	}
	kept := heap() - before
	t.Logf("%d operations with %d schemas take %d KiB", len(description.operations), len(description.schemas), kept>>10)
	if most := int64(2 << 20); kept > most {
		t.Errorf("%d bytes are kept, most %d", kept, most)
	}
	runtime.KeepAlive(description)
}

// heap is how much memory is in use.
func heap() int64 {
	var statistics runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&statistics)
	return int64(statistics.HeapAlloc)
}

func BenchmarkLoad(b *testing.B) {
	ForTest(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(os.Getenv(Environment)); err != nil {
			b.Fatal(err)
		}
	}
}

func TestLoadNamesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, test := range map[string]struct{ content, want string }{
		"empty":     {``, "reading: EOF"},
		"cut":       {`{"paths": {"/user": {`, "unexpected EOF"},
		"a list":    {`[]`, "[ instead of an object"},
		"no call":   {`{"paths": {}}`, ": not described"},
		"a pointer": {`{"paths": {` + everyCall(`{"responses": {"200": {"$ref": "#/components/responses/none"}}}`) + `}}`, "#/components/responses/none: not described"},
		"a keyword": {`{"paths": {` + everyCall(`{"responses": {"200": {"content": {"application/json": {"schema": {"pattern": "x"}}}}}}`) + `}}`, `unknown field "pattern"`},
	} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if _, err := Load(filepath.Join(folder, "absent")); err == nil {
		t.Error("an absent file was loaded")
	}
}

// everyCall describes each call in the table in the same way.
func everyCall(operation string) string {
	var paths []string
	for path, methods := range calls {
		var described []string
		for _, method := range methods {
			described = append(described, `"`+method+`": `+operation)
		}
		paths = append(paths, `"`+path+`": {`+strings.Join(described, ", ")+`}`)
	}
	return strings.Join(paths, ", ")
}
