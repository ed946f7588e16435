package charts

import (
	"archive/tar"
	"net/http"
	"strings"
	"testing"
)

const named = "name: serving\nversion: 1.0.0\n"

func TestWhatIsNoChartIsRefused(t *testing.T) {
	t.Parallel()
	file := func(name string) *tar.Header {
		return &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600, Size: 1}
	}
	entries := func(headers ...*tar.Header) []byte {
		return packEntries(t, headers, func(header *tar.Header) string { return strings.Repeat("x", int(header.Size)) })
	}
	whole := pack(t, "serving", map[string]string{"Chart.yaml": named, "values.yaml": strings.Repeat("a: 1\n", 1000)})
	limits := Limits{Layer: 1 << 20, Unpacked: 64 << 10, Files: 10}
	for name, test := range map[string]struct {
		archive []byte
		want    string
	}{
		"no gzip":            {[]byte("text"), "it is not compressed by gzip"},
		"cut":                {whole[:len(whole)/2], "it is no complete tar: "},
		"nothing":            {entries(), "it has no Chart.yaml"},
		"no name":            {pack(t, "serving", map[string]string{"Chart.yaml": "version: 1.0.0\n"}), "its Chart.yaml names no chart and version"},
		"climbs":             {entries(file("serving/../../x")), `"serving/../../x" is no path of a file in the chart's folder`},
		"climbs at once":     {entries(file("../x")), `"../x" is no path`},
		"absolute":           {entries(file("/etc/x")), `"/etc/x" is no path`},
		"of another system":  {entries(file(`serving/a\..\b`)), "is no path"},
		"beside the folder":  {entries(file("serving/a"), file("other/b")), `"other/b" stands twice, or outside the chart's folder`},
		"no folder":          {entries(file("Chart.yaml")), `"Chart.yaml" is no path`},
		"twice":              {entries(file("serving/a"), file("./serving/a")), `"./serving/a" stands twice`},
		"symbolic link":      {entries(&tar.Header{Name: "serving/a", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}), `"serving/a" is neither a file nor a folder`},
		"hard link":          {entries(&tar.Header{Name: "serving/a", Linkname: "serving/b", Typeflag: tar.TypeLink}), `"serving/a" is neither`},
		"device":             {entries(&tar.Header{Name: "serving/a", Typeflag: tar.TypeChar}), `"serving/a" is neither`},
		"too large":          {pack(t, "serving", map[string]string{"Chart.yaml": named, "bomb": strings.Repeat("\x00", 1<<20)}), "it unpacks to more than 65536 bytes"},
		"too large together": {pack(t, "serving", map[string]string{"a": strings.Repeat("a", 40<<10), "b": strings.Repeat("b", 40<<10)}), "it unpacks to more than 65536 bytes"},
		"too many files":     {entries(files(11)...), "it holds more than 10 files"},
		"headers alone":      {entries(folders(2000)...), "it is no complete tar: "},
	} {
		if _, err := unpack(test.archive, limits); err == nil || !strings.HasPrefix(err.Error(), test.want) && !strings.HasSuffix(err.Error(), test.want) && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}

func files(count int) []*tar.Header {
	var headers []*tar.Header
	for i := range count {
		headers = append(headers, &tar.Header{Name: "serving/" + strings.Repeat("a", i+1), Typeflag: tar.TypeReg})
	}
	return headers
}

func folders(count int) []*tar.Header {
	var headers []*tar.Header
	for range count {
		headers = append(headers, &tar.Header{Name: "serving/a/", Typeflag: tar.TypeDir})
	}
	return headers
}

func TestWhatTheRegistryHoldsIsChecked(t *testing.T) {
	t.Parallel()
	good := pack(t, "serving", map[string]string{"Chart.yaml": named})
	tampered := pack(t, "serving", map[string]string{"Chart.yaml": named, "values.yaml": "evil: true\n"})
	for name, test := range map[string]struct {
		tag       string
		mediaType string
		content   []byte
		answer    func(http.ResponseWriter, *http.Request) bool
		want      string
	}{
		"another image":     {"1.0.0", "application/vnd.oci.image.layer.v1.tar+gzip", good, nil, "reading its manifest: it has no archive of a Helm chart"},
		"another version":   {"1.0.1", contentType, good, nil, "checking its Chart.yaml: it is chart serving 1.0.0"},
		"a large archive":   {"1.0.0", contentType, make([]byte, 4097), nil, "reading its archive: it has 4097 bytes, more than the 4096 that are read"},
		"a broken archive":  {"1.0.0", contentType, []byte("text"), nil, "unpacking its archive: it is not compressed by gzip"},
		"another archive":   {"1.0.0", contentType, good, blob(tampered), "reading its archive: "},
		"an endless answer": {"1.0.0", contentType, good, blob(make([]byte, 1<<20)), "reading its archive: "},
		"a lost archive": {"1.0.0", contentType, good, func(writer http.ResponseWriter, request *http.Request) bool {
			if !strings.Contains(request.URL.Path, "/blobs/") {
				return false
			}
			writer.WriteHeader(http.StatusNotFound)
			return true
		}, "reading its archive: the registry answered with status 404"},
		"an endless manifest": {"1.0.0", contentType, good, func(writer http.ResponseWriter, request *http.Request) bool {
			if !strings.Contains(request.URL.Path, "/manifests/") {
				return false
			}
			_, _ = writer.Write(make([]byte, 1<<20))
			return true
		}, "reading its manifest: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t)
			server.push("serving", test.tag, test.mediaType, test.content)
			server.answerWith(test.answer)
			registry := New(Options{Limits: Limits{Layer: 4096}})
			chart, err := registry.Chart(t.Context(), server.url("serving"), test.tag)
			if prefix := "chart " + server.url("serving") + " " + test.tag + ": " + test.want; err == nil || chart != nil || !strings.HasPrefix(err.Error(), prefix) {
				t.Errorf("got  %v\nwant %s", err, prefix)
			}
			if name != "another version" && registry.cache.size != 0 {
				t.Error("it is kept")
			}
		})
	}
}

// blob answers every blob with the content.
func blob(content []byte) func(http.ResponseWriter, *http.Request) bool {
	return func(writer http.ResponseWriter, request *http.Request) bool {
		if !strings.Contains(request.URL.Path, "/blobs/") {
			return false
		}
		_, _ = writer.Write(content)
		return true
	}
}

// Whatever an archive holds, unpacking ends, keeps to the limits and gives a named chart or an error.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte("text"))
	f.Add(pack(f, "serving", map[string]string{"Chart.yaml": named}))
	f.Add(pack(f, "serving", map[string]string{"Chart.yaml": named, "values.yaml": "a: 1\n", "charts/x/values.yaml": "b: 1\n"}))
	f.Add(packEntries(f, folders(3), func(*tar.Header) string { return "" }))
	limits := Limits{Unpacked: 4096, Files: 5}
	f.Fuzz(func(t *testing.T, archive []byte) {
		chart, err := unpack(archive, limits)
		if err != nil {
			return
		}
		size := 0
		for name, content := range chart.Files {
			size += len(content)
			if strings.HasPrefix(name, "/") || strings.Contains("/"+name+"/", "/../") {
				t.Errorf("file %q", name)
			}
		}
		if chart.Name == "" || chart.Version == "" || size > 4096 || len(chart.Files) > 5 {
			t.Errorf("chart %q %q of %d bytes, %d files", chart.Name, chart.Version, size, len(chart.Files))
		}
		_, _, _ = chart.Values()
	})
}
