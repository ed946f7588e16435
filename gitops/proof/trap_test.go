package proof

import (
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// trap is an address where any connection is counted, and a PATH whose commands leave a file behind.
type trap struct {
	connections atomic.Int32
	address     string
	folder      string
}

// setTrap makes http requests, git and helm of this process visible. TCP covers http and https alike: the proxy
// variables and the URLs of the tests both name the trap.
func setTrap(t *testing.T) *trap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	caught := &trap{address: listener.Addr().String(), folder: t.TempDir()}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			caught.connections.Add(1)
			connection.Close()
		}
	}()
	for _, command := range []string{"git", "helm", "sh", "docker", "age-plugin-x"} {
		script := "#!/bin/sh\necho \"$0 $@\" >> " + filepath.Join(caught.folder, "ran") + "\nexit 1\n"
		if err := os.WriteFile(filepath.Join(caught.folder, command), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", caught.folder)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, "http://"+caught.address)
	}
	return caught
}

func (c *trap) check(t *testing.T) {
	t.Helper()
	if ran, err := os.ReadFile(filepath.Join(c.folder, "ran")); err == nil {
		t.Errorf("a command ran: %s", ran)
	}
	if n := c.connections.Load(); n > 0 {
		t.Errorf("%d connections were made", n)
	}
}
