package session

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// What a server repeats of the request is in no error.
func TestAnEchoedTokenIsMasked(t *testing.T) {
	const token = "made-for-this-test"
	for _, body := range []string{`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no: %s","reason":"%[1]s","code":403}`, "no: %s"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(body, "{") {
				w.Header().Set("Content-Type", "application/json")
			}
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, body, r.Header.Get("Authorization"))
		}))
		defer server.Close()
		client, err := New(&rest.Config{Host: server.URL}, nil).Installation(callerWith(token))
		if err != nil {
			t.Fatal(err)
		}
		err = listOnce(t, client)
		if err == nil || strings.Contains(fmt.Sprintf("%v %#v", err, err), token) {
			t.Errorf("%v", err)
		}
	}
}

// A server that sends on is an error; the host it names is not asked.
func TestNoRedirectIsFollowed(t *testing.T) {
	asked := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusFound))
	defer server.Close()
	client, err := New(&rest.Config{Host: server.URL}, nil).Installation(callerWith("made-for-this-test"))
	if err != nil {
		t.Fatal(err)
	}
	if err := listOnce(t, client); err == nil {
		t.Error("no error")
	}
	if asked {
		t.Error("the other host was asked")
	}
}
