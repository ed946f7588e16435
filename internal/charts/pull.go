package charts

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// pull is one read of a repository by OCI's distribution API
// (https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md). It is not for concurrent use.
type pull struct {
	client     *http.Client
	repository string
	root       *url.URL
	// token is the anonymous one that the registry gave, for the rest of the read.
	token string
}

// newPull asks a registry on this machine by http, any other by https.
func newPull(transport http.RoundTripper, host, repository string) *pull {
	root := &url.URL{Scheme: "https", Host: host, Path: "/v2/" + repository + "/"}
	if clustermanager.IsLoopback(root.Hostname()) {
		root.Scheme = "http"
	}
	return &pull{client: &http.Client{Transport: transport, CheckRedirect: follow}, repository: repository, root: root}
}

// follow lets a registry send its readers to the host that stores its blobs; a token is not sent along to another one.
func follow(request *http.Request, before []*http.Request) error {
	if len(before) >= 5 {
		return errors.New("the registry redirects more than 5 times")
	}
	return reachable(before[0].URL, request.URL)
}

// page is the address of a list of the repository.
func (p *pull) page(path string) string { return p.root.JoinPath(path).String() }

// manifest reads the manifest of a tag and its digest, which is made of what was read.
func (p *pull) manifest(ctx context.Context, tag string) (*v1.Manifest, string, error) {
	body, _, err := p.get(ctx, p.page("manifests/"+tag), string(types.OCIManifestSchema1))
	if err != nil {
		return nil, "", err
	}
	digest, _, err := v1.SHA256(bytes.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	manifest := &v1.Manifest{}
	if err := json.Unmarshal(body, manifest); err != nil {
		return nil, "", errors.New("it is no manifest")
	}
	return manifest, digest.String(), nil
}

// blob reads what a digest names, and holds it against the digest.
func (p *pull) blob(ctx context.Context, digest v1.Hash) ([]byte, error) {
	body, _, err := p.get(ctx, p.page("blobs/"+digest.String()), "")
	if err != nil {
		return nil, err
	}
	if read, _, err := v1.SHA256(bytes.NewReader(body)); err != nil || read != digest {
		return nil, fmt.Errorf("it is not the one that the manifest names: its digest is %s", read)
	}
	return body, nil
}

// tags reads a page of the repository's tags, and the address of the next one; "": it is the last.
func (p *pull) tags(ctx context.Context, page string) (tags []string, next string, err error) {
	body, header, err := p.get(ctx, page, "application/json")
	if err != nil {
		return nil, "", err
	}
	var list struct {
		Tags []string `json:"tags"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, "", errors.New("it is no list of tags")
	}
	next, err = p.next(page, header.Get("Link"))
	return list.Tags, next, err
}

// next is the address that a Link header names, </v2/…>; rel="next". Another registry's is refused, so is the same page.
func (p *pull) next(page, link string) (string, error) {
	if link == "" {
		return "", nil
	}
	target, _, closed := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	address, err := p.root.Parse(target)
	if err != nil || !closed || address.Host != p.root.Host || address.Scheme != p.root.Scheme || address.String() == page {
		return "", errors.New("the registry names no next page of its own")
	}
	return address.String(), nil
}

// get reads one answer whole. A registry that asks even anonymous readers for a token is asked for one.
func (p *pull) get(ctx context.Context, address, accept string) ([]byte, http.Header, error) {
	response, err := p.send(ctx, address, accept, p.token)
	if err != nil {
		return nil, nil, err
	}
	if challenge := response.Header.Get("WWW-Authenticate"); response.StatusCode == http.StatusUnauthorized && p.token == "" && challenge != "" {
		_ = response.Body.Close()
		if p.token, err = p.anonymous(ctx, challenge); err != nil {
			return nil, nil, err
		}
		if response, err = p.send(ctx, address, accept, p.token); err != nil {
			return nil, nil, err
		}
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, nil, statusError(response.StatusCode)
	}
	body, err := io.ReadAll(response.Body)
	return body, response.Header, err
}

func (p *pull) send(ctx context.Context, address, accept, token string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "cluster-manager")
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return p.client.Do(request)
}

// anonymous fetches the token that anybody gets, from where the registry's challenge says
// (https://distribution.github.io/distribution/spec/auth/token/).
func (p *pull) anonymous(ctx context.Context, challenge string) (string, error) {
	parameters, bearer := parameters(challenge)
	realm, err := url.Parse(parameters["realm"])
	if !bearer || err != nil || realm.Host == "" {
		return "", statusError(http.StatusUnauthorized)
	}
	if err := reachable(p.root, realm); err != nil {
		return "", err
	}
	query := realm.Query()
	query.Set("scope", "repository:"+p.repository+":pull")
	if service := parameters["service"]; service != "" {
		query.Set("service", service)
	}
	realm.RawQuery = query.Encode()
	response, err := p.send(ctx, realm.String(), "application/json", "")
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return "", statusError(response.StatusCode)
	}
	var given struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	if err := json.NewDecoder(response.Body).Decode(&given); err != nil {
		return "", errors.New("the registry's token server answers no token")
	}
	// Both names are in use; a registry that sends both means the same token.
	return cmp.Or(given.Token, given.AccessToken), nil
}

// parameters reads a challenge: Bearer key="value",key="value". A scope may hold a comma, so quotes are honoured.
func parameters(challenge string) (map[string]string, bool) {
	kind, rest, _ := strings.Cut(strings.TrimSpace(challenge), " ")
	found := map[string]string{}
	for rest != "" {
		var key, value string
		key, rest, _ = strings.Cut(strings.TrimLeft(rest, ", "), "=")
		if quoted, is := strings.CutPrefix(rest, `"`); is {
			value, rest, _ = strings.Cut(quoted, `"`)
		} else {
			value, rest, _ = strings.Cut(rest, ",")
		}
		found[strings.ToLower(strings.TrimSpace(key))] = value
	}
	return found, strings.EqualFold(kind, "Bearer")
}

// reachable refuses what a public registry must not send its readers to: an address of a private network, or this
// machine.
func reachable(from, to *url.URL) error {
	if from.Hostname() == to.Hostname() || !isPrivate(to.Hostname()) {
		return nil
	}
	return fmt.Errorf("the registry sends its readers to %s, an address of a private network", to.Host)
}
