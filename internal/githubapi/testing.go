package githubapi

import (
	"net/http"
	"os"
	"sync"
	"testing"
)

// Environment is the variable that names the description's file.
const Environment = "CLUSTER_MANAGER_TEST_GITHUB_OPENAPI"

var load = sync.OnceValues(func() (*Description, error) { return Load(os.Getenv(Environment)) })

// ForTest returns the description, read once, or skips the test where there is none.
func ForTest(t testing.TB) *Description {
	t.Helper()
	if os.Getenv(Environment) == "" {
		t.Skipf("%s names no file: `make test` provides GitHub's description", Environment)
	}
	description, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return description
}

// Transport is a judge of requests and answers whose faults fail the test. Without a description it is next alone; a
// test that proves nothing then calls [ForTest].
func Transport(t testing.TB, next http.RoundTripper) http.RoundTripper {
	t.Helper()
	if os.Getenv(Environment) == "" {
		return next
	}
	report := func(fault string) { t.Error(fault) }
	description := ForTest(t)
	return description.Judge(description.JudgeAnswers(next, report), report)
}
