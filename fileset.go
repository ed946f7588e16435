package clustermanager

import (
	"maps"
	"slices"
)

// File is one file of a change: its new content or its removal.
type File struct {
	// Content is what is written. For a sensitive file it is the sealed text, nil until it was sealed.
	Content []byte
	// Plain is the text that is to be sealed; zero for every other file, and zero again once sealed.
	Plain Secret
	// Sensitive marks a sealed file: its content never appears in an answer.
	Sensitive bool
	// Delete removes the file.
	Delete bool
}

// FileSet is a change of a repository: path from its root, with forward slashes, to the file. Empty: nothing to
// propose.
type FileSet map[string]File

// Paths returns the paths in order.
func (f FileSet) Paths() []string { return slices.Sorted(maps.Keys(f)) }

// FileAction is what a change does to a file.
type FileAction string

const (
	FileAdd       FileAction = "add"
	FileUpdate    FileAction = "update"
	FileRemove    FileAction = "remove"
	FileUnchanged FileAction = "unchanged"
)

// FileChange is a file as an answer shows it.
type FileChange struct {
	Path   string     `json:"path" jsonschema:"path from the repository's root"`
	Action FileAction `json:"action" jsonschema:"what the change does to the file"`
	// Content is set on a dry run only, and never for a sealed file.
	Content string `json:"content,omitempty" jsonschema:"on a dry run the file as it will be; never for a sealed file"`
}
