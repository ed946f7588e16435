package partial

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Way is how a server lets objects be fetched.
type Way string

const (
	// WayPartial is protocol version 2 with filters: single objects are fetched.
	WayPartial Way = "partial"
	// WayShallow is version 2 without filters: a commit comes with all its files, without its history.
	WayShallow Way = "shallow"
	// WayVersion0 is as WayShallow, by protocol version 0 or 1: the server lists all its refs before anything else.
	WayVersion0 Way = "version 0"
)

// advertisement is what a server says before it is asked anything.
type advertisement struct {
	// version is 2, or 0, which is version 1 too: that has one more line.
	version int
	// capabilities are by name, such as "fetch" with the value "shallow filter".
	capabilities map[string]string
	// branches are those of version 0; version 2 lists none.
	branches []branch
}

// branch is a name without refs/heads/ and its commit.
type branch struct {
	name string
	hash Hash
}

// has says whether fetches know the feature.
func (a advertisement) has(feature string) bool {
	if a.version == 2 {
		return strings.Contains(" "+a.capabilities["fetch"]+" ", " "+feature+" ")
	}
	_, named := a.capabilities[feature]
	return named
}

// advertisement reads info/refs, and says where the repository is now.
func (r *Remote) advertisement(ctx context.Context) (advertisement, *url.URL, error) {
	const doing = "reading the server's capabilities"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base.String()+"/info/refs?service="+uploadPack, nil)
	if err != nil {
		return advertisement{}, nil, r.wrap(doing, err)
	}
	response, err := r.send(request, doing, maxRefsBytes)
	if err != nil {
		return advertisement{}, nil, err
	}
	defer response.Body.Close()
	if response.Header.Get("Content-Type") != "application/x-"+uploadPack+"-advertisement" {
		return advertisement{}, nil, clustermanager.Refuse("repository %s: what answers there is no git server that this build can speak to: correct the URL in the GitRepository", r.name)
	}
	moved := *response.Request.URL
	path, found := strings.CutSuffix(moved.Path, "/info/refs")
	if !found {
		return advertisement{}, nil, r.wrap(doing, errors.New("the server redirects to something that is no repository"))
	}
	moved.Path, moved.RawPath, moved.RawQuery = path, "", ""
	said, err := readAdvertisement(newPacketReader(response.Body))
	switch {
	case errors.Is(err, errTooLong) && said.version == 0 && len(said.branches) > 0:
		err = clustermanager.Refuse("repository %s: the server lists all its refs unasked, and they are more than the %d MiB that are read: let it speak git's protocol version 2",
			r.name, maxRefsBytes>>20)
	case err != nil:
		err = r.wrap(doing, err)
	}
	return said, &moved, err
}

// readAdvertisement reads past the service announcement and tells the versions apart.
func readAdvertisement(packets *packetReader) (advertisement, error) {
	first := ""
	for first == "" {
		text, ok, err := packets.line()
		if err != nil {
			return advertisement{}, cut(err)
		}
		if ok && !strings.HasPrefix(text, "# service=") {
			first = text
		}
	}
	if first == "version 2" {
		return readCapabilities(packets)
	}
	if first == "version 1" {
		text, _, err := packets.line()
		if err != nil {
			return advertisement{}, cut(err)
		}
		first = text
	}
	return readAllRefs(first, packets)
}

// readCapabilities reads version 2's, one a line, up to the flush packet.
func readCapabilities(packets *packetReader) (advertisement, error) {
	said := advertisement{version: 2, capabilities: map[string]string{}}
	for size := 0; ; {
		text, ok, err := packets.line()
		if err != nil {
			return said, cut(err)
		}
		if !ok {
			return said, nil
		}
		if size += len(text); size > maxAdvertisementBytes {
			return said, errTooLong
		}
		name, value, _ := strings.Cut(text, "=")
		said.capabilities[name] = value
	}
}

// readAllRefs reads version 0's refs up to the flush packet; the capabilities stand behind the first. A repository
// without refs has a line of zeros.
func readAllRefs(first string, packets *packetReader) (advertisement, error) {
	said := advertisement{capabilities: map[string]string{}}
	first, capabilities, found := strings.Cut(first, "\x00")
	if !found {
		return said, errors.New("the server's first line is neither a version nor a ref with capabilities")
	}
	for capability := range strings.FieldsSeq(capabilities) {
		name, value, _ := strings.Cut(capability, "=")
		said.capabilities[name] = value
	}
	if format := said.capabilities["object-format"]; format != "" && format != objectFormat {
		return said, nil
	}
	for text := first; ; {
		one, isBranch, err := readRef(text)
		if err != nil {
			return said, err
		}
		if isBranch {
			said.branches = append(said.branches, one)
		}
		next, ok, err := packets.line()
		if err != nil {
			return said, cut(err)
		}
		if !ok {
			return said, nil
		}
		text = next
	}
}

// cut is the error of an answer that must not end yet.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
