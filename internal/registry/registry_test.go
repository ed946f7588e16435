package registry_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clustermanager/cluster-manager/internal/registry"
)

const chartYAML = "apiVersion: v2\nname: small\nversion: 1.2.0+build.7\n"

// newChart writes the files of a chart and returns the folder that holds it.
func newChart(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for file, content := range files {
		path := filepath.Join(folder, name, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func serve(t *testing.T, folder string) *registry.Registry {
	t.Helper()
	served, err := registry.Serve(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = served.Close() })
	return served
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %v", url, response.Status, err)
	}
	return content
}

type descriptor struct{ MediaType, Digest string }

type manifest struct {
	MediaType string
	Config    descriptor
	Layers    []descriptor
}

// pull reads a chart as a client of OCI's distribution API does.
func pull(t *testing.T, served *registry.Registry, name, tag string) (manifest, map[string]string) {
	t.Helper()
	repository := "http://" + served.Address() + "/v2/" + registry.Prefix + name
	var found manifest
	if err := json.Unmarshal(get(t, repository+"/manifests/"+tag), &found); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"config": string(get(t, repository+"/blobs/"+found.Config.Digest))}
	uncompressed, err := gzip.NewReader(bytes.NewReader(get(t, repository+"/blobs/"+found.Layers[0].Digest)))
	if err != nil {
		t.Fatal(err)
	}
	for reader := tar.NewReader(uncompressed); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found, files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(content)
	}
}

func TestChartsAreServedAsHelmPushesThem(t *testing.T) {
	folder := newChart(t, "small-1.2.0+build.7", map[string]string{
		"Chart.yaml": chartYAML, "values.yaml": "a: 1\n", "templates/x.yaml": "x", "charts/child/Chart.yaml": "name: child\n",
	})
	if err := os.WriteFile(filepath.Join(folder, "README.md"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	served := serve(t, folder)
	found, files := pull(t, served, "small", "1.2.0_build.7")
	types := []string{found.MediaType, found.Config.MediaType, found.Layers[0].MediaType}
	if diff := cmp.Diff([]string{
		"application/vnd.oci.image.manifest.v1+json", "application/vnd.cncf.helm.config.v1+json",
		"application/vnd.cncf.helm.chart.content.v1.tar+gzip",
	}, types); diff != "" {
		t.Errorf("media types (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{
		"config":           `{"apiVersion":"v2","name":"small","version":"1.2.0+build.7"}`,
		"small/Chart.yaml": chartYAML, "small/values.yaml": "a: 1\n", "small/templates/x.yaml": "x",
		"small/charts/child/Chart.yaml": "name: child\n",
	}, files); diff != "" {
		t.Errorf("chart (-want +got):\n%s", diff)
	}

	if twin, _ := pull(t, serve(t, folder), "small", "1.2.0_build.7"); twin.Layers[0].Digest != found.Layers[0].Digest {
		t.Error("the same files made other bytes")
	}

	path := filepath.Join(folder, "small-1.2.0+build.7")
	if err := os.WriteFile(filepath.Join(path, "values.yaml"), []byte("a: 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := served.Push(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if _, files := pull(t, served, "small", "1.2.0_build.7"); files["small/values.yaml"] != "a: 2\n" {
		t.Errorf("after the push, the values are %q", files["small/values.yaml"])
	}
}

func TestWhatIsNoChart(t *testing.T) {
	for name, test := range map[string]struct {
		folder, content, want string
	}{
		"no Chart.yaml": {"small-1.2.0", "", "no such file"},
		"another name":  {"small-1.2.1", "name: small\nversion: 1.2.0\n", `should be "small-1.2.0"`},
		"no version":    {"small-", "name: small\n", `should be "small-"`},
		"no YAML":       {"small-1.2.0", "{", "Chart.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"values.yaml": ""}
			if test.content != "" {
				files["Chart.yaml"] = test.content
			}
			served, err := registry.Serve(t.Context(), newChart(t, test.folder, files))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "chart "+test.folder) {
				t.Errorf("serving: %v, want %q", err, test.want)
			}
			if served != nil {
				t.Error("a registry is there")
			}
		})
	}
}

func TestNothingAnswersAfterClose(t *testing.T) {
	served := serve(t, t.TempDir())
	if err := served.Close(); err != nil {
		t.Fatal(err)
	}
	if response, err := http.Get("http://" + served.Address() + "/v2/"); err == nil {
		_ = response.Body.Close()
		t.Errorf("it answers %s", response.Status)
	}
}
