package proof

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/fluxcd/pkg/kustomize"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// tempPrefix marks our temporary folders, for Sweep.
const tempPrefix = "cluster-manager-proof-"

// tempAge is how old a temporary folder is when Sweep takes it: no proof lives so long.
const tempAge = time.Hour

// errDisk says that the temporary folder could not be used, which is no fault of the tree.
var errDisk = errors.New("temporary folder")

// generate lets Flux's generator make the kustomization of a folder, and returns its path in the repository and its
// text. The generator alone needs a disk, so it gets the files that it reads in a folder of our own, which is gone
// when generate returns. Errors name paths of the repository.
func generate(root string, spec map[string]any, files map[string][]byte, folders []string) (name string, manifest []byte, err error) {
	temp, err := os.MkdirTemp("", tempPrefix)
	if err != nil {
		return "", nil, fmt.Errorf("%w: making: %w", errDisk, err)
	}
	defer func() {
		if removing := os.RemoveAll(temp); removing != nil && err == nil {
			err = fmt.Errorf("%w: removing: %w", errDisk, removing)
		}
	}()
	for _, dir := range append(folders, root) {
		if err := os.MkdirAll(filepath.Join(temp, dir), 0o700); err != nil {
			return "", nil, fmt.Errorf("%w: writing: %w", errDisk, err)
		}
	}
	for name, content := range files {
		if err := writeNew(filepath.Join(temp, name), content); err != nil {
			return "", nil, fmt.Errorf("%w: writing: %w", errDisk, err)
		}
	}
	defer recovered(&err)
	// The generator changes what it is given.
	object := unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	manifest, at, _, err := kustomize.NewGenerator(temp, *object.DeepCopy()).GenerateManifest(filepath.Join(temp, root))
	if err != nil {
		return "", nil, errors.New(strings.ReplaceAll(err.Error(), temp+"/", ""))
	}
	return path.Join(root, filepath.Base(at)), manifest, nil
}

func writeNew(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, content, 0o600)
}

// Sweep removes the temporary folders of proofs that a killed process left behind: those of our prefix that are older
// than an hour. Call it when the process starts.
func Sweep(now time.Time) error {
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		return fmt.Errorf("temporary folders: sweeping: %w", err)
	}
	var faults []error
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) || !entry.IsDir() || !strings.HasPrefix(entry.Name(), tempPrefix) {
			continue
		}
		if err == nil && now.Sub(info.ModTime()) > tempAge {
			err = os.RemoveAll(filepath.Join(os.TempDir(), entry.Name()))
		}
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("temporary folders: sweeping: %w", err)
	}
	return nil
}

// recovered turns a panic into an error: kustomize and YAML parsers panic on some invalid objects.
func recovered(err *error) {
	if panicked := recover(); panicked != nil {
		*err = fmt.Errorf("kustomize panicked: %v", panicked)
	}
}
