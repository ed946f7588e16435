package gke

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	double "github.com/clustermanager/cluster-manager/fixtures/gke"
	"github.com/clustermanager/cluster-manager/managed"
)

// tokens is the endpoint where credentials are exchanged for an access token.
type tokens struct {
	*httptest.Server
	// answer is the access token that is handed out next; empty: the credentials are refused.
	answer string
	asked  int
}

func newTokens(t *testing.T) *tokens {
	t.Helper()
	of := &tokens{answer: madeToken}
	of.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of.asked++
		w.Header().Set("Content-Type", "application/json")
		switch {
		case of.answer == "":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error": "invalid_grant", "error_description": "the assertion was made-for-the-test"}`))
		case strings.HasSuffix(r.URL.Path, ":generateAccessToken"):
			_, _ = w.Write([]byte(`{"accessToken": "` + of.answer + `", "expireTime": "2126-01-01T00:00:00Z"}`))
		default:
			_, _ = w.Write([]byte(`{"access_token": "` + of.answer + `", "token_type": "Bearer", "expires_in": 3600}`))
		}
	}))
	t.Cleanup(of.Close)
	return of
}

// privateKey is the PEM of a key that was made for the test.
func privateKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func secretFile(t *testing.T, of fields) string {
	t.Helper()
	data, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func serviceAccountKey(t *testing.T, of *tokens) fields {
	return fields{
		"type": "service_account", "project_id": "platform", "client_email": "robot@platform.example", "private_key_id": "1",
		"private_key": privateKey(t), "token_uri": of.URL + "/token",
	}
}

// detecting is a world that speaks with what [Detect] finds for its account.
func detecting(t *testing.T, of managed.AccountCredentials) *world {
	t.Helper()
	w := newWorld(t, func(_ *double.Options, account *managed.Account) { account.Credentials = of })
	w.options.Credentials = Detect
	return w
}

func TestEveryKindOfCredentialsSpeaks(t *testing.T) {
	of := newTokens(t)
	file := filepath.Join(t.TempDir(), "identity")
	if err := os.WriteFile(file, []byte("identity-token-made-for-the-test"), 0o600); err != nil {
		t.Fatal(err)
	}
	key := secretFile(t, serviceAccountKey(t, of))
	workload := secretFile(t, fields{
		"type": "external_account", "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
		"subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": of.URL + "/sts",
		"credential_source":                 fields{"file": file},
		"service_account_impersonation_url": of.URL + "/v1/projects/-/serviceAccounts/robot@platform.example:generateAccessToken",
	})
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", key)
	for name, credentials := range map[string]managed.AccountCredentials{
		"default":     {Kind: managed.CredentialsDefault},
		"none named":  {},
		"key":         {Kind: managed.CredentialsKey, SecretFile: key},
		"impersonate": {Kind: managed.CredentialsImpersonate, SecretFile: workload},
	} {
		before := of.asked
		w := detecting(t, credentials)
		w.pass()
		w.state(managed.StateProvisioning)
		if of.asked == before {
			t.Errorf("%s: no token was asked for", name)
		}
	}
}

func TestASecretThatWasReplacedIsUsed(t *testing.T) {
	t.Parallel()
	of := newTokens(t)
	of.answer = "old-token-made-for-the-test"
	key := secretFile(t, serviceAccountKey(t, of))
	w := detecting(t, managed.AccountCredentials{Kind: managed.CredentialsKey, SecretFile: key})
	w.pass()
	w.state(managed.StatePending)
	of.answer = madeToken
	replaced, err := os.ReadFile(secretFile(t, serviceAccountKey(t, of)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, replaced, 0o600); err != nil {
		t.Fatal(err)
	}
	w.pass()
	w.state(managed.StateProvisioning)
}

// TestWithoutATokenNothingIsSaidOfTheSecret: what the token's endpoint answered stays away from what is shown.
func TestWithoutATokenNothingIsSaidOfTheSecret(t *testing.T) {
	t.Parallel()
	of := newTokens(t)
	of.answer = ""
	key := serviceAccountKey(t, of)
	w := detecting(t, managed.AccountCredentials{Kind: managed.CredentialsKey, SecretFile: secretFile(t, key)})
	reason := w.Look(t.Context(), w.account, w.row).Look.Reason()
	if !strings.Contains(reason, "gave no access token") || !strings.Contains(reason, "400") || strings.Contains(reason, "made-for-the-test") {
		t.Errorf("the look says %q", reason)
	}
	answer := w.Send(t.Context(), w.account, w.row, managed.Write{Kind: managed.CreateCluster, Pool: w.row.FirstPool()})
	equal(t, "verdict", managed.Later, answer.Verdict)
	equal(t, "requests", 0, len(w.cloud.Requests()))
	for name, secret := range map[string]fields{
		"another type": {"type": "authorized_user", "refresh_token": "made-for-the-test"},
		"no type":      {"private_key": "made-for-the-test"},
		"a broken key": {"type": "service_account", "private_key": "made-for-the-test", "client_email": "a@b.example"},
	} {
		w := detecting(t, managed.AccountCredentials{Kind: managed.CredentialsKey, SecretFile: secretFile(t, secret)})
		reason := w.Look(t.Context(), w.account, w.row).Look.Reason()
		if !strings.HasPrefix(reason, "provider account PA: ") && !strings.Contains(reason, "gave no access token") || strings.Contains(reason, "made-for-the-test") {
			t.Errorf("%s: the look says %q", name, reason)
		}
	}
}

// TestK08TheLibrariesLogNoToken: their debug logging, which the environment can switch on, prints answers of token endpoints.
func TestK08TheLibrariesLogNoToken(t *testing.T) {
	t.Setenv("GOOGLE_SDK_GO_LOGGING_LEVEL", "debug")
	of := newTokens(t)
	key := secretFile(t, serviceAccountKey(t, of))
	logged := captured(t, func() {
		w := detecting(t, managed.AccountCredentials{Kind: managed.CredentialsKey, SecretFile: key})
		w.pass()
		w.state(managed.StateProvisioning)
	})
	if bytes.Contains(logged, []byte(madeToken)) {
		t.Errorf("a token is logged:\n%s", logged)
	}
}

// captured is what is written to standard output and error meanwhile.
func captured(t *testing.T, do func()) []byte {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	out, failed := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = file, file
	do()
	os.Stdout, os.Stderr = out, failed
	data, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return data
}
