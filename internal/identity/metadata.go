package identity

import (
	"encoding/json"
	"net/http"
	"net/url"
)

// wellKnown is where RFC 9728 puts a resource's metadata: before the path of the resource.
const wellKnown = "/.well-known/oauth-protected-resource"

// resource is the URL that clients know the MCP endpoint by.
func (v *Verifier) resource() string { return v.options.BaseURL + v.options.Path }

// resourcePath is the path of that URL, which is longer than the endpoint's own behind a gateway that cuts a prefix.
func (v *Verifier) resourcePath() string {
	address, err := url.Parse(v.resource())
	if err != nil {
		return v.options.Path
	}
	return address.Path
}

// metadataURL is where a client that was refused finds where to sign in.
func (v *Verifier) metadataURL() string {
	address, err := url.Parse(v.resource())
	if err != nil {
		return ""
	}
	return address.Scheme + "://" + address.Host + wellKnown + address.Path
}

// MetadataPaths are the paths of the metadata.
func (v *Verifier) MetadataPaths() []string {
	paths := []string{wellKnown, wellKnown + v.options.Path}
	if full := wellKnown + v.resourcePath(); full != paths[1] {
		paths = append(paths, full)
	}
	return paths
}

// Metadata answers the resource's metadata (RFC 9728) to everyone.
func (v *Verifier) Metadata() http.Handler {
	document := map[string]any{
		"resource": v.resource(), "resource_name": realm, "bearer_methods_supported": []string{"header"},
		"authorization_servers": []string{v.options.Issuer},
		// What an id_token needs for the API servers to know the caller by name and groups.
		"scopes_supported": []string{"openid", "email", "groups"},
	}
	if v.github != nil {
		// A GitHub App's user token has no scopes.
		document["authorization_servers"] = []string{v.options.GitHubAuthorizationServer}
		delete(document, "scopes_supported")
	}
	return http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
		writer.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(writer).Encode(document)
	})
}
