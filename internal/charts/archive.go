package charts

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"sigs.k8s.io/yaml"
)

// Limits bound what is read of a chart, so that an archive made to fill memory is refused while it is unpacked.
type Limits struct {
	// Layer is the most bytes of an archive, and of any answer of a registry.
	Layer int64
	// Unpacked is the most bytes of all files of a chart, Files the most of them.
	Unpacked int64
	Files    int
	// Cache is the most unpacked bytes of the charts that are kept.
	Cache int64
}

// DefaultLimits are about ten times what the largest chart of the fleet needs, and fit a small container.
func DefaultLimits() Limits {
	return Limits{Layer: 10 << 20, Unpacked: 32 << 20, Files: 5000, Cache: 48 << 20}
}

func (l Limits) orDefaults() Limits {
	defaults := DefaultLimits()
	for value, fallback := range map[*int64]int64{&l.Layer: defaults.Layer, &l.Unpacked: defaults.Unpacked, &l.Cache: defaults.Cache} {
		if *value == 0 {
			*value = fallback
		}
	}
	if l.Files == 0 {
		l.Files = defaults.Files
	}
	return l
}

// unpack reads a chart's archive: one folder, whose Chart.yaml names the chart.
func unpack(compressed []byte, limits Limits) (*Chart, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, errors.New("it is not compressed by gzip")
	}
	chart := &Chart{Files: map[string][]byte{}}
	// A tar's headers cost bytes that no file's size counts. The limit is odd, because a tar that ends between two of its
	// blocks would pass as a complete one.
	archive := tar.NewReader(io.LimitReader(unzipped, (limits.Unpacked+int64(limits.Files)*4096)|1))
	folder := ""
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return chart, chart.readMetadata()
		}
		if err != nil {
			return nil, fmt.Errorf("it is no complete tar: %w", err)
		}
		if err := chart.add(header, archive, &folder, limits); err != nil {
			return nil, err
		}
	}
}

// add takes one entry of the archive.
func (c *Chart) add(header *tar.Header, content io.Reader, folder *string, limits Limits) error {
	switch header.Typeflag {
	case tar.TypeDir, tar.TypeXGlobalHeader:
		return nil
	case tar.TypeReg:
	default:
		return fmt.Errorf("%q is neither a file nor a folder", header.Name)
	}
	at := strings.TrimPrefix(header.Name, "./")
	top, name, nested := strings.Cut(at, "/")
	if !nested || !fs.ValidPath(at) || strings.Contains(at, `\`) {
		return fmt.Errorf("%q is no path of a file in the chart's folder", header.Name)
	}
	if *folder == "" {
		*folder = top
	}
	if _, twice := c.Files[name]; twice || top != *folder {
		return fmt.Errorf("%q stands twice, or outside the chart's folder", header.Name)
	}
	if len(c.Files) >= limits.Files {
		return fmt.Errorf("it holds more than %d files", limits.Files)
	}
	data, err := io.ReadAll(io.LimitReader(content, limits.Unpacked-c.size+1))
	if err != nil {
		return fmt.Errorf("%q is not complete: %w", header.Name, err)
	}
	if c.size += int64(len(data)); c.size > limits.Unpacked {
		return fmt.Errorf("it unpacks to more than %d bytes", limits.Unpacked)
	}
	c.Files[name] = data
	return nil
}

func (c *Chart) readMetadata() error {
	source, there := c.Files[metadataFile]
	if !there {
		return errors.New("it has no " + metadataFile)
	}
	var metadata struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	if err := yaml.Unmarshal(source, &metadata); err != nil || metadata.Name == "" || metadata.Version == "" {
		return errors.New("its " + metadataFile + " names no chart and version")
	}
	c.Name, c.Version = metadata.Name, metadata.Version
	return nil
}
