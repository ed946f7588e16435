package partial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Push moves a branch from old to updated and brings the objects named, in one pack and one request. A zero old creates
// the branch, a zero updated deletes it. The server checks old, so nobody's commit is lost. Errors: ErrStale (wrapped) when the branch is not at
// old, *Rejected when a rule or a hook refuses, *clustermanager.Refusal when the account may not write. A connection
// that breaks is followed by a look at the branch: where it has the new commit, the push worked; where it cannot be read,
// the error is ErrUnknown (wrapped).
func (r *Remote) Push(ctx context.Context, branch string, old, updated Hash, objects ...Hash) error {
	request, err := r.pushRequest(branch, old, updated, objects)
	if err != nil {
		return err
	}
	doing := "pushing branch " + branch
	// What was listed before the push is old after it.
	r.first.Store(nil)
	body, err := r.post(ctx, receivePack, doing, request.Bytes(), maxReportBytes)
	if err == nil {
		err = r.readReport(body, branch)
		_ = body.Close()
	}
	var refusal *clustermanager.Refusal
	if err == nil || errors.As(err, &refusal) {
		return err
	}
	return r.settle(ctx, branch, old, updated, err)
}

func (r *Remote) pushRequest(branch string, old, updated Hash, hashes []Hash) (*packetWriter, error) {
	objects, err := r.Objects.pick(hashes)
	if err != nil {
		return nil, r.wrap("packing for branch "+branch, err)
	}
	request := &packetWriter{}
	request.line("%s %s %s%s\x00 report-status side-band-64k agent=cluster-manager", old, updated, heads, branch)
	request.flush()
	if updated.IsZero() {
		// A deletion brings no pack, not even an empty one.
		return request, nil
	}
	if err := writePack(request, objects); err != nil {
		return nil, r.wrap("packing for branch "+branch, err)
	}
	return request, nil
}

// readReport reads the status of a push: "unpack ok" and "ok <ref>", else *Rejected with the words of the status and
// of what the server printed meanwhile.
func (r *Remote) readReport(body io.Reader, branch string) error {
	bands := &bandReader{packets: newPacketReader(body)}
	report := newPacketReader(bands)
	reasons, accepted, err := readStatus(report, branch)
	var said *serverError
	if err != nil && !errors.As(err, &said) {
		return r.wrap("pushing branch "+branch, err)
	}
	if said != nil {
		reasons = append(reasons, said.words)
	}
	if accepted && len(reasons) == 0 {
		return nil
	}
	// What hooks print may follow the report.
	_, _ = io.Copy(io.Discard, bands)
	words := r.clean(string(bands.progress) + "\n" + strings.Join(reasons, "\n"))
	if words == "" {
		words = "without a reason"
	}
	return &Rejected{Branch: branch, Words: words}
}

// readStatus reads the lines of a report up to its flush packet.
func readStatus(report *packetReader, branch string) (reasons []string, accepted bool, err error) {
	for {
		text, ok, err := report.line()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil || !ok {
			return reasons, accepted, err
		}
		if status, found := strings.CutPrefix(text, "unpack "); found && status != "ok" {
			reasons = append(reasons, text)
		}
		if reason, found := strings.CutPrefix(text, "ng "+heads+branch+" "); found {
			reasons = append(reasons, reason)
		}
		accepted = accepted || text == "ok "+heads+branch
	}
}

// settle looks at the branch after a push that did not say it worked: the words for a branch that moved differ between
// servers, and a connection can break after the push was taken.
func (r *Remote) settle(ctx context.Context, branch string, old, updated Hash, cause error) error {
	current, err := r.Branch(ctx, branch)
	switch {
	case err != nil && !errors.Is(err, ErrBranchNotFound):
		return fmt.Errorf("%w: %w: %w", ErrUnknown, cause, err)
	case current == updated:
		return nil
	case current != old:
		return fmt.Errorf("repository %s: branch %s: %w", r.name, branch, ErrStale)
	}
	return cause
}
