package charts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAChartIsRead(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	server.publish("serving", "1.2.3+build.4", map[string]string{
		"values.yaml": "a: 1\nb: {c: [x]}\n", "values.schema.json": `{"type":"object"}`, "charts/cluster/files/one.yaml": "one",
	})
	// The registry of the fleet is asked at the address that stands for it.
	registry := New(Options{Address: func(host string) string {
		if host != "registry.example.com" {
			t.Errorf("asked for the address of %s", host)
		}
		return server.host()
	}})
	chart, err := registry.Chart(t.Context(), "oci://registry.example.com/charts/serving", "1.2.3+build.4")
	if err != nil {
		t.Fatal(err)
	}
	values, there, err := chart.Values()
	if err != nil || !there {
		t.Fatal(there, err)
	}
	got := []any{chart.URL, chart.Name, chart.Version, values, string(chart.Schema()), string(chart.Files["charts/cluster/files/one.yaml"])}
	want := []any{
		"oci://registry.example.com/charts/serving", "serving", "1.2.3+build.4", map[string]any{"a": 1.0, "b": map[string]any{"c": []any{"x"}}},
		`{"type":"object"}`, "one",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(chart.Digest, "sha256:") {
		t.Errorf("digest %q", chart.Digest)
	}
}

func TestAChartWithoutValuesOrSchemaSaysSo(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	server.publish("bare", "1.0.0", nil)
	server.publish("broken", "1.0.0", map[string]string{"values.yaml": "- a\n"})
	bare, err := New(Options{}).Chart(t.Context(), server.url("bare"), "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if values, there, err := bare.Values(); values != nil || there || err != nil || bare.Schema() != nil {
		t.Errorf("values %v %v %v, schema %s", values, there, err, bare.Schema())
	}
	broken, err := New(Options{}).Chart(t.Context(), server.url("broken"), "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := broken.Values(); err == nil || !strings.HasSuffix(err.Error(), "broken 1.0.0: reading its values.yaml: no mapping of YAML") {
		t.Errorf("values: %v", err)
	}
}

// A tag may move, so it is asked for each time; what a digest names is fetched once.
func TestACachedChartIsFetchedOnce(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	server.publish("serving", "1.0.0", map[string]string{"values.yaml": "a: 1\n"})
	registry := New(Options{})
	for call, blobs := range []int{1, 0} {
		if _, err := registry.Chart(t.Context(), server.url("serving"), "1.0.0"); err != nil {
			t.Fatal(err)
		}
		if got := server.asked("/blobs/"); got != blobs {
			t.Errorf("call %d: %d archives were fetched, want %d", call+1, got, blobs)
		}
	}
	server.publish("serving", "1.0.0", map[string]string{"values.yaml": "a: 2\n"})
	moved, err := registry.Chart(t.Context(), server.url("serving"), "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if string(moved.Files["values.yaml"]) != "a: 2\n" || server.asked("/blobs/") != 1 {
		t.Errorf("a tag that moved is answered by %s", moved.Files["values.yaml"])
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	t.Parallel()
	cache := newCache(Limits{Cache: 10})
	for _, chart := range []*Chart{{Digest: "a", size: 6}, {Digest: "b", size: 4}, {Digest: "huge", size: 11}} {
		cache.put(chart)
	}
	if cache.get("a") == nil || cache.get("b") == nil || cache.get("huge") != nil {
		t.Error("what fits is not kept, or what does not fit is")
	}
	_ = cache.get("a")
	cache.put(&Chart{Digest: "c", size: 3})
	if cache.get("a") == nil || cache.get("b") != nil || cache.get("c") == nil || cache.size != 9 {
		t.Errorf("the one used least recently was not the one that went; %d bytes", cache.size)
	}
}

func TestTagsArePaged(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	pages := map[string]string{"": `{"tags":["1.0.0","1.1.0_a"]}`, "1.1.0_a": `{"tags":["2.0.0"]}`}
	server.answerWith(func(writer http.ResponseWriter, request *http.Request) bool {
		if !strings.HasSuffix(request.URL.Path, "/tags/list") {
			return false
		}
		last := request.URL.Query().Get("last")
		if last == "" {
			writer.Header().Set("Link", `</v2/charts/serving/tags/list?last=1.1.0_a>; rel="next"`)
		}
		_, _ = fmt.Fprint(writer, pages[last])
		return true
	})
	tags, err := New(Options{}).Tags(t.Context(), server.url("serving"))
	if err != nil || !slices.Equal(tags, []string{"1.0.0", "1.1.0+a", "2.0.0"}) {
		t.Errorf("got %v, %v", tags, err)
	}
}

// A registry asks even anonymous readers for a token, which it gives without a credential.
func TestAnAnonymousTokenIsFetched(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	server.publish("serving", "1.0.0", nil)
	server.answerWith(func(writer http.ResponseWriter, request *http.Request) bool {
		switch {
		case request.URL.Path == "/token":
			if _, _, sent := request.BasicAuth(); sent || request.Header.Get("Authorization") != "" {
				t.Error("a credential was presented")
			}
			_, _ = fmt.Fprint(writer, `{"token":"made for this test"}`)
			return true
		case request.Header.Get("Authorization") != "Bearer made for this test":
			writer.Header().Set("WWW-Authenticate", `Bearer realm="`+server.URL+`/token",service="registry"`)
			writer.WriteHeader(http.StatusUnauthorized)
			return true
		}
		return false
	})
	if _, err := New(Options{}).Chart(t.Context(), server.url("serving"), "1.0.0"); err != nil {
		t.Error(err)
	}
}

func TestErrorsNameTheChartAndTheStep(t *testing.T) {
	t.Parallel()
	// answers of the registry to everything below a path's end
	status := func(end string, status int) func(http.ResponseWriter, *http.Request) bool {
		return func(writer http.ResponseWriter, request *http.Request) bool {
			if !strings.Contains(request.URL.Path, end) {
				return false
			}
			writer.WriteHeader(status)
			return true
		}
	}
	for name, test := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request) bool
		url    string
		want   string
	}{
		"unpublished version":    {nil, "/charts/serving", "chart URL: version 9.9.9 is not published in the registry"},
		"no such chart":          {nil, "/charts/other", "chart URL: version 9.9.9 is not published in the registry"},
		"no anonymous reader":    {status("/v2/", 401), "/charts/serving", "chart URL 9.9.9: reading its manifest: the registry lets no anonymous reader in (status 401)"},
		"forbidden":              {status("/manifests/", 403), "/charts/serving", "chart URL 9.9.9: reading its manifest: the registry lets no anonymous reader in (status 403)"},
		"the registry's fault":   {status("/manifests/", 501), "/charts/serving", "chart URL 9.9.9: reading its manifest: the registry answered with status 501"},
		"no address":             {nil, "", `chart URL 9.9.9: reading its manifest: "URL" is no address such as oci://registry.example.com/charts/name`},
		"upper case":             {nil, "/Charts/Serving", `chart URL 9.9.9: reading its manifest: "URL" is no address such as oci://registry.example.com/charts/name`},
		"a version with a slash": {nil, "/charts/serving", `chart URL 9/9: reading its manifest: "9/9" is no version that a tag can hold`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t)
			server.publish("serving", "1.0.0", nil)
			server.answerWith(test.answer)
			url, version := "oci://"+server.host()+test.url, "9.9.9"
			if strings.Contains(test.want, "9/9") {
				version = "9/9"
			}
			_, err := New(Options{}).Chart(t.Context(), url, version)
			if err == nil || err.Error() != strings.ReplaceAll(test.want, "URL", url) {
				t.Errorf("got  %v\nwant %s", err, strings.ReplaceAll(test.want, "URL", url))
			}
			var unpublished *UnpublishedError
			if errors.As(err, &unpublished) != strings.Contains(test.want, "not published") {
				t.Errorf("class of %v", err)
			}
		})
	}
}

func TestARegistryThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(nil)
	closed.Close()
	address := "oci://" + strings.TrimPrefix(closed.URL, "http://") + "/charts/serving"
	_, err := New(Options{}).Chart(t.Context(), address, "1.0.0")
	if err == nil || err.Error() != "chart "+address+" 1.0.0: reading its manifest: the registry does not answer: connect: connection refused" {
		t.Errorf("got %v", err)
	}
	if _, err := New(Options{}).Tags(t.Context(), address); err == nil || err.Error() != "chart "+address+": listing its tags: the registry does not answer: connect: connection refused" {
		t.Errorf("got %v", err)
	}
	hanging := newServer(t)
	hanging.answerWith(func(_ http.ResponseWriter, request *http.Request) bool { <-request.Context().Done(); return true })
	_, err = New(Options{Timeout: 50 * time.Millisecond}).Chart(t.Context(), hanging.url("serving"), "1.0.0")
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the registry does not answer in time") {
		t.Errorf("got %v", err)
	}
}

// What is sent in the clear stays on this machine: by the chart's address, by a token's realm and by a redirect.
func TestPlainHTTPStaysOnThisMachine(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	server.publish("serving", "1.0.0", nil)
	for name, test := range map[string]struct {
		url    string
		answer func(http.ResponseWriter, *http.Request) bool
	}{
		"address": {"oci://10.0.0.1/charts/serving", nil},
		"realm": {server.url("serving"), func(writer http.ResponseWriter, request *http.Request) bool {
			writer.Header().Set("WWW-Authenticate", `Bearer realm="http://registry.example.com/token"`)
			writer.WriteHeader(http.StatusUnauthorized)
			return true
		}},
		"redirect": {server.url("serving"), func(writer http.ResponseWriter, request *http.Request) bool {
			if !strings.Contains(request.URL.Path, "/blobs/") {
				return false
			}
			http.Redirect(writer, request, "http://storage.example.com/blob", http.StatusTemporaryRedirect)
			return true
		}},
	} {
		server.answerWith(test.answer)
		sent := &recording{}
		_, err := New(Options{Transport: sent, Timeout: 5 * time.Second}).Chart(t.Context(), test.url, "1.0.0")
		if err == nil {
			t.Errorf("%s: it was read", name)
		}
		for _, url := range sent.urls {
			if !strings.HasPrefix(url, server.URL) && !strings.HasPrefix(url, "https://") {
				t.Errorf("%s: asked %s", name, url)
			}
		}
	}
}

