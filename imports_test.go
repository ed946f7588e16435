package clustermanager_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/clustermanager/cluster-manager"

// room is one row of the import table. A pattern that ends in "/..." stands for the path and all below it.
type room struct {
	folder string
	// ours are the folders of this module that it may import besides those below it; "..." is any.
	ours []string
	// others are the packages of other modules that it may import besides [everywhere].
	others []string
	// never are packages, or calls of the standard library, that it may not use, whatever else allows them.
	never []string
	// onlyIn narrows packages of others to files of the room.
	onlyIn map[string][]string
}

// Modules that several rows name.
const (
	apimachinery = "k8s.io/apimachinery/..."
	clientGo     = "k8s.io/client-go/..."
	goGit        = "github.com/go-git/go-git/v5/..."
	goGitHub     = "github.com/google/go-github/v62/..."
	mcpGo        = "github.com/mark3labs/mcp-go/..."
	kustomizeAPI = "sigs.k8s.io/kustomize/api/..."
	kyaml        = "sigs.k8s.io/kustomize/kyaml/..."
	sops         = "github.com/getsops/sops/v3/..."
	age          = "filippo.io/age/..."
)

// everywhere are packages that need no network and keep no state.
var everywhere = []string{
	"github.com/Masterminds/semver/v3",
	"golang.org/x/sync/errgroup",
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured",
	"k8s.io/apimachinery/pkg/runtime/schema",
	"sigs.k8s.io/yaml/...",
}

var (
	network = []string{"net", "net/http/...", "net/rpc/...", "net/smtp", "os/exec"}
	// impure is what a pure function has no use for.
	impure = append([]string{
		"context", "os", "time.Now", "time.Since", "time.Until", "time.After", "math/rand/...", "golang.org/x/sync/...",
	}, network...)
)

// rooms is the import table. A new edge is decided here, in review, and nowhere else.
//
// Beside the libraries that a room is for, three rows have what those make necessary: cmd the flags behind cobra's
// commands (pflag) and whether its output is a terminal (x/term), mcptools the JSON schemas of its tools
// (jsonschema-go), render/compose the check of a cluster's values (jsonschema) and quantities (resource), gitops/proof what Flux leaves out of a tree (sourceignore).
var rooms = []room{
	{folder: ".", never: impure},
	{folder: "cmd", ours: []string{"..."}, others: []string{"github.com/spf13/cobra/...", "github.com/spf13/pflag", "golang.org/x/term", "go.opentelemetry.io/otel/..."}},
	{folder: "mcptools", ours: []string{"..."}, others: []string{mcpGo, "github.com/google/jsonschema-go/jsonschema"}, onlyIn: map[string][]string{mcpGo: {"server.go", "client.go"}}},

	{folder: "render", ours: []string{"."}, others: []string{kustomizeAPI, kyaml}, never: network},
	{folder: "render/compose", ours: []string{".", "render/catalog"}, others: []string{"github.com/santhosh-tekuri/jsonschema/v6/...", "k8s.io/apimachinery/pkg/api/resource"}, never: impure},
	{folder: "render/catalog", ours: []string{"."}, never: impure},

	{folder: "gitops", ours: []string{"."}},
	{folder: "gitops/partial", ours: []string{"."}, others: []string{goGit}},
	{folder: "gitops/forge", ours: []string{"."}, others: []string{goGitHub, "github.com/bradleyfalzon/ghinstallation/v2"}},
	{folder: "gitops/aftermerge", ours: []string{".", "gitops", "gitops/forge", "gitops/proof"}},
	{folder: "gitops/seal", ours: []string{"."}, others: []string{sops, age}},
	{folder: "gitops/proof", ours: []string{".", "render"}, others: []string{"github.com/fluxcd/pkg/kustomize/...", "github.com/fluxcd/pkg/sourceignore/...", kustomizeAPI, kyaml}},

	{folder: "live", ours: []string{"."}, others: []string{clientGo, apimachinery}},
	{folder: "live/session", ours: []string{"."}, others: []string{clientGo, apimachinery}},
	{folder: "live/survey", ours: []string{"."}, others: []string{clientGo, apimachinery}},
	{folder: "live/backend", ours: []string{"."}, others: []string{clientGo, apimachinery}},
	{folder: "live/cleanup", ours: []string{"."}, others: []string{clientGo, apimachinery}},

	{folder: "managed", ours: []string{"."}, never: network},
	{folder: "managed/service", ours: []string{".", "managed"}, never: network},
	{folder: "managed/store", ours: []string{".", "managed"}, others: []string{"modernc.org/sqlite/...", "github.com/jackc/pgx/v5/...", "github.com/pressly/goose/v3/..."}},
	{folder: "managed/store/storetest", ours: []string{".", "managed", "managed/store"}, others: []string{"github.com/google/go-cmp/cmp", "github.com/jackc/pgx/v5/..."}},
	{folder: "managed/policy", ours: []string{".", "managed"}, others: []string{"github.com/cedar-policy/cedar-go/..."}},
	{folder: "managed/catalog", ours: []string{".", "managed"}},
	{folder: "managed/gke", ours: []string{".", "managed"}, others: []string{"google.golang.org/api/...", "cloud.google.com/go/auth/...", clientGo, apimachinery}},
	{folder: "managed/httpapi", ours: []string{".", "managed", "managed/service"}},
	{folder: "managed/reconcile", ours: []string{".", "managed", "managed/service"}, others: []string{"github.com/cloudevents/sdk-go/v2/...", clientGo, apimachinery}},

	{folder: "internal/bench"},
	{folder: "internal/dns", others: []string{"golang.org/x/net/dns/dnsmessage"}},
	{folder: "internal/identity", ours: []string{"."}, others: []string{"github.com/coreos/go-oidc/v3/..."}},
	{folder: "internal/limits", others: []string{"golang.org/x/time/rate"}},
	{folder: "internal/charts", ours: []string{"."}, others: []string{"github.com/google/go-containerregistry/..."}},
	{folder: "internal/registry", others: []string{"github.com/google/go-containerregistry/..."}},
	{folder: "internal/prices", ours: []string{"render/catalog"}},
	{folder: "internal/release", never: impure},
	{folder: "internal/release/command", ours: []string{"internal/release", "internal/charts", "internal/registry"}, others: []string{"github.com/google/go-containerregistry/..."}},
	{folder: "internal/settings", ours: []string{"."}},
	{folder: "internal/snapshot", ours: []string{"."}, others: []string{clientGo, apimachinery}},
	{folder: "internal/telemetry", ours: []string{"."}, others: []string{"go.opentelemetry.io/...", "github.com/prometheus/client_golang/..."}},
	{folder: "internal/offline", ours: []string{".", "internal/settings"}, others: []string{clientGo, apimachinery}},
	{folder: "internal/githubapi"},
	{folder: "internal/localforge", ours: []string{"."}, others: []string{goGitHub, "github.com/yuin/goldmark/..."}},
	{folder: "internal/testbed", ours: []string{"..."}, others: []string{clientGo, apimachinery, "k8s.io/api/...", "github.com/google/go-containerregistry/..."}},
}

