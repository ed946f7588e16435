package charts

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// server is a registry in this process, whose requests are recorded and may be answered by the test.
type server struct {
	*httptest.Server
	t *testing.T

	mu sync.Mutex
	// answer is asked first; true: it answered.
	answer   func(http.ResponseWriter, *http.Request) bool
	requests []string
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t}
	registry := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s.Server = httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		s.mu.Lock()
		answer := s.answer
		s.requests = append(s.requests, request.Method+" "+request.URL.RequestURI())
		s.mu.Unlock()
		if answer == nil || !answer(writer, request) {
			registry.ServeHTTP(writer, request)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) answerWith(answer func(http.ResponseWriter, *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// asked counts the requests that contain a text, and forgets all of them.
func (s *server) asked(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := 0
	for _, request := range s.requests {
		if strings.Contains(request, text) {
			count++
		}
	}
	s.requests = nil
	return count
}

func (s *server) host() string { return strings.TrimPrefix(s.URL, "http://") }

// url is the address of a chart here.
func (s *server) url(chart string) string { return "oci://" + s.host() + "/charts/" + chart }

// push publishes a chart's archive, or another image's layer, under a tag.
func (s *server) push(chart, tag, mediaType string, content []byte) {
	s.t.Helper()
	config := []byte("{}")
	for _, blob := range [][]byte{config, content} {
		s.send(http.MethodPost, fmt.Sprintf("/v2/charts/%s/blobs/uploads/?digest=%s", chart, digest(blob)), "application/octet-stream", blob)
	}
	manifest := fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":"application/vnd.cncf.helm.config.v1+json","digest":%q,"size":2},"layers":[{"mediaType":%q,"digest":%q,"size":%d}]}`,
		types.OCIManifestSchema1, digest(config), mediaType, digest(content), len(content))
	s.send(http.MethodPut, "/v2/charts/"+chart+"/manifests/"+tag, string(types.OCIManifestSchema1), []byte(manifest))
	s.asked("")
}

func (s *server) send(method, path, contentType string, body []byte) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	response, err := s.Client().Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		s.t.Fatalf("%s %s: status %d", method, path, response.StatusCode)
	}
}

func digest(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

// publish packs and pushes files as a chart at a version.
func (s *server) publish(chart, version string, files map[string]string) {
	s.t.Helper()
	all := map[string]string{"Chart.yaml": "apiVersion: v2\nname: " + chart + "\nversion: " + version + "\n"}
	maps.Copy(all, files)
	s.push(chart, strings.ReplaceAll(version, "+", "_"), contentType, pack(s.t, chart, all))
}

// pack makes an archive of files in a folder, in the order of their names.
func pack(t testing.TB, folder string, files map[string]string) []byte {
	t.Helper()
	var headers []*tar.Header
	for _, name := range slices.Sorted(maps.Keys(files)) {
		headers = append(headers, &tar.Header{Name: folder + "/" + name, Mode: 0o644, Size: int64(len(files[name])), Typeflag: tar.TypeReg})
	}
	return packEntries(t, headers, func(header *tar.Header) string { return files[strings.TrimPrefix(header.Name, folder+"/")] })
}

func packEntries(t testing.TB, headers []*tar.Header, content func(*tar.Header) string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	zipper := gzip.NewWriter(&buffer)
	writer := tar.NewWriter(zipper)
	for _, header := range headers {
		if err := writer.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(writer, content(header)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipper.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}
