package seal

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Options are what sealing needs to know besides the files.
type Options struct {
	// Repository is owner/name, for messages.
	Repository string
	// Decrypts says that the owning Kustomization decrypts with sops; without it a file to seal is refused.
	Decrypts bool
	// Kustomization is namespace/name of the owning Kustomization, for messages.
	Kustomization string
	// Proposed opens the branch of an earlier proposal, whose sealed files are kept as the base's are: sealing again
	// would give another text, and a re-run would differ from the pull request that it means. It is called at most once,
	// when the base has no file to keep; nil, and a nil FS: there is none.
	Proposed func() (fs.FS, error)
	// DigestKey is the key of AnnotationDigest; zero: no digest is written or compared.
	DigestKey clustermanager.Secret
}

// Result is a change whose Secrets are sealed.
type Result struct {
	// Files are the files given, the sealed and kept ones with Content, Sensitive and without Plain.
	Files clustermanager.FileSet
	// Rules are the creation rules of the files that hold a Secret, by path.
	Rules []Rule
	// Kept are the paths whose file in the base, or on the branch of an earlier proposal, stays as it is, sorted.
	Kept []string
	// Warnings are sentences for the answer.
	Warnings []string
}

// Rule is the creation rule that a file was sealed by.
type Rule struct {
	// Path is the sealed file, Config the .sops.yaml, both from the repository's root.
	Path, Config string
	// Recipients is the number of age recipients that can open the file.
	Recipients int

	place func() (number, line int)
}

// Place is where the rule stands: its number counts the rules of the configuration from 1, line its lines. 0: not known,
// as in a configuration of several documents or, for the line, in flow style. It reads the configuration once more,
// which costs more than sealing does.
func (r Rule) Place() (number, line int) {
	if r.place == nil {
		return 0, 0
	}
	return r.place()
}

// Files seals every file of the change that has Plain set. Base is the repository at the commit that the change is made
// on, as of its root. The files given are not changed.
//
// A Plain that is not exactly one v1 Secret, and a base that cannot be read, are errors; everything that a person
// can mend in the repository is a *clustermanager.Refusal.
func Files(base fs.FS, files clustermanager.FileSet, options Options) (Result, error) {
	result := Result{Files: maps.Clone(files)}
	if options.Proposed == nil {
		options.Proposed = func() (fs.FS, error) { return nil, nil }
	}
	options.Proposed = sync.OnceValues(options.Proposed)
	for _, path := range files.Paths() {
		file := files[path]
		if file.Plain.IsZero() || file.Delete {
			if file.Sensitive && file.Content == nil && !file.Delete {
				return Result{}, fmt.Errorf("%s: sealing: there is no document", path)
			}
			continue
		}
		if !options.Decrypts {
			return Result{}, refuseDecryption(options, path)
		}
		content, err := result.seal(base, path, file.Plain, options)
		if err != nil {
			return Result{}, err
		}
		result.Files[path] = clustermanager.File{Content: content, Sensitive: true}
	}
	return result, nil
}

// seal returns the text of one file and notes how it came about.
func (r *Result) seal(base fs.FS, path string, plain clustermanager.Secret, options Options) ([]byte, error) {
	document, err := readSecret(path, plain)
	if err != nil {
		return nil, err
	}
	configuration, err := nearest(base, path, options.Repository)
	if err != nil {
		return nil, err
	}
	rule, err := configuration.ruleFor(path)
	if err != nil {
		return nil, err
	}
	digest, err := digestOf(document, options.DigestKey)
	if err != nil {
		return nil, fmt.Errorf("%s: making the content digest: %w", path, err)
	}
	r.Rules = append(r.Rules, rule.Rule)
	r.warn(configuration.warnings...)
	for _, open := range []func() (fs.FS, error){func() (fs.FS, error) { return base, nil }, options.Proposed} {
		existing, err := existingFile(open, path)
		if err != nil {
			return nil, err
		}
		if existing != nil && rule.wouldRepeat(existing, document, digest) {
			r.Kept = append(r.Kept, path)
			if digest == "" {
				r.warn(fmt.Sprintf("%s is kept as it is sealed: its values cannot be compared, so one that changed since does not reach git; delete the file in the repository, then call again, to seal it anew", path))
			}
			return existing, nil
		}
	}
	r.warn(rule.leftOutWarning()...)
	return rule.encrypt(document, digest)
}

func (r *Result) warn(sentences ...string) {
	for _, sentence := range sentences {
		if !slices.Contains(r.Warnings, sentence) {
			r.Warnings = append(r.Warnings, sentence)
		}
	}
}

// String names the rule as messages do: "rule 2 (line 7) of clusters/.sops.yaml".
func (r Rule) String() string {
	var text strings.Builder
	text.WriteString("the rule")
	number, line := r.Place()
	if number > 0 {
		text.Reset()
		fmt.Fprintf(&text, "rule %d", number)
	}
	if line > 0 {
		fmt.Fprintf(&text, " (line %d)", line)
	}
	return text.String() + " of " + r.Config
}
