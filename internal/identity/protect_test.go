package identity

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clustermanager/cluster-manager/internal/identity/identitytest"
)

// Who passes a writer of their own writes the body; what clients act on is set all the same.
func TestTheBodyIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	resource := newLoaded(t, identitytest.Start(t), nil)
	handler := resource.Protect(http.NotFoundHandler(), func(writer http.ResponseWriter, request *http.Request, denial Denial) {
		writer.WriteHeader(denial.Status)
		_, _ = writer.Write([]byte(request.URL.Path + ": " + denial.Code + ": " + denial.Description))
	})
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/compute/x", nil))
	if answer.Code != http.StatusUnauthorized || !strings.HasPrefix(answer.Body.String(), "/api/compute/x: invalid_token: the request carries no token") || answer.Header().Get("WWW-Authenticate") == "" {
		t.Errorf("%d %s %v", answer.Code, answer.Body, answer.Header())
	}
}

// The metadata, where RFC 9728 wants it: before the resource's path.
func TestMetadata(t *testing.T) {
	t.Parallel()
	issuer := identitytest.Start(t)
	plain := map[string]any{
		"resource": "https://manager.example.com/mcp", "resource_name": "cluster-manager", "bearer_methods_supported": []any{"header"},
		"authorization_servers": []any{issuer.URL()}, "scopes_supported": []any{"openid", "email", "groups"},
	}
	for name, test := range map[string]struct {
		change    func(*Options)
		paths     []string
		challenge string
		document  map[string]any
	}{
		"plain": {nil, []string{wellKnown, wellKnown + "/mcp"}, "https://manager.example.com" + wellKnown + "/mcp", plain},
		"behind a prefix": {
			func(o *Options) { o.BaseURL += "/tools" }, []string{wellKnown, wellKnown + "/mcp", wellKnown + "/tools/mcp"},
			"https://manager.example.com" + wellKnown + "/tools/mcp",
			map[string]any{
				"resource": "https://manager.example.com/tools/mcp", "resource_name": "cluster-manager", "bearer_methods_supported": []any{"header"},
				"authorization_servers": []any{issuer.URL()}, "scopes_supported": []any{"openid", "email", "groups"},
			},
		},
		"paired": {
			func(o *Options) { o.GitHubAuthorizationServer = "https://github.com/apps/a-manager" }, []string{wellKnown, wellKnown + "/mcp"},
			"https://manager.example.com" + wellKnown + "/mcp",
			map[string]any{
				"resource": "https://manager.example.com/mcp", "resource_name": "cluster-manager", "bearer_methods_supported": []any{"header"},
				"authorization_servers": []any{"https://github.com/apps/a-manager"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resource := newResource(t, issuer, test.change)
			if diff := cmp.Diff(test.paths, resource.MetadataPaths()); diff != "" {
				t.Error(diff)
			}
			answer := httptest.NewRecorder()
			resource.Metadata().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, wellKnown, nil))
			var document map[string]any
			if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil || answer.Header().Get("Content-Type") != "application/json" {
				t.Error(err, answer.Header())
			}
			if diff := cmp.Diff(test.document, document); diff != "" {
				t.Error(diff)
			}
			if got := resource.ask(t, http.Header{}); !strings.HasSuffix(got.challenge, `resource_metadata="`+test.challenge+`"`) {
				t.Error(got.challenge)
			}
		})
	}
}

// No header lets anyone in but the one with the token, and none breaks an answer or is repeated in it.
func FuzzAuthorization(f *testing.F) {
	issuer := identitytest.Start(f)
	resource := newLoaded(f, issuer, func(o *Options) { o.Log = nil })
	token := issuer.Token(f, nil)
	good := "Bearer " + token
	parts := strings.Split(token, ".")
	for _, seed := range []string{
		"", "Bearer", "Bearer ", good, good + " ", good + "=", strings.ToLower(good), "Bearer a.b.c", "Bearer ..", "Basic eDp5",
		"Bearer " + parts[0] + "." + encoded(`{"iss":"`+issuer.URL()+`","exp":4102444800}`) + "." + parts[2],
		"Bearer " + encoded(`{"alg":"none"}`) + "." + parts[1] + ".", "Bearer \x00\r\nX: y", "Bearer " + strings.Repeat("a", 70000),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got := resource.ask(t, http.Header{"Authorization": {value}})
		scheme, presented, _ := strings.Cut(value, " ")
		itself := strings.EqualFold(scheme, "bearer") && strings.TrimLeft(presented, " ") == token
		switch {
		case got.caller != nil && !itself && !sameToken(presented, token):
			t.Errorf("%q was let in", value)
		case got.caller == nil && itself:
			t.Errorf("the token was refused: %s", got.description)
		case got.caller == nil && got.status != http.StatusUnauthorized:
			t.Errorf("status %d", got.status)
		case strings.ContainsAny(got.challenge, "\r\n\x00"):
			t.Errorf("challenge %q", got.challenge)
		}
	})
}

// sameToken says whether two texts decode to one token: the last character of each part holds bits that are not used.
func sameToken(presented, token string) bool {
	one, other := strings.Split(strings.TrimSpace(presented), "."), strings.Split(token, ".")
	if len(one) != 3 {
		return false
	}
	for i := range one {
		if len(one[i]) < 10 || one[i][:len(one[i])-1] != other[i][:len(other[i])-1] || len(one[i]) != len(other[i]) {
			return false
		}
	}
	return true
}
