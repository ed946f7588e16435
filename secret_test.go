package clustermanager

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// canary is a value made for this test; it must appear in no output.
const canary = "made-for-this-test-0123456789"

type holder struct {
	Name   string
	Token  Secret
	hidden Secret
	deep   struct{ inner *holder }
	list   []Secret
	table  map[string]Secret
	any    any
}

func secrets() map[string]any {
	secret := NewSecret(canary)
	nested := holder{Name: "n", Token: secret, hidden: secret, list: []Secret{secret}, table: map[string]Secret{"k": secret}, any: secret}
	outer := holder{hidden: secret}
	outer.deep.inner = &nested
	return map[string]any{
		"value": secret, "pointer": &secret, "struct": nested, "pointer to struct": &nested, "nested unexported": outer,
		"slice": []Secret{secret}, "map": map[string]Secret{"a": secret}, "caller": Caller{KubernetesToken: secret, GitHub: &GitHubIdentity{Login: "l", Token: secret}},
		"file": File{Plain: secret}, "step": Step{SecretData: map[string]Secret{"password": secret}},
		"values": credentials(), "pointer to values": new(credentials()),
		"survey": Survey{Values: Known(EffectiveValues{Values: credentials()})},
	}
}

func TestSecretIsMaskedInEveryVerb(t *testing.T) {
	for name, value := range secrets() {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%p", "%T", "%t"} {
			if out := fmt.Sprintf(verb, value); strings.Contains(out, canary) || strings.Contains(strings.ToLower(out), fmt.Sprintf("%x", canary)) {
				t.Errorf("%s with %s prints the value: %s", name, verb, out)
			}
		}
		if out := fmt.Errorf("wrapped: %w: %v", errors.New("cause"), value).Error(); strings.Contains(out, canary) {
			t.Errorf("%s in an error prints the value: %s", name, out)
		}
	}
}

func TestSecretIsMaskedInJSONAndSlog(t *testing.T) {
	for name, value := range secrets() {
		if out, err := json.Marshal(value); err == nil && bytes.Contains(out, []byte(canary)) {
			t.Errorf("%s in JSON: %s", name, out)
		}
		var log bytes.Buffer
		for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
			slog.New(handler).Info("message", "value", value)
		}
		if strings.Contains(log.String(), canary) {
			t.Errorf("%s in slog: %s", name, log.String())
		}
	}
}

func TestSecretKeepsItsValue(t *testing.T) {
	secret := NewSecret(canary)
	if secret.Reveal() != canary || secret.IsZero() || !NewSecret("").IsZero() || secret.String() != Masked {
		t.Errorf("Reveal %t, IsZero %t, String %s", secret.Reveal() == canary, secret.IsZero(), secret)
	}
	var read Secret
	if err := json.Unmarshal([]byte(`"`+canary+`"`), &read); err != nil || !read.Equal(secret) {
		t.Errorf("decoding: %v", err)
	}
	if err := json.Unmarshal([]byte(`{"`+canary+`":1}`), &read); err == nil || strings.Contains(err.Error(), canary) {
		t.Errorf("decoding an object: %v", err)
	}
}
