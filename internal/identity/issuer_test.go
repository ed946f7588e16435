package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clustermanager/cluster-manager/internal/identity/identitytest"
)

// A new key is taken at once, and the one before no longer, whoever asks at the same time.
func TestRotatedKey(t *testing.T) {
	t.Parallel()
	issuer := identitytest.Start(t)
	resource := newLoaded(t, issuer, nil)
	before := issuer.Token(t, nil)
	if got := resource.ask(t, bearing(before)); got.caller == nil {
		t.Fatal(got.description)
	}
	resource.clock.pass(time.Minute)
	issuer.Rotate(t)
	after, reads := issuer.Token(t, nil), issuer.KeyReads()
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if got := resource.ask(t, bearing(after)); got.caller == nil {
				t.Errorf("the new key: %s", got.description)
			}
		})
	}
	group.Wait()
	if got := issuer.KeyReads() - reads; got != 1 {
		t.Errorf("the keys were read %d times", got)
	}
	if got := resource.ask(t, bearing(before)); got.status != http.StatusUnauthorized {
		t.Errorf("the key before: %d", got.status)
	}
}

// Tokens of unknown keys have the issuer asked once in a while, and a key that changes meanwhile is known after it.
func TestStrangersDoNotHammerTheIssuer(t *testing.T) {
	t.Parallel()
	issuer := identitytest.Start(t)
	resource := newLoaded(t, issuer, nil)
	valid := issuer.Token(t, nil)
	reads := issuer.KeyReads()
	flood := func() {
		t.Helper()
		for i := range 50 {
			for _, keyID := range []string{"1", fmt.Sprint("unknown-", i)} {
				if got := resource.ask(t, bearing(issuer.Forged(t, keyID, nil))); got.status != http.StatusUnauthorized {
					t.Fatalf("%d %s", got.status, got.description)
				}
			}
		}
		if got := resource.ask(t, bearing(valid)); got.caller == nil {
			t.Error("who is known is refused meanwhile")
		}
	}
	flood()
	if got := issuer.KeyReads() - reads; got != 0 {
		t.Errorf("keys that were just read were read %d times", got)
	}
	for round := 1; round <= 3; round++ {
		resource.clock.pass(refetchAfter)
		flood()
		if got := issuer.KeyReads() - reads; got != round {
			t.Errorf("the keys were read %d times, want %d", got, round)
		}
	}
	issuer.Rotate(t)
	resource.clock.pass(refetchAfter)
	if got := resource.ask(t, bearing(issuer.Token(t, nil))); got.caller == nil {
		t.Error("the new key is not known")
	}
}

// An issuer that is down at start is asked again and again; until it answers no token is judged, for or against.
func TestTheIssuerIsDownAtStart(t *testing.T) {
	t.Parallel()
	issuer := identitytest.Start(t)
	issuer.SetDown(true)
	resource := newResource(t, issuer, nil)
	var pauses []time.Duration
	ctx, stop := context.WithCancel(t.Context())
	resource.wait = func(ctx context.Context, pause time.Duration) error {
		pauses = append(pauses, pause)
		switch len(pauses) {
		case 3:
			got := resource.ask(t, bearing(issuer.Token(t, nil)))
			if resource.Ready() || got.status != http.StatusServiceUnavailable || got.code != "temporarily_unavailable" || got.header.Get("Retry-After") == "" || got.challenge != "" {
				t.Errorf("ready %t, answered %d %s", resource.Ready(), got.status, got.body)
			}
			if got := resource.ask(t, http.Header{}); got.status != http.StatusUnauthorized {
				t.Errorf("without a token: %d", got.status)
			}
		case 8:
			issuer.SetDown(false)
		case 9:
			if got := resource.ask(t, bearing(issuer.Token(t, nil))); !resource.Ready() || got.caller == nil {
				t.Errorf("ready %t: %s", resource.Ready(), got.description)
			}
			issuer.SetDown(true)
		case 10:
			stop()
		}
		return ctx.Err()
	}
	resource.Run(ctx)
	s := time.Second
	if diff := cmp.Diff([]time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s, 30 * s, time.Hour, s}, pauses); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(resource.log.String(), `status 502 Bad Gateway`) || !resource.Ready() {
		t.Errorf("ready %t, log %s", resource.Ready(), resource.log)
	}
}

// An issuer that goes down later: its known keys hold, and what they cannot tell is not held against a token.
func TestTheIssuerIsDownLater(t *testing.T) {
	t.Parallel()
	issuer := identitytest.Start(t)
	resource := newLoaded(t, issuer, nil)
	known := issuer.Token(t, nil)
	issuer.SetDown(true)
	resource.clock.pass(time.Hour)
	// The first one is judged by keys that were read at start and never looked at since.
	for range 2 {
		if got := resource.ask(t, bearing(known)); got.caller == nil {
			t.Errorf("a known key: %s", got.description)
		}
	}
	issuer.Rotate(t)
	unknown := issuer.Token(t, nil)
	resource.clock.pass(refetchAfter)
	for range 2 {
		if got := resource.ask(t, bearing(unknown)); got.status != http.StatusServiceUnavailable {
			t.Errorf("a new key: %d %s", got.status, got.description)
		}
	}
	issuer.SetDown(false)
	resource.clock.pass(refetchAfter)
	if got := resource.ask(t, bearing(unknown)); got.caller == nil {
		t.Errorf("the new key, once it can be read: %s", got.description)
	}
}