// skipped are folders that are no part of the product; programs are modules of their own.
var skipped = []string{"bin", "dist", "fixtures", "programs", "testdata", "tools"}

func TestImportsKeepToTheTable(t *testing.T) {
	t.Parallel()
	edges, err := newEdges(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, edge := range edges {
		t.Errorf("%s\n\tEither the code is in the wrong room, or the table in imports_test.go gains an entry.", edge)
	}
}

func TestNewEdgesAreFound(t *testing.T) {
	t.Parallel()
	const compose, goFile = "render/compose/pool.go", "package p\n"
	for name, test := range map[string]struct {
		file, source, want string
	}{
		"allowed, root and catalog":    {compose, goFile + `import ("sort"; "` + module + `"; "` + module + `/render/catalog")`, ""},
		"allowed, a package below":     {"gitops/propose.go", goFile + `import "` + module + `/gitops/partial"`, ""},
		"allowed, another module":      {"gitops/partial/fetch.go", goFile + `import "github.com/go-git/go-git/v5/plumbing"`, ""},
		"allowed, a test file":         {"render/compose/pool_test.go", goFile + `import "net/http"`, ""},
		"allowed, the one file":        {"mcptools/server.go", goFile + `import "github.com/mark3labs/mcp-go/server"`, ""},
		"ours, across rooms":           {"render/list.go", goFile + `import "` + module + `/live"`, "render/list.go imports " + module + "/live"},
		"ours, above a nested room":    {"gitops/seal/seal.go", goFile + `import "` + module + `/gitops"`, "gitops/seal/seal.go imports " + module + "/gitops"},
		"ours, root imports a room":    {"plan.go", goFile + `import "` + module + `/render"`, "plan.go imports " + module + "/render"},
		"ours, below managed":          {"managed/state.go", goFile + `import "` + module + `/managed/store"`, "managed/state.go imports " + module + "/managed/store"},
		"ours, a name alike":           {compose, goFile + `import "` + module + `/render/catalogue"`, "render/compose/pool.go imports " + module + "/render/catalogue"},
		"others, of another room":      {"gitops/propose.go", goFile + `import _ "k8s.io/client-go/rest"`, "gitops/propose.go imports k8s.io/client-go/rest"},
		"others, a name alike":         {"gitops/partial/fetch.go", goFile + `import "github.com/go-git/go-git/v5x"`, "gitops/partial/fetch.go imports github.com/go-git/go-git/v5x"},
		"others, in another file":      {"mcptools/pool.go", goFile + `import "github.com/mark3labs/mcp-go/mcp"`, "mcptools/pool.go imports github.com/mark3labs/mcp-go/mcp, which server.go and client.go alone may"},
		"standard library, a network":  {"render/list.go", goFile + `import "net/http/httptest"`, "render/list.go imports net/http/httptest"},
		"standard library, a clock":    {compose, goFile + `import t "time"; var now = t.Now`, "render/compose/pool.go uses time.Now"},
		"standard library, a context":  {"plan.go", goFile + `import "context"`, "plan.go imports context"},
		"others, never":                {compose, goFile + `import "golang.org/x/sync/errgroup"`, "render/compose/pool.go imports golang.org/x/sync/errgroup"},
		"allowed, everywhere":          {"live/apply.go", goFile + `import "golang.org/x/sync/errgroup"`, ""},
		"a room the table lacks":       {"util/strings.go", goFile, "util is in no row of the table"},
		"a folder inside a room":       {"internal/offline/api/list.go", goFile + `import "k8s.io/client-go/rest"`, ""},
		"a folder that is not product": {"fixtures/x/x.go", goFile + `import "net/http"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := newEdges(fstest.MapFS{test.file: {Data: []byte(test.source)}})
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			if test.want != "" {
				want = []string{test.want}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("edges (-want +got):\n%s", diff)
			}
		})
	}
}

// newEdges returns what the non-test Go files of a module use beyond the table.
func newEdges(tree fs.FS) ([]string, error) {
	var edges []string
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if name != "." && (strings.HasPrefix(entry.Name(), ".") || slices.Contains(skipped, entry.Name())) {
				return fs.SkipDir
			}
			return nil
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		of, found := roomOf(path.Dir(name))
		if !found {
			edges = append(edges, path.Dir(name)+" is in no row of the table")
			return nil
		}
		edges = append(edges, of.check(name, file)...)
		return nil
	})
	return edges, err
}

// roomOf is the row of a folder, or of the nearest one above it; the root's is its own alone.
func roomOf(folder string) (room, bool) {
	for at := folder; ; at = path.Dir(at) {
		for _, row := range rooms {
			if row.folder == at && (at != "." || folder == ".") {
				return row, true
			}
		}
		if at == "." {
			return room{}, false
		}
	}
}

func (r room) check(name string, file *ast.File) []string {
	var edges []string
	calls := map[string]string{}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return []string{fmt.Sprintf("%s: import %s: %v", name, spec.Path.Value, err)}
		}
		if !r.allows(imported) {
			edges = append(edges, name+" imports "+imported)
		}
		for pattern, only := range r.onlyIn {
			if matches(pattern, imported) && !slices.Contains(only, path.Base(name)) {
				edges = append(edges, fmt.Sprintf("%s imports %s, which %s alone may", name, imported, strings.Join(only, " and ")))
			}
		}
		local := path.Base(imported)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		calls[local] = imported
	}
	ast.Inspect(file, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if left, ok := selector.X.(*ast.Ident); ok {
			if use := calls[left.Name] + "." + selector.Sel.Name; slices.Contains(r.never, use) {
				edges = append(edges, name+" uses "+use)
			}
		}
		return true
	})
	return edges
}

func (r room) allows(imported string) bool {
	if imported == module || strings.HasPrefix(imported, module+"/") {
		ours := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
		if ours == "" {
			ours = "."
		}
		below := r.folder != "." && !strings.HasPrefix(r.folder, "managed") && strings.HasPrefix(ours, r.folder+"/")
		return below || matchesAny(r.ours, ours)
	}
	if matchesAny(r.never, imported) {
		return false
	}
	standard := !strings.Contains(strings.Split(imported, "/")[0], ".")
	return standard || matchesAny(r.others, imported) || matchesAny(everywhere, imported)
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, name) })
}

// matches compares as the go command does: "x/..." is x and all below it.
func matches(pattern, name string) bool {
	above, open := strings.CutSuffix(pattern, "...")
	if !open {
		return pattern == name
	}
	return strings.HasPrefix(name+"/", above)
}
