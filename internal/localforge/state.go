package localforge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// state is what the state file keeps: the pull requests by repository ("owner/name"), in the order of their numbers,
// which count from 1.
type state struct {
	PullRequests map[string][]*pullRequest `json:"pullRequests"`
	// CheckRuns are the check runs of Apps, likewise.
	CheckRuns map[string][]*checkRun `json:"checkRuns,omitempty"`
	// Comments are those of pull requests, likewise.
	Comments map[string][]*comment `json:"comments,omitempty"`
}

// pullRequest is a pull request as the state file keeps it. While it is open its hashes follow the branches.
type pullRequest struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	// Closed says that it was closed or merged; MergedAt that it was merged.
	Closed         bool       `json:"closed,omitempty"`
	Head           string     `json:"head"`
	HeadSHA        string     `json:"headSHA"`
	Base           string     `json:"base"`
	BaseSHA        string     `json:"baseSHA"`
	Author         person     `json:"author"`
	CreatedAt      time.Time  `json:"createdAt"`
	UpdatedAt      time.Time  `json:"updatedAt"`
	ClosedAt       *time.Time `json:"closedAt,omitempty"`
	MergedAt       *time.Time `json:"mergedAt,omitempty"`
	MergedBy       *person    `json:"mergedBy,omitempty"`
	MergeCommitSHA string     `json:"mergeCommitSHA,omitempty"`
}

// person is an account as a pull request remembers it.
type person struct {
	Login string `json:"login"`
	ID    int64  `json:"id"`
}

func readState(path string) (state, error) {
	empty := state{PullRequests: map[string][]*pullRequest{}, CheckRuns: map[string][]*checkRun{}, Comments: map[string][]*comment{}}
	if path == "" {
		return empty, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return state{}, fmt.Errorf("local forge: reading its state: %w", err)
	}
	read := empty
	if err := json.Unmarshal(data, &read); err != nil {
		return state{}, fmt.Errorf("local forge: reading its state from %s: %w", path, err)
	}
	if read.PullRequests == nil {
		read.PullRequests = empty.PullRequests
	}
	return read, nil
}

// save writes the state file beside its place and moves it there, so that a reader never meets half of it. Call it with
// the pull requests locked.
func (f *Forge) save() error {
	if f.options.State == "" {
		return nil
	}
	data, err := json.MarshalIndent(f.state, "", "  ")
	if err != nil {
		return fmt.Errorf("local forge: encoding its state: %w", err)
	}
	if err := replaceFile(f.options.State, append(data, '\n')); err != nil {
		return fmt.Errorf("local forge: writing its state: %w", err)
	}
	return nil
}

func replaceFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".forge-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, writeError := file.Write(content)
	if err := errors.Join(writeError, file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