// Keys that nobody missed are read again now and then: one that the issuer took back is forgotten.
func TestAKeyThatIsTakenBack(t *testing.T) {
	t.Parallel()
	issuer := identitytest.Start(t)
	resource := newResource(t, issuer, nil)
	ctx, stop := context.WithCancel(t.Context())
	first := issuer.Token(t, nil)
	rounds := 0
	resource.wait = func(ctx context.Context, _ time.Duration) error {
		rounds++
		got := resource.ask(t, bearing(first))
		if taken := rounds < 3; (got.caller != nil) != taken {
			t.Errorf("round %d: %d", rounds, got.status)
		}
		if rounds == 2 {
			issuer.Rotate(t)
		}
		if rounds == 3 {
			stop()
		}
		return ctx.Err()
	}
	resource.Run(ctx)
	if rounds != 3 {
		t.Errorf("%d rounds", rounds)
	}
}

// What an issuer may answer in place of the right thing, and what is said of it.
func TestIssuersThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// metadata changes the document; keys is the answer of the keys' address.
		metadata map[string]any
		keys     string
		status   int
		change   func(*Options)
		want     string
	}{
		"right":            {keys: `{"keys":[{}]}`},
		"another issuer":   {metadata: map[string]any{"issuer": "https://dex.example.com"}, want: `its metadata is that of issuer "https://dex.example.com": write the setting dex-issuer-url`},
		"keys in the open": {metadata: map[string]any{"jwks_uri": "http://127.0.0.1:1/keys"}, want: `its keys are not at an https address: "http://127.0.0.1:1/keys"`},
		"no keys":          {keys: `{"keys":[]}`, want: "there are no keys at https://"},
		"no document":      {keys: `made for the test`, want: "there are no keys at https://"},
		"a redirect":       {keys: `{"keys":[{}]}`, status: http.StatusFound, want: "status 302"},
		"endless":          {keys: strings.Repeat(" ", maximalAnswer+1), want: "larger than 1 MiB"},
		"private issuer":   {change: func(o *Options) { o.PrivateIssuer = false }, want: "127.0.0.1 is a private address: allow it with the setting allow-private-oauth-urls"},
		"private keys":     {change: func(o *Options) { o.PrivateKeys = false }, want: "127.0.0.1 is a private address: allow it with the setting sso-allow-private-ips"},
		"not trusted":      {change: func(o *Options) { o.Authority = "" }, want: "certificate signed by unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			server := httptest.NewUnstartedServer(mux)
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			server.StartTLS()
			t.Cleanup(server.Close)
			mux.HandleFunc("/.well-known/openid-configuration", func(writer http.ResponseWriter, _ *http.Request) {
				document := map[string]any{"issuer": server.URL, "jwks_uri": server.URL + "/keys"}
				maps.Copy(document, test.metadata)
				_ = json.NewEncoder(writer).Encode(document)
			})
			mux.HandleFunc("/keys", func(writer http.ResponseWriter, _ *http.Request) {
				if test.status != 0 {
					writer.Header().Set("Location", "/.well-known/openid-configuration")
					writer.WriteHeader(test.status)
				}
				_, _ = fmt.Fprint(writer, test.keys)
			})
			// Its authority is that of all servers of httptest.
			resource := newResource(t, identitytest.Start(t), func(o *Options) {
				o.Issuer = server.URL
				if test.change != nil {
					test.change(o)
				}
			})
			err := resource.issuer.load(t.Context())
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "issuer "+server.URL+": reading its keys: ") || resource.Ready() {
				t.Errorf("%v, want %s", err, test.want)
			}
			if err != nil && len(err.Error()) > 500 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
	if _, err := New(Options{Authority: "made for the test"}); err == nil {
		t.Error("an authority without a certificate")
	}
}

// Which addresses are private, and which are nobody's.
func TestAddresses(t *testing.T) {
	t.Parallel()
	public := []string{"192.0.2.1:443", "[2001:db8::1]:443"}
	private := []string{"10.1.2.3:443", "192.168.0.1:443", "172.16.0.1:443", "127.0.0.1:443", "[::1]:443", "[fd00::1]:443", "100.64.0.1:443", "[::ffff:10.0.0.1]:443"}
	never := []string{"169.254.169.254:80", "[fe80::1]:443", "0.0.0.0:443", "224.0.0.1:443", "[::ffff:169.254.169.254]:80", "no address"}
	for _, allowed := range []bool{false, true} {
		check := guard(allowed, "a-setting")
		for _, address := range slices.Concat(public, private, never) {
			want := slices.Contains(public, address) || allowed && slices.Contains(private, address)
			if err := check("tcp", address, nil); (err == nil) != want {
				t.Errorf("%s, private allowed %t: %v", address, allowed, err)
			}
		}
	}
}
