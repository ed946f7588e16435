package main

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// colour is an SGR parameter of a terminal; "" is none.
type colour string

const (
	green  colour = "32"
	yellow colour = "33"
	red    colour = "31"
	faint  colour = "2"
)

// wordColours are the colours of cells that begin with a word. Every other cell has none.
var wordColours = map[string]colour{
	"present": green, "ready": green, "True": green, "yes": green, "done": green, "merged": green, "active": green,
	"unknown": yellow, "creating": yellow, "scaling": yellow, "removing": yellow, "deleting": yellow, "open": yellow, "inProgress": yellow,
	"failed": red, "not": red, "no": red,
	"absent": faint, "-": faint, "closed": faint, "pending": faint,
}

// pen writes in colours, or without any.
type pen struct{ colours bool }

// penFor writes in colours on a terminal alone, unless the person wants none.
func penFor(out io.Writer) pen {
	file, is := out.(*os.File)
	return pen{is && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))}
}

func (p pen) paint(text string, in colour) string {
	if !p.colours || in == "" || text == "" {
		return text
	}
	return "\x1b[" + string(in) + "m" + text + "\x1b[0m"
}

// cell paints a cell by its first word.
func (p pen) cell(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return p.paint(text, wordColours[word])
}

// drawRows draws aligned rows below their titles. A column that is empty in every row is left out.
func drawRows(text *strings.Builder, with pen, indent string, titles []string, rows [][]string) {
	widths := make([]int, len(titles))
	for column := range titles {
		for _, row := range rows {
			widths[column] = max(widths[column], utf8.RuneCountInString(row[column]))
		}
		if widths[column] > 0 {
			widths[column] = max(widths[column], utf8.RuneCountInString(titles[column]))
		}
	}
	draw := func(cells []string, paint func(string) string) {
		var line strings.Builder
		gap := ""
		for column, cell := range cells {
			if widths[column] == 0 {
				continue
			}
			line.WriteString(gap + paint(cell))
			gap = strings.Repeat(" ", widths[column]-utf8.RuneCountInString(cell)+2)
		}
		text.WriteString(indent + strings.TrimRight(line.String(), " ") + "\n")
	}
	draw(titles, func(title string) string { return with.paint(title, faint) })
	for _, row := range rows {
		draw(row, with.cell)
	}
}
