package seal

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Nothing is called for a key that is left out or refused: every program on the PATH and every endpoint that sops could
// ask leaves a trace.
func TestNothingIsStartedAndNothingIsCalled(t *testing.T) {
	native := identity(t).Recipient().String()
	address, calls := listener(t)
	trace := programs(t, "gpg", "gpg2", "gpgconf", "age-plugin-yubikey", "age-plugin-se", "sops", "sh")
	noIdentities(t)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": "http://" + address, "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://" + address, "AWS_ACCESS_KEY_ID": "made-for-this-test", "AWS_SECRET_ACCESS_KEY": "made-for-this-test",
		"HTTP_PROXY": "http://" + address, "HTTPS_PROXY": "http://" + address, "VAULT_ADDR": "http://" + address, "SOPS_GPG_EXEC": "gpg", "GNUPGHOME": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	vault := "hc_vault_transit_uri: http://" + address + "/v1/transit/keys/k"
	cloud := []string{"kms: arn:aws:kms:eu-central-1:111122223333:key/abc", "gcp_kms: projects/p/locations/global/keyRings/r/cryptoKeys/k", "azure_keyvault: https://127.0.0.1/keys/k/1", vault, "pgp: " + fingerprint}
	for name, test := range map[string]struct {
		rule   string
		sealed bool
	}{
		"beside age":    {rulesOf(append(cloud, only, "age: "+native)...), true},
		"alone":         {rulesOf(append(cloud, only)...), false},
		"in groups":     {rulesOf(only, "key_groups:", "- age: ["+native+"]", "  pgp: ["+fingerprint+"]", "- pgp: ["+fingerprint+"]"), false},
		"plugin":        {rulesOf(only, "age: age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq5negm4uj9ghv0snvdd3yysf5yw3rhl3t,"+native), false},
		"no other rule": {ruled(native, ""), true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Files(repository(".sops.yaml", test.rule), change(secrets, plain), options())
			if (err == nil) != test.sealed {
				t.Errorf("sealed %t: %v", err == nil, err)
			}
		})
	}
	if entries, err := os.ReadDir(trace); err != nil || len(entries) > 0 {
		t.Errorf("started: %v %v", entries, err)
	}
	if got := calls(); got > 0 {
		t.Errorf("%d connections", got)
	}
}

// listener counts connections to a loopback port.
func listener(t *testing.T) (string, func() int) {
	t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan int)
	go func() {
		count := 0
		for {
			connection, err := port.Accept()
			if err != nil {
				done <- count
				return
			}
			count++
			_ = connection.Close()
		}
	}()
	return port.Addr().String(), func() int {
		_ = port.Close()
		return <-done
	}
}

// programs makes the PATH a folder of programs that leave a file in the folder returned.
func programs(t *testing.T, names ...string) string {
	t.Helper()
	folder, trace := t.TempDir(), t.TempDir()
	for _, name := range names {
		script := "#!/bin/sh\n: > '" + filepath.Join(trace, name) + "'\n"
		if err := os.WriteFile(filepath.Join(folder, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder)
	return trace
}

// While sops reads its copy of the configuration, and afterwards, no file holds a plain value, and none is left.
func TestNoTemporaryFileHoldsPlainText(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	base := watched{repository(".sops.yaml", ruled(identity(t).Recipient().String(), "")), func() {
		assertFolderClean(t, folder)
	}}
	if _, err := Files(base, change(secrets, plain), options()); err != nil {
		t.Fatal(err)
	}
	if _, err := Files(base, change(secrets, canary), options()); err == nil {
		t.Error("sealed")
	}
	if _, err := Files(repository(".sops.yaml", "creation_rules: [\n"), change(secrets, plain), options()); err == nil {
		t.Error("sealed")
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

// watched looks at the temporary folder on every read of the base.
type watched struct {
	fstest.MapFS
	look func()
}

func (w watched) Open(name string) (fs.File, error) {
	w.look()
	return w.MapFS.Open(name)
}

func assertFolderClean(t *testing.T, folder string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil || strings.Contains(string(content), canary) {
			t.Errorf("%s holds the canary: %v", entry.Name(), err)
		}
	}
}

func TestCopyOfTheConfigurationIsPrivate(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c := configuration{content: []byte("creation_rules: []\n")}
	copied, err := c.copy()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(copied)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

func TestWithoutTemporaryFolder(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "absent"))
	_, err := Files(repository(".sops.yaml", ruled(identity(t).Recipient().String(), "")), change(secrets, plain), options())
	if err == nil || !strings.HasPrefix(err.Error(), ".sops.yaml: copying it for sops: ") || clustermanager.ReasonOf(err) != clustermanager.ReasonError {
		t.Error(err)
	}
	assertNoLeak(t, err)
}

// A base that cannot be read is an error, never "no rule" and never "no file".
func TestUnreadableBase(t *testing.T) {
	good := repository(".sops.yaml", ruled(identity(t).Recipient().String(), ""), secrets, "sealed")
	for _, name := range []string{".sops.yaml", "clusters/wc1/.sops.yaml", secrets} {
		t.Run(name, func(t *testing.T) {
			_, err := Files(broken{good, name}, change(secrets, plain), options())
			if !errors.Is(err, errBroken) || !strings.HasPrefix(err.Error(), name+": ") {
				t.Error(err)
			}
		})
	}
}

var errBroken = errors.New("the connection broke")

type broken struct {
	fstest.MapFS
	name string
}

func (b broken) Lstat(name string) (fs.FileInfo, error) {
	if name == b.name {
		return nil, errBroken
	}
	return b.MapFS.Lstat(name)
}
