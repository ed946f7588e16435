package seal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/getsops/sops/v3/config"
)

const (
	configurationName = ".sops.yaml"
	// misnamed is what sops looks for only to say that it does not read it.
	misnamed = ".sops.yml"
	// sizeLimit bounds what is read of a configuration or a sealed file, in bytes: the size that Kubernetes allows a
	// Secret.
	sizeLimit = 1 << 20
)

// configuration is the .sops.yaml that rules a file.
type configuration struct {
	repository string
	path       string
	content    []byte
	warnings   []string
}

// nearest finds the configuration that rules a file: the .sops.yaml of its folder, else of the next one above, up to
// the repository's root.
func nearest(base fs.FS, file, repository string) (*configuration, error) {
	if !fs.ValidPath(file) {
		return nil, fmt.Errorf("%q: sealing: not a path within the repository", file)
	}
	ignored := ""
	for folder := path.Dir(file); ; folder = path.Dir(folder) {
		name := path.Join(folder, configurationName)
		info, err := fs.Lstat(base, name)
		switch {
		case err == nil:
			return open(base, name, info, ignored, repository)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s: looking for the sops configuration: %w", name, err)
		}
		if other := path.Join(folder, misnamed); ignored == "" && exists(base, other) {
			ignored = other
		}
		if folder == "." {
			return nil, refuseNoConfiguration(repository, file, ignored)
		}
	}
}

func exists(base fs.FS, name string) bool {
	_, err := fs.Lstat(base, name)
	return err == nil
}

func open(base fs.FS, name string, info fs.FileInfo, ignored, repository string) (*configuration, error) {
	c := &configuration{repository: repository, path: name}
	if !info.Mode().IsRegular() {
		return nil, c.refuse("is not a regular file: make it one")
	}
	content, err := readLimited(base, name)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, c.refuse("is larger than 1 MiB: shorten it")
	case err != nil:
		return nil, fmt.Errorf("%s: reading the sops configuration: %w", name, err)
	}
	if ignored != "" {
		c.warnings = append(c.warnings, fmt.Sprintf("%s in %s is not read, %s rules instead: sops reads %s alone",
			ignored, repository, name, configurationName))
	}
	c.content = content
	return c, nil
}

var errTooLarge = errors.New("larger than 1 MiB")

func readLimited(base fs.FS, name string) ([]byte, error) {
	file, err := base.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, sizeLimit+1))
	if err == nil && len(content) > sizeLimit {
		err = errTooLarge
	}
	return content, err
}

// relative is a file's path as the rules of this configuration see it.
func (c *configuration) relative(file string) string {
	return strings.TrimPrefix(file, strings.TrimSuffix(c.path, configurationName))
}

// What sops says, in version 3.13.3, of a configuration that has no rule for a file, and of one that it cannot read.
const (
	saysNoRule     = "no matching creation rules found"
	saysUnreadable = "Could not unmarshal config file"
)

// ruleFor lets sops choose the rule of a file.
func (c *configuration) ruleFor(file string) (*creationRule, error) {
	copied, err := c.copy()
	if err != nil {
		return nil, fmt.Errorf("%s: copying it for sops: %w", c.path, err)
	}
	defer func() { _ = os.Remove(copied) }()
	place := sync.OnceValues(func() (int, int) { return readRules(c.content).match(c.relative(file)) })
	rule := &creationRule{Rule: Rule{Path: file, Config: c.path, place: place}, repository: c.repository}
	chosen, err := config.LoadCreationRuleForFile(copied, c.relative(file), nil)
	switch {
	case err == nil && chosen == nil, err != nil && strings.Contains(err.Error(), saysNoRule):
		return nil, c.refuseNoRule(file)
	case err != nil && strings.Contains(err.Error(), saysUnreadable):
		return nil, c.refuseUnreadable(err)
	case err != nil:
		return nil, rule.refuse("cannot be used (%s): mend it", cause(err))
	}
	if rule.store, err = c.store(copied); err != nil {
		return nil, err
	}
	return rule, rule.take(chosen)
}

// store reads how sealed files are written. Sops would parse the whole configuration once more for it, so it is asked
// only where there is something to read.
func (c *configuration) store(copied string) (config.YAMLStoreConfig, error) {
	if !bytes.Contains(c.content, []byte("stores")) {
		return config.YAMLStoreConfig{}, nil
	}
	stores, err := config.LoadStoresConfig(copied)
	switch {
	case err != nil:
		return config.YAMLStoreConfig{}, c.refuseUnreadable(err)
	case stores.YAML.Indent < 0:
		return config.YAMLStoreConfig{}, c.refuse("sets a negative stores.yaml.indent: take it out")
	}
	return stores.YAML, nil
}

// copy writes the configuration, which holds no secret, to a private file and returns its path.
func (c *configuration) copy() (string, error) {
	file, err := os.CreateTemp("", "cluster-manager-sops-*.yaml")
	if err != nil {
		return "", err
	}
	_, err = file.Write(c.content)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// Reads are the paths where a file of the directory finds its configuration, nearest first, so that they can be fetched
// at once. Not all of them need be there.
func Reads(directory string) []string {
	var paths []string
	for ; directory != "." && directory != "/"; directory = path.Dir(directory) {
		paths = append(paths, path.Join(directory, configurationName))
	}
	return append(paths, configurationName)
}
