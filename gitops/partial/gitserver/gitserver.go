// Package gitserver runs real git behind a loopback address for the tests of gitops. It serves bare repositories in a
// temporary folder by `git http-backend`, and counts and intercepts requests. It is imported by tests alone.
package gitserver

import (
	"bytes"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Server is a git host of one test.
type Server struct {
	// URL is the root: repositories are at URL/owner/name.git.
	URL string

	t       testing.TB
	root    string
	backend string
	mutex   sync.Mutex
	counts  map[string]int
	old     bool
	before  func(w http.ResponseWriter, r *http.Request) (handled bool)
}

// Repository is one bare repository of the server.
type Repository struct {
	// URL is the clone URL, Directory the bare repository's folder.
	URL       string
	Directory string

	t testing.TB
}

// New starts a server that ends with the test. Without git the test is skipped.
func New(t testing.TB) *Server {
	t.Helper()
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Skip("git is not installed: this test speaks to a real one")
	}
	server := &Server{
		t:       t,
		root:    t.TempDir(),
		backend: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		counts:  map[string]int{},
	}
	if _, err := os.Stat(server.backend); err != nil {
		t.Skip("git http-backend is not installed: this test speaks to a real one")
	}
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	server.URL = listener.URL
	return server
}

// Before sets what looks at each request first; true means that it answered.
func (s *Server) Before(handle func(w http.ResponseWriter, r *http.Request) bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.before = handle
}

// Age makes the server one that knows version 0 of the protocol alone.
func (s *Server) Age() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.old = true
}

// Count is the number of requests so far whose path ends in the suffix, such as "git-receive-pack".
func (s *Server) Count(suffix string) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.counts[suffix]
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	s.counts[r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]]++
	before := s.before
	s.mutex.Unlock()
	if before != nil && before(w, r) {
		return
	}
	s.Serve(w, r)
}

// Serve answers with git itself, past Before.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	if s.old {
		r = r.Clone(r.Context())
		r.Header.Del("Git-Protocol")
	}
	s.mutex.Unlock()
	handler := cgi.Handler{
		Path:   s.backend,
		Env:    append(environment(), "GIT_PROJECT_ROOT="+s.root, "GIT_HTTP_EXPORT_ALL=1", "GIT_PROTOCOL="+r.Header.Get("Git-Protocol")),
		Stderr: os.Stderr,
	}
	if !testing.Verbose() {
		handler.Stderr = &bytes.Buffer{}
	}
	handler.ServeHTTP(w, r)
}

// Repository makes an empty bare repository owner/name that takes partial clones and pushes.
func (s *Server) Repository(name string) *Repository {
	s.t.Helper()
	repository := &Repository{URL: s.URL + "/" + name + ".git", Directory: filepath.Join(s.root, filepath.FromSlash(name)+".git"), t: s.t}
	if err := os.MkdirAll(repository.Directory, 0o755); err != nil {
		s.t.Fatal(err)
	}
	repository.Git("init", "--quiet", "--bare", "--initial-branch=main")
	for _, setting := range []string{"uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant", "http.receivepack"} {
		repository.Git("config", setting, "true")
	}
	return repository
}

// Git runs git in the bare repository and returns its output without the last newline.
func (r *Repository) Git(arguments ...string) string {
	r.t.Helper()
	return r.Input("", arguments...)
}

// Input is Git with a standard input.
func (r *Repository) Input(input string, arguments ...string) string {
	r.t.Helper()
	command := exec.Command("git", arguments...)
	command.Dir = r.Directory
	command.Env = append(os.Environ(), environment()...)
	command.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		r.t.Fatalf("git %s: %v: %s", strings.Join(arguments, " "), err, stderr.String())
	}
	return strings.TrimSuffix(string(output), "\n")
}

// Try is Git where a failure gives "".
func (r *Repository) Try(arguments ...string) string {
	command := exec.Command("git", arguments...)
	command.Dir = r.Directory
	command.Env = append(os.Environ(), environment()...)
	output, err := command.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(output), "\n")
}

// Hook installs a shell script as a hook.
func (r *Repository) Hook(name, script string) {
	r.t.Helper()
	path := filepath.Join(r.Directory, "hooks", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

// environment keeps the machine's own git configuration out.
func environment() []string {
	return []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent"}
}
