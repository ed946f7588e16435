package seal

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"filippo.io/age"
	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/decrypt"
	"github.com/getsops/sops/v3/stores/yaml"
	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	// canary is a value made for these tests; it must stand in nothing that is returned.
	canary  = "made-for-this-test-0123456789"
	secrets = "clusters/wc1/cluster-manager/wc1-gpu-l4-values-secret.enc.yaml"
	// only is the selector that Secrets need.
	only = "encrypted_regex: ^(data|stringData)$"
)

const plain = `apiVersion: v1
kind: Secret
metadata:
  labels:
    app.kubernetes.io/managed-by: cluster-manager
    giantswarm.io/cluster: wc1
  name: wc1-gpu-l4-values
  namespace: org-acme
stringData:
  empty: ""
  values.yaml: |
    cluster:
      registryCredentials:
        registry.example.io:
          password: ` + canary + `
          username: puller
type: Opaque
`

func identity(tb testing.TB) *age.X25519Identity {
	tb.Helper()
	made, err := age.GenerateX25519Identity()
	if err != nil {
		tb.Fatal(err)
	}
	return made
}

// repository makes a base of paths and contents.
func repository(contents ...string) fstest.MapFS {
	base := fstest.MapFS{}
	for index := 0; index+1 < len(contents); index += 2 {
		base[contents[index]] = &fstest.MapFile{Data: []byte(contents[index+1])}
	}
	return base
}

func options() Options {
	return Options{Repository: "acme/fleet", Decrypts: true, Kustomization: "flux-system/clusters"}
}

func change(path, document string) clustermanager.FileSet {
	return clustermanager.FileSet{path: {Plain: clustermanager.NewSecret(document), Sensitive: true}}
}

// sealOne seals the plain document at its usual path and opens nothing.
func sealOne(t *testing.T, base fs.FS) (Result, []byte) {
	t.Helper()
	result, err := Files(base, change(secrets, plain), options())
	if err != nil {
		t.Fatal(err)
	}
	file := result.Files[secrets]
	if !file.Sensitive || !file.Plain.IsZero() || len(file.Content) == 0 {
		t.Fatalf("sealed file: sensitive %t, plain left %t, %d bytes", file.Sensitive, !file.Plain.IsZero(), len(file.Content))
	}
	assertNoLeak(t, result)
	return result, file.Content
}

// leaked finds the canary, also the beginning of it that a YAML parser quotes.
func leaked(text string) bool { return strings.Contains(text, canary[:7]) }

// assertNoLeak looks for the canary in everything that can be printed of a value, contents included.
func assertNoLeak(t *testing.T, values ...any) {
	t.Helper()
	for _, value := range values {
		text := fmt.Sprintf("%v %+v %#v %s", value, value, value, value)
		encoded, _ := json.Marshal(value)
		if leaked(text) || leaked(string(encoded)) {
			t.Errorf("the canary is in %T", value)
		}
		if result, ok := value.(Result); ok {
			for path, file := range result.Files {
				if leaked(string(file.Content)) {
					t.Errorf("the canary is in %s", path)
				}
			}
		}
	}
}

// noIdentities takes every identity of the machine away from sops.
func noIdentities(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	for _, name := range []string{"SOPS_AGE_KEY", "SOPS_AGE_KEY_FILE", "SOPS_AGE_SSH_PRIVATE_KEY_FILE"} {
		t.Setenv(name, "")
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
}

// opened decrypts with sops' own Go API and one identity.
func opened(t *testing.T, content []byte, identity fmt.Stringer) string {
	t.Helper()
	noIdentities(t)
	t.Setenv("SOPS_AGE_KEY", identity.String())
	text, err := decrypt.Data(content, "yaml")
	if err != nil {
		t.Fatalf("opening: %v", err)
	}
	return string(text)
}

// openedByCommand decrypts with the stock sops command, which gets the identity through its environment alone.
func openedByCommand(t *testing.T, content []byte, identity fmt.Stringer) string {
	t.Helper()
	folder := os.Getenv("CLUSTER_MANAGER_TEST_TOOLS")
	if folder == "" {
		t.Skip("CLUSTER_MANAGER_TEST_TOOLS names no folder with the sops command: make test provides it")
	}
	file := filepath.Join(t.TempDir(), "sealed.yaml")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), filepath.Join(folder, "sops"), "decrypt", file)
	command.Env = []string{"HOME=" + t.TempDir(), "SOPS_AGE_KEY=" + identity.String()}
	text, err := command.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("sops decrypt: %v: %s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	return string(text)
}

// object is a document as Kubernetes reads it.
func object(t *testing.T, document string) any {
	t.Helper()
	branch, err := readDocument([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return value(branch)
}

func value(in any) any {
	switch in := in.(type) {
	case sops.TreeBranch:
		out := map[string]any{}
		for _, item := range in {
			if name, ok := item.Key.(string); ok {
				out[name] = value(item.Value)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, item := range in {
			out = append(out, value(item))
		}
		return out
	}
	return in
}

func assertSame(t *testing.T, want, got string) {
	t.Helper()
	if diff := cmp.Diff(object(t, want), object(t, got)); diff != "" {
		t.Errorf("the opened file is not the plan (-plan +opened):\n%s", diff)
	}
}

// metadata reads what sops wrote about a sealed file.
func metadata(t *testing.T, content []byte) sops.Metadata {
	t.Helper()
	tree, err := yaml.NewStore(&config.YAMLStoreConfig{}).LoadEncryptedFile(content)
	if err != nil {
		t.Fatal(err)
	}
	return tree.Metadata
}

// assertRefusal expects one sentence that names every part and says nothing of a value.
func assertRefusal(t *testing.T, err error, parts ...string) {
	t.Helper()
	var refusal *clustermanager.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("no refusal: %v", err)
	}
	for _, part := range parts {
		if !strings.Contains(refusal.Message, part) {
			t.Errorf("the refusal does not say %q: %s", part, refusal.Message)
		}
	}
	if strings.ContainsAny(refusal.Message, "\n\r") {
		t.Errorf("the refusal is no sentence: %q", refusal.Message)
	}
	if strings.Contains(refusal.Message, os.TempDir()) {
		t.Errorf("the refusal names a temporary file: %s", refusal.Message)
	}
	assertNoLeak(t, err)
}

// sshEd25519 and sshRSA make an ssh key pair: the recipient line and the private key in PEM.
func sshEd25519(t *testing.T) (string, []byte) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return sshLine("ssh-ed25519", public), pkcs8(t, private)
}

func sshRSA(t *testing.T) (string, []byte) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	exponent := big.NewInt(int64(private.E)).Bytes()
	return sshLine("ssh-rsa", exponent, append([]byte{0}, private.N.Bytes()...)), pkcs8(t, private)
}

func sshLine(kind string, fields ...[]byte) string {
	var wire []byte
	for _, field := range append([][]byte{[]byte(kind)}, fields...) {
		wire = binary.BigEndian.AppendUint32(wire, uint32(len(field)))
		wire = append(wire, field...)
	}
	return kind + " " + base64.StdEncoding.EncodeToString(wire)
}

func pkcs8(t *testing.T, key any) []byte {
	t.Helper()
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}
