package localforge_test

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/localforge"
)

// hostileBody is Markdown with what a page must not let through, beside what it must show.
const hostileBody = "Cluster `org/<b>wc1</b>`: **add** it.\n\n| file | action |\n| --- | ---: |\n| `a|b` | add |\n\n" +
	"<details>\n<summary>Objects that change: 2</summary>\n\n| action | object |\n| --- | --- |\n| add | `x` |\n\n</details>\n\n" +
	"<script>alert(1)</script>\n\ninline <img src=x onerror=alert(2)> and <details open onclick=alert(3)> and <a href=\"javascript:alert(4)\">x</a>\n\n" +
	"[click](javascript:alert(5)) ![pixel](https://tracker.example.com/x.png) &lt;script&gt;alert(6)&lt;/script&gt;\n\n<!-- a comment -->\n\n<pre>\n</article>\n</pre>\n"

func fetchPage(t *testing.T, method, address string, header http.Header) (int, string, http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	request.Host = header.Get("Host")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data), response.Header
}

// newPage opens a pull request with a title and a body of others.
func newPage(t *testing.T) (*localforge.Forge, string) {
	t.Helper()
	forge := newForge(t, localforge.Options{})
	folder := clone(t, forge)
	mustGit(t, folder, "checkout", "--quiet", "-b", "topic")
	writeFile(t, filepath.Join(folder, "README.md"), "fleet of <i>clusters</i>\n")
	writeFile(t, filepath.Join(folder, "new \"odd\" folder", "a b.yaml"), "one\n-- two\n")
	if err := os.Remove(filepath.Join(folder, "kept.log")); err != nil {
		t.Fatal(err)
	}
	mustGit(t, folder, "add", "-A")
	mustGit(t, folder, "commit", "--quiet", "-m", "feat: page")
	mustGit(t, folder, "push", "--quiet", "origin", "topic")
	status, answer, _ := api(t, forge, writer, http.MethodPost, pulls, map[string]string{"title": "feat: <u>page</u>", "body": hostileBody, "head": "topic", "base": "main"})
	if status != http.StatusCreated {
		t.Fatalf("%d %v", status, answer)
	}
	return forge, forge.URL() + "/acme/fleet/pull/1"
}

func TestThePageShowsAPullRequest(t *testing.T) {
	_, address := newPage(t)
	status, text, header := fetchPage(t, http.MethodGet, address, nil)
	if status != 200 || header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %v", status, header)
	}
	for _, want := range []string{
		"<h1>feat: &lt;u&gt;page&lt;/u&gt; <small>#1</small></h1>", `<b class="state open">open</b> <code>topic</code> into <code>main</code>, by writer`,
		"<strong>add</strong>", "<code>org/&lt;b&gt;wc1&lt;/b&gt;</code>", "<table>", `<td align="right">`,
		"<details>\n<summary>Objects that change: 2</summary>\n<table>", "</table>\n</details>\n",
		"&lt;script&gt;alert(1)&lt;/script&gt;", "&lt;details open onclick=alert(3)&gt;", "&lt;/article&gt;",
		"<h2>Files changed: 3</h2>", `<code>README.md</code> <b class="added">+1</b> <b class="deleted">−1</b>`,
		`<span class="delete">-fleet`, `<span class="add">&#43;fleet of &lt;i&gt;clusters&lt;/i&gt;`, `<span class="add">&#43;-- two`,
		`a b.yaml`, `<code>kept.log</code> <b class="added">+0</b> <b class="deleted">−1</b>`, "<button>Merge pull request</button>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	for _, never := range []string{"<script", "<img src=x", "<a href=\"javascript", "onclick=alert(3)>", "<pre>\n</article>", "<u>", "<i>"} {
		if strings.Contains(text, never) {
			t.Errorf("%s in\n%s", never, text)
		}
	}
	for _, policy := range []string{"default-src 'none'", "style-src 'sha256-", "form-action 'self'"} {
		if !strings.Contains(header.Get("Content-Security-Policy"), policy) {
			t.Errorf("policy %q", header.Get("Content-Security-Policy"))
		}
	}
}

func TestThePageMerges(t *testing.T) {
	forge, address := newPage(t)
	port, _ := url.Parse(address)
	for name, test := range map[string]struct {
		method, address string
		header          http.Header
		status          int
	}{
		"from a foreign page":    {http.MethodPost, address, http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		"from a foreign origin":  {http.MethodPost, address, http.Header{"Origin": {"https://example.com"}}, 403},
		"by a foreign name":      {http.MethodPost, address, http.Header{"Host": {"example.com:" + port.Port()}}, 404},
		"another number":         {http.MethodPost, forge.URL() + "/acme/fleet/pull/2", nil, 404},
		"no number":              {http.MethodGet, forge.URL() + "/acme/fleet/pull/x", nil, 404},
		"no repository":          {http.MethodGet, forge.URL() + "/acme/absent/pull/1", nil, 404},
		"seen by a foreign name": {http.MethodGet, address, http.Header{"Host": {"example.com"}}, 404},
	} {
		if status, text, _ := fetchPage(t, test.method, test.address, test.header); status != test.status {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if pull, err := forge.PullRequest("acme", "fleet", 1); err != nil || pull.State != clustermanager.PullRequestOpen {
		t.Fatalf("merged by what may not: %v %v", pull, err)
	}
	status, _, header := fetchPage(t, http.MethodPost, address, http.Header{"Sec-Fetch-Site": {"same-origin"}})
	if status != http.StatusSeeOther || header.Get("Location") != "/acme/fleet/pull/1" {
		t.Errorf("merging: %d %v", status, header)
	}
	if content, err := forge.File("acme", "fleet", "main", "README.md"); err != nil || string(content) != "fleet of <i>clusters</i>\n" {
		t.Errorf("main: %q %v", content, err)
	}
	if _, text, _ := fetchPage(t, http.MethodGet, address, nil); !strings.Contains(text, "Merged by writer into") || strings.Contains(text, "<button>") {
		t.Errorf("after the merge:\n%s", text)
	}
	if status, text, _ := fetchPage(t, http.MethodPost, address, nil); status != http.StatusMethodNotAllowed || !strings.Contains(text, "not mergeable") {
		t.Errorf("merging again: %d %s", status, text)
	}
}
