package snapshot

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

var createOptions = metav1.CreateOptions{}

// folder is a snapshot's folder that is being written.
type folder struct{ path string }

// write makes a file that its owner alone may read. A name that leads out of the folder is a fault.
func (f *folder) write(name string, content []byte) error {
	if !fs.ValidPath(filepath.ToSlash(name)) {
		return fmt.Errorf("folder %s: writing: %q is no name of a file in it", f.path, name)
	}
	path := filepath.Join(f.path, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("folder %s: writing: %w", f.path, err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("folder %s: writing: %w", f.path, err)
	}
	return nil
}

// objects writes what a reader found, masked, one file each: <below>/<namespace>/<kind>[.<group>]-<name>.yaml.
func (f *folder) objects(below string, reader *reader, report *Report) error {
	written := map[string]bool{}
	for _, kind := range reader.kinds() {
		for _, object := range reader.all(kind) {
			document, err := yaml.Marshal(masked(object).Object)
			if err != nil {
				return fmt.Errorf("%s: encoding: %w", clustermanager.ReferenceTo(object), err)
			}
			namespace := object.GetNamespace()
			if namespace == "" {
				namespace = "cluster-scoped"
			}
			name := filepath.Join(below, namespace, fileName(strings.ToLower(kind)+"-"+object.GetName()))
			if written[name] {
				name = filepath.Join(below, namespace, fileName(strings.ToLower(kind)+"."+object.GroupVersionKind().Group+"-"+object.GetName()))
			}
			written[name] = true
			if err := f.write(name, document); err != nil {
				return err
			}
			report.Objects++
		}
	}
	// A cluster without an object is one that can be read, and so has its folder.
	if err := os.MkdirAll(filepath.Join(f.path, below), 0o700); err != nil {
		return fmt.Errorf("folder %s: writing: %w", f.path, err)
	}
	return nil
}

// fileName keeps what names of some kinds hold, such as system:node, out of a file's name.
func fileName(name string) string {
	return strings.NewReplacer(":", "_", "/", "_", `\`, "_").Replace(name) + ".yaml"
}

// chart writes charts/<name>-<version>/.
func (f *folder) chart(chart Chart) error {
	for name, content := range chart.Files {
		if err := f.write(filepath.Join("charts", fileBase(chart.Name+"-"+chart.Version), filepath.FromSlash(name)), content); err != nil {
			return err
		}
	}
	return nil
}

func fileBase(name string) string { return strings.TrimSuffix(fileName(name), ".yaml") }

// settings writes cluster-manager.yaml, and the issuer's authority beside it.
func (f *folder) settings(options Options) error {
	settings := map[string]any{}
	for name, value := range options.Given {
		settings[name] = value
	}
	var errs []error
	if options.Settings.IssuerCA != "" {
		settings["dex-ca-file"] = "issuer-ca.pem"
		errs = append(errs, f.write("issuer-ca.pem", []byte(options.Settings.IssuerCA)))
	}
	caller := map[string]any{}
	if options.Caller.Email != "" {
		caller["email"] = options.Caller.Email
	}
	if len(options.Caller.Groups) > 0 {
		caller["groups"] = options.Caller.Groups
	}
	if options.Caller.GitHub != nil && options.Caller.GitHub.Login != "" {
		caller["github"] = options.Caller.GitHub.Login
	}
	if len(caller) > 0 {
		settings["caller"] = caller
	}
	document, err := yaml.Marshal(settings)
	return errors.Join(append(errs, err, f.write("cluster-manager.yaml", document))...)
}

// unread writes what the snapshot lacks.
func (f *folder) unread(report Report) error {
	var text strings.Builder
	_, _ = text.WriteString("Not in this snapshot. What could not be read is absent here, where the tools would say that it is unknown.\n\n" +
		"Repositories: put work trees into repos/<owner>/<name> for mode commit.\n")
	for _, line := range report.Unread {
		_, _ = text.WriteString(line + "\n")
	}
	return f.write(unreadFile, []byte(text.String()))
}

func decodeBase64(encoded string) ([]byte, error) {
	content, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(content) == 0 {
		return nil, errors.New("its kubeconfig Secret holds no kubeconfig")
	}
	return content, nil
}
