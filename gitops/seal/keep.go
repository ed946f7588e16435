package seal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/stores/yaml"
)

// existingFile reads what a tree has at a path; nil: nothing that could be a sealed file.
func existingFile(open func() (fs.FS, error), path string) ([]byte, error) {
	tree, err := open()
	if err != nil || tree == nil {
		return nil, err
	}
	info, err := fs.Lstat(tree, path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.Mode().IsRegular():
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: looking for the sealed file: %w", path, err)
	}
	content, err := readLimited(tree, path)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: reading the sealed file: %w", path, err)
	}
	return content, nil
}

// wouldRepeat says whether a sealed file is what this rule and document would make again: same recipients, selectors,
// clear part and names of values, and the same digest where there is a key to make one.
func (r *creationRule) wouldRepeat(content []byte, document sops.TreeBranch, digest string) bool {
	if !isOneDocument(content) {
		return false
	}
	tree, err := yaml.NewStore(&config.YAMLStoreConfig{}).LoadEncryptedFile(content)
	if err != nil || !sameTerms(tree.Metadata, r.metadata) {
		return false
	}
	have, want := found(tree.Branches[0]), expected(document)
	if digest != "" && have[digestPath] != digest {
		return false
	}
	delete(have, digestPath)
	delete(want, digestPath)
	_, differs := difference(have, want)
	return !differs
}

// sameTerms compares who can open two files and what of them is encrypted.
func sameTerms(one, other sops.Metadata) bool {
	same := func(left, right sops.KeyGroup) bool { return slices.Equal(recipients(left), recipients(right)) }
	return slices.EqualFunc(one.KeyGroups, other.KeyGroups, same) &&
		threshold(one) == threshold(other) && termsOf(one) == termsOf(other)
}

// terms are the selectors of a file.
type terms struct {
	unencryptedSuffix, encryptedSuffix, unencryptedRegex, encryptedRegex, unencryptedComment, encryptedComment string
	macOnlyEncrypted                                                                                           bool
}

func termsOf(m sops.Metadata) terms {
	return terms{
		unencryptedSuffix: m.UnencryptedSuffix, encryptedSuffix: m.EncryptedSuffix,
		unencryptedRegex: m.UnencryptedRegex, encryptedRegex: m.EncryptedRegex,
		unencryptedComment: m.UnencryptedCommentRegex, encryptedComment: m.EncryptedCommentRegex,
		macOnlyEncrypted: m.MACOnlyEncrypted,
	}
}

// threshold is how many key groups open a file; all of them by default, and of one group there is no choice.
func threshold(m sops.Metadata) int {
	if len(m.KeyGroups) < 2 {
		return len(m.KeyGroups)
	}
	return cmp.Or(m.ShamirThreshold, len(m.KeyGroups))
}

// recipients are the age recipients of a group, sorted: their order says nothing.
func recipients(group sops.KeyGroup) []string {
	kept, _ := ageOnly(group)
	names := make([]string, 0, len(kept))
	for _, key := range kept {
		names = append(names, strings.TrimSpace(key.ToString()))
	}
	slices.Sort(names)
	return names
}
