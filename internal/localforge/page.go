package localforge

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"html"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	clustermanager "github.com/clustermanager/cluster-manager"
)

var (
	//go:embed page.html
	pageSource   string
	pageTemplate = template.Must(template.New("page").Parse(pageSource))
	//go:embed page.css
	pageStyle string
	styleHash = sha256.Sum256([]byte(pageStyle))
	// pagePolicy lets a page have nothing but its own style and its form: its body is what others wrote.
	pagePolicy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(styleHash[:]) + "'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

	table    = extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))
	markdown = goldmark.New(goldmark.WithExtensions(table, extension.Linkify, extension.Strikethrough, extension.TaskList),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(sections{}, 1))))
	// sectionTags is all the HTML that a body may hold.
	sectionTags = strings.NewReplacer("&lt;details&gt;", "<details>", "&lt;/details&gt;", "</details>", "&lt;summary&gt;", "<summary>", "&lt;/summary&gt;", "</summary>")
)

// sections renders a body's HTML as text, but for the tags of its sections.
type sections struct{}

func (sections) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	render := func(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		var raw []byte
		switch node := node.(type) {
		case *ast.RawHTML:
			raw = node.Segments.Value(source)
		case *ast.HTMLBlock:
			if raw = node.Lines().Value(source); node.HasClosure() {
				raw = append(raw, node.ClosureLine.Value(source)...)
			}
		}
		if entering {
			_, _ = sectionTags.WriteString(w, html.EscapeString(string(raw)))
		}
		return ast.WalkSkipChildren, nil
	}
	register.Register(ast.KindRawHTML, render)
	register.Register(ast.KindHTMLBlock, render)
}

// changedFile is a file of a diff; Count is how many of its lines are of a class: add, delete, hunk or none.
type changedFile struct {
	Path  string
	Lines []struct{ Class, Text string }
	Count map[string]int
}

func changedFiles(diff string) (files []changedFile) {
	for _, part := range strings.Split("\n"+diff, "\ndiff --git ")[1:] {
		head, hunks, _ := strings.Cut(part, "\n@@")
		names, _, _ := strings.Cut(head, "\n")
		file := changedFile{Path: strings.TrimPrefix(names[(len(names)+1)/2:], "b/"), Count: map[string]int{}}
		for line := range strings.SplitSeq(strings.TrimSuffix("@@"+hunks, "\n"), "\n") {
			class := map[byte]string{'+': "add", '-': "delete", '@': "hunk"}[(line + " ")[0]]
			file.Lines = append(file.Lines, struct{ Class, Text string }{class, line})
			file.Count[class]++
		}
		files = append(files, file)
	}
	return files
}

// page shows a pull request to whoever sits at this machine, and merges it by a POST. A foreign name that was made to
// point here is not answered.
func (f *Forge) page(w http.ResponseWriter, r *http.Request) {
	var shown bytes.Buffer
	var refused *problem
	err, host := fs.ErrNotExist, url.URL{Host: r.Host}
	if number, _ := strconv.Atoi(r.PathValue("number")); clustermanager.IsLoopback(host.Hostname()) {
		err = f.onPullRequest(r.PathValue("owner"), r.PathValue("repo"), number, func(repo repository, p *pullRequest) error {
			if r.Method != http.MethodPost {
				return repo.show(r.Context(), &shown, p)
			}
			_, err := f.merge(r.Context(), repo, p, User{Login: p.Author.Login, ID: p.Author.ID}, mergeInput{})
			return err
		})
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.Error(w, "Not Found", http.StatusNotFound)
	case errors.As(err, &refused):
		http.Error(w, refused.message, refused.status)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case r.Method == http.MethodPost:
		http.Redirect(w, r, r.URL.Path, http.StatusSeeOther)
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", pagePolicy)
		_, _ = shown.WriteTo(w)
	}
}

func (r repository) show(ctx context.Context, w io.Writer, p *pullRequest) error {
	var body bytes.Buffer
	diff, err := r.diff(ctx, p)
	if err := errors.Join(err, markdown.Convert([]byte(p.Body), &body)); err != nil {
		return err
	}
	return pageTemplate.Execute(w, map[string]any{
		"Style": template.CSS(pageStyle), "Repository": r.fullName(), "Pull": p, "State": p.value().State,
		"Body": template.HTML(body.String()), "Files": changedFiles(diff),
	})
}
