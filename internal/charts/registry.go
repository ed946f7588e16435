package charts

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

const (
	// DefaultTimeout is how long one read of a registry may take, all its requests together.
	DefaultTimeout = 20 * time.Second
	// maxTags bounds a chart's tags; the largest of the fleet have some thousands.
	maxTags = 50_000
)

// Options say how registries are reached.
type Options struct {
	// Address gives the address that is asked in place of a chart's registry host, such as 127.0.0.1:5000 for every
	// host, so that nothing leaves this machine; nil: each host is asked itself.
	Address func(host string) string
	// Timeout bounds one read; 0 is DefaultTimeout.
	Timeout time.Duration
	// Limits bound what is read; a zero one is that of DefaultLimits.
	Limits Limits
	// Transport carries the requests; nil is http.DefaultTransport. Only https passes it, and http to this machine.
	Transport http.RoundTripper
}

// Registry reads charts from registries. It is safe for concurrent use.
type Registry struct {
	address   func(string) string
	timeout   time.Duration
	limits    Limits
	transport http.RoundTripper
	cache     *cache
}

// New makes a reader of registries.
func New(options Options) *Registry {
	registry := &Registry{address: options.Address, timeout: options.Timeout, limits: options.Limits.orDefaults(), transport: options.Transport}
	if registry.address == nil {
		registry.address = func(host string) string { return host }
	}
	if registry.timeout == 0 {
		registry.timeout = DefaultTimeout
	}
	if registry.transport == nil {
		registry.transport = http.DefaultTransport
	}
	registry.transport = &guarded{base: registry.transport, limit: registry.limits.Layer}
	registry.cache = newCache(registry.limits)
	return registry
}

// Tags returns the versions that the chart at an OCI address is published at, in the registry's order: its tags, with
// the + that an OCI tag cannot hold. A chart that the registry does not have is an [UnpublishedError].
func (r *Registry) Tags(ctx context.Context, url string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	read := reading{url: url, step: "listing its tags"}
	pull, err := r.pull(url)
	if err != nil {
		return nil, read.failed(err)
	}
	var versions []string
	for page := pull.page("tags/list"); page != ""; {
		tags, next, err := pull.tags(ctx, page)
		if err != nil {
			return nil, read.failed(err)
		}
		for _, tag := range tags {
			versions = append(versions, versionOf(tag))
		}
		if len(versions) > maxTags {
			return nil, read.failed(fmt.Errorf("it has more than %d", maxTags))
		}
		page = next
	}
	return versions, nil
}

// Chart returns the chart at an OCI address, without a tag, at exactly the version. A version that the registry does not
// have is an [UnpublishedError].
func (r *Registry) Chart(ctx context.Context, url, version string) (*Chart, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	read := reading{url: url, version: version, step: "reading its manifest"}
	pull, err := r.pull(url)
	if err != nil {
		return nil, read.failed(err)
	}
	tag := tagOf(version)
	if !tagName.MatchString(tag) {
		return nil, read.failed(fmt.Errorf("%q is no version that a tag can hold", version))
	}
	manifest, digest, err := pull.manifest(ctx, tag)
	if err != nil {
		return nil, read.failed(err)
	}
	chart := r.cache.get(digest)
	if chart == nil {
		if chart, err = r.fetch(ctx, pull, manifest, &read); err != nil {
			return nil, read.failed(err)
		}
		chart.Digest = digest
		r.cache.put(chart)
	}
	return r.checked(chart, read)
}

// checked refuses a chart that is not the one its address and tag promise. The answer is a copy with the address that
// was asked for, since one chart may stand at several.
func (r *Registry) checked(chart *Chart, read reading) (*Chart, error) {
	read.step = "checking its Chart.yaml"
	if want := read.url[strings.LastIndex(read.url, "/")+1:]; chart.Name != want || chart.Version != read.version {
		return nil, read.failed(fmt.Errorf("it is chart %s %s", chart.Name, chart.Version))
	}
	answer := *chart
	answer.URL = read.url
	return &answer, nil
}

// pull reads an OCI address, with or without oci://, and begins a read of its repository.
func (r *Registry) pull(address string) (*pull, error) {
	host, path, _ := strings.Cut(strings.TrimPrefix(address, scheme), "/")
	if parsed, err := url.Parse("https://" + host); err != nil || host == "" || parsed.Host != host || !repositoryName.MatchString(path) {
		return nil, fmt.Errorf("%q is no address such as oci://registry.example.com/charts/name", address)
	}
	return newPull(r.transport, r.address(host), path), nil
}

// The names that a registry takes, by OCI's distribution specification
// (https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pulling-manifests).
var (
	repositoryName = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
	tagName        = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
)

const scheme = "oci://"

// An OCI tag cannot hold the + of a version, so Helm writes _ for it.
func tagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }

func versionOf(tag string) string { return strings.ReplaceAll(tag, "_", "+") }
