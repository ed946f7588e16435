package partial

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
)

// Hash names an object; the zero Hash is none.
type Hash = plumbing.Hash

// Mode is what a tree entry is.
type Mode = filemode.FileMode

// The modes that git knows.
const (
	Directory  = filemode.Dir
	Regular    = filemode.Regular
	Executable = filemode.Executable
	Symlink    = filemode.Symlink
	Submodule  = filemode.Submodule
)

// Entry is one line of a tree: Name, Mode and Hash.
type Entry = gitobject.TreeEntry

// Commit is what is read and written of a commit.
type Commit struct {
	Tree    Hash
	Parents []Hash
	// Name and Email are author and committer; git's own rules drop what would break the line they stand on.
	Name, Email string
	Time        time.Time
	Message     string
}

// ParseHash reads the 40 hexadecimal digits of a hash other than zero.
func ParseHash(text string) (Hash, error) {
	if !plumbing.IsHash(text) || len(text) != 40 || plumbing.NewHash(text).IsZero() {
		return Hash{}, fmt.Errorf("%.50q is no object name", text)
	}
	return plumbing.NewHash(text), nil
}

// Store holds objects in memory: fetched ones and new ones. Its methods may be called concurrently.
type Store struct {
	mutex   sync.RWMutex
	objects map[Hash]object
	trees   map[Hash][]Entry
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{objects: map[Hash]object{}, trees: map[Hash][]Entry{}}
}

// Has says whether the object is here.
func (s *Store) Has(hash Hash) bool {
	_, here := s.any(hash)
	return here
}

// Blob returns a file's content, which must not be changed. Errors: not fetched, or no blob.
func (s *Store) Blob(hash Hash) ([]byte, error) {
	blob, err := s.get(hash, plumbing.BlobObject)
	return blob.content, err
}

// Tree returns a tree's entries in git's order, which must not be changed. Errors: not fetched, no tree, or a tree that
// git's own checks refuse, since a name in it would leave the directory.
func (s *Store) Tree(hash Hash) ([]Entry, error) {
	s.mutex.RLock()
	entries, decoded := s.trees[hash]
	s.mutex.RUnlock()
	if decoded {
		return entries, nil
	}
	tree, err := s.get(hash, plumbing.TreeObject)
	if err != nil {
		return nil, err
	}
	var read gitobject.Tree
	if err := read.Decode(tree.encode()); err != nil {
		return nil, fmt.Errorf("tree %s: %w", hash, err)
	}
	if err := checkEntries(read.Entries); err != nil {
		return nil, fmt.Errorf("tree %s: %w", hash, err)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.trees[hash] = read.Entries
	return read.Entries, nil
}

// Commit returns a commit. Errors: not fetched, or no commit.
func (s *Store) Commit(hash Hash) (Commit, error) {
	commit, err := s.get(hash, plumbing.CommitObject)
	if err != nil {
		return Commit{}, err
	}
	var read gitobject.Commit
	if err := read.Decode(commit.encode()); err != nil {
		return Commit{}, fmt.Errorf("commit %s: %w", hash, err)
	}
	return Commit{
		Tree:    read.TreeHash,
		Parents: read.ParentHashes,
		Name:    read.Author.Name,
		Email:   read.Author.Email,
		Time:    read.Author.When,
		Message: read.Message,
	}, nil
}

// AddBlob keeps a file's content and names it.
func (s *Store) AddBlob(content []byte) Hash {
	blob := object{kind: plumbing.BlobObject, content: bytes.Clone(content)}
	s.add([]object{blob})
	return blob.hash()
}

// AddTree keeps a tree of the entries, in git's order, and names it.
func (s *Store) AddTree(entries []Entry) (Hash, error) {
	tree := gitobject.Tree{Entries: slices.SortedFunc(slices.Values(entries), compareEntries)}
	if err := checkEntries(tree.Entries); err != nil {
		return Hash{}, err
	}
	return s.addEncoded(tree.Encode)
}

// AddCommit keeps a commit and names it.
func (s *Store) AddCommit(commit Commit) (Hash, error) {
	person := gitobject.Signature{Name: cleanIdentity(commit.Name), Email: cleanIdentity(commit.Email), When: commit.Time.UTC()}
	written := gitobject.Commit{
		Author: person, Committer: person, Message: commit.Message, TreeHash: commit.Tree, ParentHashes: commit.Parents,
	}
	return s.addEncoded(written.Encode)
}

func (s *Store) addEncoded(encode func(plumbing.EncodedObject) error) (Hash, error) {
	encoded := &plumbing.MemoryObject{}
	if err := encode(encoded); err != nil {
		return Hash{}, err
	}
	reader, err := encoded.Reader()
	if err != nil {
		return Hash{}, err
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		return Hash{}, err
	}
	s.add([]object{{kind: encoded.Type(), content: content}})
	return encoded.Hash(), nil
}

func (s *Store) add(objects []object) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, one := range objects {
		s.objects[one.hash()] = one
	}
}

func (s *Store) any(hash Hash) (object, bool) {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	one, here := s.objects[hash]
	return one, here
}

func (s *Store) get(hash Hash, kind plumbing.ObjectType) (object, error) {
	one, here := s.any(hash)
	switch {
	case !here:
		return object{}, fmt.Errorf("%s %s: not fetched", kind, hash)
	case one.kind != kind:
		return object{}, fmt.Errorf("%s %s: it is a %s", kind, hash, one.kind)
	}
	return one, nil
}

// pick returns the objects, each once.
func (s *Store) pick(hashes []Hash) ([]object, error) {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	var picked []object
	seen := map[Hash]bool{}
	for _, hash := range hashes {
		one, here := s.objects[hash]
		if !here {
			return nil, fmt.Errorf("object %s: not at hand", hash)
		}
		if !seen[hash] {
			picked = append(picked, one)
		}
		seen[hash] = true
	}
	return picked, nil
}

// missing returns those that are not here, each once.
func (s *Store) missing(hashes []Hash) []Hash {
	var absent []Hash
	seen := map[Hash]bool{}
	for _, hash := range hashes {
		if !seen[hash] && !s.Has(hash) {
			absent = append(absent, hash)
		}
		seen[hash] = true
	}
	return absent
}

// checkEntries refuses names that would leave the directory or reach git's own, and names that stand twice.
func checkEntries(entries []Entry) error {
	seen := make(map[string]bool, len(entries))
	for _, entry := range entries {
		if entry.Name == "" || entry.Name == "." || entry.Name == ".." || strings.EqualFold(entry.Name, ".git") || strings.ContainsAny(entry.Name, "/\x00") {
			return fmt.Errorf("the entry %q, a name that git does not allow", entry.Name)
		}
		if seen[entry.Name] {
			return fmt.Errorf("the entry %q stands twice", entry.Name)
		}
		seen[entry.Name] = true
	}
	return nil
}

// compareEntries is git's order: a directory as if its name ended in a slash.
func compareEntries(a, b Entry) int { return strings.Compare(sortName(a), sortName(b)) }

func sortName(entry Entry) string {
	if entry.Mode == Directory {
		return entry.Name + "/"
	}
	return entry.Name
}

// cleanIdentity drops what git drops from a name or an e-mail address.
func cleanIdentity(text string) string {
	text = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == '<' || c == '>' {
			return -1
		}
		return c
	}, text)
	return strings.Trim(text, ` .,:;"\'`)
}
