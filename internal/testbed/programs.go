package testbed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// What is built, by its name in the cache folder.
const (
	etcd                = "etcd"
	apiServer           = "kube-apiserver"
	controllerManager   = "kube-controller-manager"
	sourceController    = "source-controller"
	kustomizeController = "kustomize-controller"
	issuer              = "issuer"
	helmDefinitions     = "helm-definitions"
	helmStandIn         = "helm-stand-in"
)

// out stands in a command for the path to write to.
const out = "OUT"

// product is a program or a folder with the command that makes it, run in its module's folder.
type product struct {
	name    string
	command []string
}

// module is a module of its own below programs/, so that the product's go.mod names the product's needs alone.
type module struct {
	name     string
	products []product
}

// The versions are those of kubernetes in programs/kube/go.mod; the API server answers them at /version.
const kubernetesFlags = "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3" +
	" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36"

var modules = []module{
	{"issuer", []product{
		{issuer, goBuild("-s -w", ".")},
	}},
	{"definitions", []product{
		{helmDefinitions, []string{
			"go", "tool", "controller-gen", "crd:crdVersions=v1",
			"paths=github.com/fluxcd/helm-controller/api/v2", "output:crd:dir=" + out,
		}},
	}},
	{"helm", []product{
		{helmStandIn, goBuild("-s -w", ".")},
	}},
	{"kube", []product{
		{etcd, goBuild(kubernetesFlags, "go.etcd.io/etcd/server/v3")},
		{apiServer, goBuild(kubernetesFlags, "k8s.io/kubernetes/cmd/kube-apiserver")},
		{controllerManager, goBuild(kubernetesFlags, "k8s.io/kubernetes/cmd/kube-controller-manager")},
	}},
	{"flux", []product{
		{sourceController, goBuild("-s -w", "github.com/fluxcd/source-controller")},
		{kustomizeController, goBuild("-s -w", "github.com/fluxcd/kustomize-controller")},
	}},
}

// goBuild prints a line for each package, which is what progress is counted by.
func goBuild(linkerFlags, program string) []string {
	return []string{"go", "build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", linkerFlags, "-o", out, program}
}

// place is where a product is, or will be.
type place struct {
	product
	// source is the folder of its module, target the file or folder in the cache.
	source, target string
}

func (p place) missing() bool {
	_, err := os.Stat(p.target)
	return err != nil
}

// places are the products of all modules, in the order they are built.
func places() ([]place, error) {
	programs, err := programsFolder()
	if err != nil {
		return nil, err
	}
	cache, err := cacheFolder()
	if err != nil {
		return nil, err
	}
	var all []place
	for _, module := range modules {
		source := filepath.Join(programs, module.name)
		sum, err := module.sum(source)
		if err != nil {
			return nil, fmt.Errorf("test bed: module %s: reading: %w", module.name, err)
		}
		for _, product := range module.products {
			all = append(all, place{product, source, filepath.Join(cache, module.name+"-"+sum, product.name)})
		}
	}
	return all, nil
}

// sum tells builds of a module apart: by its files, go.mod and go.sum among them, by the commands and the platform.
func (m module) sum(folder string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.GOOS, runtime.GOARCH)
	for _, product := range m.products {
		fmt.Fprintln(hash, product.name, strings.Join(product.command, "\x00"))
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintln(hash, entry.Name(), len(content))
		hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// programsFolder looks for programs/ from the working directory upwards, since go test runs in a package's folder.
func programsFolder() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("test bed: asking for the working directory: %w", err)
	}
	for {
		folder := filepath.Join(at, "internal", "testbed", "programs")
		switch _, err := os.Stat(folder); {
		case err == nil:
			return folder, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("test bed: looking for its programs: %w", err)
		}
		above := filepath.Dir(at)
		if above == at {
			return "", errors.New("test bed: looking for its programs: this is no folder of the checkout")
		}
		at = above
	}
}

// cacheFolder follows the XDG rules on every platform.
func cacheFolder() (string, error) {
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("test bed: looking for the cache folder: %w", err)
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "cluster-manager", "testbed"), nil
}

// built are the targets of all products by name, and the folders of the modules with definitions; or the error that says
// how to get them.
func built(ctx context.Context) (targets, folders map[string]string, err error) {
	all, err := places()
	if err != nil {
		return nil, nil, err
	}
	if slices.ContainsFunc(all, place.missing) {
		return nil, nil, ErrNotBuilt
	}
	if folders, err = moduleFolders(ctx, AllSets(), "GOPROXY=off"); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrNotBuilt, err)
	}
	targets = map[string]string{}
	for _, one := range all {
		targets[one.name] = one.target
	}
	folders[""] = targets[helmDefinitions]
	return targets, folders, nil
}

// ErrNotBuilt says the way out.
var ErrNotBuilt = errors.New("test bed: the programs are not built: run `make testbed` (minutes, once)")
