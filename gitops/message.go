package gitops

import (
	"fmt"
	"strings"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// listedObjects is how many objects a pull request's body lists; GitHub takes 65,536 characters, and a reviewer fewer.
const listedObjects = 200

// Message is what a reviewer reads of a proposal: the title, which is the commit's first line too, and the body.
type Message struct {
	// Tool is the tool that was called, Login the person who called it.
	Tool  string
	Login string
	// Scope and Summary make the title: feat(<scope>): <summary>.
	Scope   string
	Summary string
	// Subject is what the proposal is about, for the trailer: [<installation>/]<cluster>[/<pool>].
	Subject string
	// Cluster is namespace/name.
	Cluster  string
	Releases []Release
	Files    []clustermanager.FileChange
	Objects  []clustermanager.ObjectDiff
	Proof    clustermanager.Proof
	// Broken says that the tree does not build today.
	Broken bool
	Target clustermanager.Target
	// LiveSteps are what the merge does not do, Warnings what a reviewer should know.
	LiveSteps []string
	Warnings  []string
}

// Release is a Helm release of a proposal.
type Release struct {
	Name    string
	Chart   string
	Version string
}

// Title is a conventional commit's first line.
func (m Message) Title() string { return "feat(" + m.Scope + "): " + m.Summary }

// Trailer is the value of the commit's trailer.
func (m Message) Trailer() string { return Trailer(m.Tool, m.Subject) }

// Body is Markdown. Everything that the repository or the cluster could have chosen stands in code spans.
func (m Message) Body() string {
	var body strings.Builder
	fmt.Fprintf(&body, "Cluster %s: %s.\n\nOpened by @%s through cluster-manager (%s, mode commit).\n",
		Code(m.Cluster), m.Summary, m.Login, Code(m.Tool))
	m.writeReleases(&body)
	m.writeFiles(&body)
	m.writeObjects(&body)
	fmt.Fprintf(&body, "\n### After the merge\n\n%s\n", m.applied())
	writeList(&body, "### Steps that the merge does not do", m.LiveSteps)
	writeList(&body, "### Warnings", m.Warnings)
	return body.String()
}

func (m Message) writeReleases(body *strings.Builder) {
	if len(m.Releases) == 0 {
		return
	}
	body.WriteString("\n| release | chart | version |\n| --- | --- | --- |\n")
	for _, release := range m.Releases {
		fmt.Fprintf(body, "| %s | %s | %s |\n", Code(release.Name), Code(release.Chart), Code(release.Version))
	}
}

func (m Message) writeFiles(body *strings.Builder) {
	body.WriteString("\n| file | action |\n| --- | --- |\n")
	for _, file := range m.Files {
		if file.Action != clustermanager.FileUnchanged {
			fmt.Fprintf(body, "| %s | %s |\n", Code(file.Path), file.Action)
		}
	}
}

func (m Message) writeObjects(body *strings.Builder) {
	proof := "Flux's build of the tree was made before and after this change."
	if !m.Proof.Built {
		proof = "Flux's build of the whole tree could not be made."
	}
	if m.Proof.Note != "" {
		proof += " " + Plain(m.Proof.Note)
	}
	fmt.Fprintf(body, "\n%s\n\n", proof)
	WriteObjects(body, m.Objects)
}

// WriteObjects writes differences as a table that folds, by their paths; of many the first two hundred.
func WriteObjects(body *strings.Builder, objects []clustermanager.ObjectDiff) {
	fmt.Fprintf(body, "<details>\n<summary>Objects that change: %d</summary>\n\n| action | object | changes |\n| --- | --- | --- |\n", len(objects))
	for i, object := range objects {
		if i == listedObjects {
			fmt.Fprintf(body, "\nand %d more\n", len(objects)-listedObjects)
			break
		}
		changes := make([]string, len(object.Changes))
		for i, change := range object.Changes {
			changes[i] = Code(change)
		}
		fmt.Fprintf(body, "| %s | %s | %s |\n", object.Action, Code(object.ObjectReference.String()), strings.Join(changes, " "))
	}
	body.WriteString("\n</details>\n")
}

func (m Message) applied() string {
	applies := fmt.Sprintf("Flux Kustomization %s applies it from %s at branch %s", Code(m.Target.Kustomization.String()),
		Code(m.Target.Repository.FullName()), Code(m.Target.Repository.Branch))
	switch {
	case m.Target.Suspends():
		return applies + " once it is resumed: it is suspended today."
	case m.Broken:
		return applies + " once the tree builds again: today it does not."
	case m.Target.AppliedWithin() > 0:
		return applies + ", within " + Interval(m.Target.AppliedWithin()) + " of the merge."
	}
	return applies + "."
}

// Interval writes a duration as a Flux object does, without the zeros that Go appends: 1m, 10m, 1h30m.
func Interval(duration time.Duration) string {
	text := duration.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func writeList(body *strings.Builder, heading string, items []string) {
	if len(items) == 0 {
		return
	}
	body.WriteString("\n" + heading + "\n\n")
	for _, item := range items {
		body.WriteString("- " + Plain(item) + "\n")
	}
}

// Code is a Markdown code span that the text cannot leave, on one line and within a table's cell.
func Code(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	text = strings.ReplaceAll(text, "|", `\|`)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

// Plain is text outside a code span: on one line, without a mention, a tag or a link.
func Plain(text string) string {
	return strings.NewReplacer("<", "&lt;", "@", "@\u200b", "[", `\[`, "|", `\|`).Replace(clustermanager.OneLine(text, 0))
}
