package localforge

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// A push has at most this many commands here; a command line is a name and two hashes.
const maximalCommands = 10_000

// command is one line of a push: a ref with its old and new hash, zeros for absent.
type command struct{ old, new, ref string }

func (c command) creates() bool { return strings.Trim(c.old, "0") == "" }
func (c command) deletes() bool { return strings.Trim(c.new, "0") == "" }

// branch is the branch's name, "" for another ref.
func (c command) branch() string {
	name, isBranch := strings.CutPrefix(c.ref, "refs/heads/")
	if !isBranch {
		return ""
	}
	return name
}

// push is the head of a receive-pack request, up to the pack.
type push struct {
	commands     []command
	capabilities []string
	// raw is what was read, so that it can be handed on.
	raw bytes.Buffer
}

func (p *push) can(capability string) bool { return slices.Contains(p.capabilities, capability) }

// readPush reads the lines of a receive-pack request up to the flush.
func readPush(body io.Reader) (*push, error) {
	p := &push{}
	reader := io.TeeReader(body, &p.raw)
	for range maximalCommands {
		var size [4]byte
		if _, err := io.ReadFull(reader, size[:]); err != nil {
			return nil, fmt.Errorf("push: reading a line's length: %w", err)
		}
		length, err := strconv.ParseUint(string(size[:]), 16, 16)
		if err != nil || length != 0 && length < 4 {
			return nil, fmt.Errorf("push: line length %q is none", size)
		}
		if length == 0 {
			return p, nil
		}
		line := make([]byte, length-4)
		if _, err := io.ReadFull(reader, line); err != nil {
			return nil, fmt.Errorf("push: reading a line: %w", err)
		}
		p.add(strings.TrimSuffix(string(line), "\n"))
	}
	return nil, fmt.Errorf("push: more than %d commands", maximalCommands)
}

func (p *push) add(line string) {
	line, capabilities, found := strings.Cut(line, "\x00")
	if found {
		p.capabilities = strings.Fields(capabilities)
	}
	if fields := strings.SplitN(line, " ", 3); len(fields) == 3 {
		p.commands = append(p.commands, command{old: fields[0], new: fields[1], ref: fields[2]})
	}
}

// receivePack takes a push: refused by a rule it is answered here, in the protocol's own form; else git takes it.
func (f *Forge) receivePack(w http.ResponseWriter, r *http.Request, repo repository) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, "push: reading gzip", http.StatusBadRequest)
			return
		}
		body = unzipped
		r.Header.Del("Content-Encoding")
		r.ContentLength = -1
	}
	p, err := readPush(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if len(p.commands) > 0 {
		f.log.addReceivePack()
	}
	if message := f.refusalOf(repo, p.commands); message != "" {
		_, _ = io.Copy(io.Discard, body)
		p.refuse(w, message)
		return
	}
	r.Body = io.NopCloser(io.MultiReader(&p.raw, body))
	f.backend(w, r, repo, "git-receive-pack")
}

// refuse answers a push that breaks a rule: the message on the side band, and a report that declines each command.
func (p *push) refuse(w http.ResponseWriter, message string) {
	w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
	w.Header().Set("Cache-Control", "no-cache")
	var report strings.Builder
	report.WriteString(packetLine("unpack ok\n"))
	for _, c := range p.commands {
		report.WriteString(packetLine("ng " + c.ref + " push declined due to repository rule violations\n"))
	}
	report.WriteString("0000")
	var answer strings.Builder
	if p.can("side-band-64k") {
		for chunk := range slices.Chunk([]byte(message), 60_000) {
			answer.WriteString(packetLine("\x02" + string(chunk)))
		}
		for chunk := range slices.Chunk([]byte(report.String()), 60_000) {
			answer.WriteString(packetLine("\x01" + string(chunk)))
		}
		answer.WriteString("0000")
	} else if p.can("report-status") || p.can("report-status-v2") {
		answer.WriteString(report.String())
	}
	_, _ = io.WriteString(w, answer.String())
}

func packetLine(payload string) string { return fmt.Sprintf("%04x%s", len(payload)+4, payload) }