// recording sends to this machine alone and remembers every request.
type recording struct{ urls []string }

func (r *recording) RoundTrip(request *http.Request) (*http.Response, error) {
	r.urls = append(r.urls, request.URL.String())
	if request.URL.Hostname() != "127.0.0.1" {
		return nil, errors.New("not in a test")
	}
	return http.DefaultTransport.RoundTrip(request)
}

func TestAPublicRegistryLeadsToNoPrivateAddress(t *testing.T) {
	t.Parallel()
	for to, refused := range map[string]bool{
		"https://storage.example.com/x": false, "https://registry.example.com/x": false, "https://52.1.2.3/x": false,
		"https://10.0.0.1/x": true, "https://169.254.169.254/x": true, "https://[fd00::1]/x": true, "https://127.0.0.1/x": true, "https://localhost/x": true, "https://0.0.0.0/x": true,
	} {
		from, target := &url.URL{Scheme: "https", Host: "registry.example.com"}, &url.URL{}
		if err := target.UnmarshalBinary([]byte(to)); err != nil {
			t.Fatal(err)
		}
		if err := reachable(from, target); (err != nil) != refused {
			t.Errorf("%s: %v", to, err)
		}
	}
	own := &url.URL{Scheme: "https", Host: "10.0.0.1:5000"}
	if err := reachable(own, &url.URL{Scheme: "https", Host: "10.0.0.1"}); err != nil {
		t.Errorf("a private registry leads to itself: %v", err)
	}
}
