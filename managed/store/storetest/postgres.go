package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	// The driver that makes databases.
	_ "github.com/jackc/pgx/v5/stdlib"
)

// Server is a PostgreSQL of its own, on loopback.
type Server struct {
	// Address is host and port.
	Address string
	// Durable makes it write to the disk before it answers, as a real one does.
	Durable bool

	binaries, folder string
	owner            *syscall.Credential
	process          *exec.Cmd
	databases        atomic.Int64
}

// shared is the server of this test binary; the first test that needs it starts it.
var shared struct {
	sync.Mutex
	server *Server
}

// Main runs the tests of a package and stops the server that they shared: what TestMain passes to os.Exit.
func Main(m *testing.M) int {
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		shared.server.remove()
	}
	return code
}

// Postgres is the URL of an empty database of the server that all tests share. Without a PostgreSQL the test is skipped.
func Postgres(tb testing.TB) string {
	tb.Helper()
	return Shared(tb).Database(tb)
}

// Shared is the server that all tests share.
func Shared(tb testing.TB) *Server {
	tb.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		server := &Server{}
		server.prepare(tb)
		shared.server = server
		server.Start(tb)
	}
	return shared.server
}

// NewServer starts a server for one test.
func NewServer(tb testing.TB, durable bool) *Server {
	tb.Helper()
	server := &Server{Durable: durable}
	server.prepare(tb)
	tb.Cleanup(server.remove)
	server.Start(tb)
	return server
}

// find is the folder of PostgreSQL's programs: of pg_config, else the newest where Debian has them.
func find() (string, error) {
	if found, err := exec.CommandContext(context.Background(), "pg_config", "--bindir").Output(); err == nil {
		if folder := strings.TrimSpace(string(found)); exists(filepath.Join(folder, "initdb")) {
			return folder, nil
		}
	}
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.Sort(folders)
	if len(folders) > 0 {
		return filepath.Dir(folders[len(folders)-1]), nil
	}
	if found, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(found), nil
	}
	return "", errors.New("no PostgreSQL is installed: make test installs it, or install your system's package postgresql")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (s *Server) prepare(tb testing.TB) {
	tb.Helper()
	var err error
	if s.binaries, err = find(); err != nil {
		tb.Skip(err)
	}
	if s.folder, err = os.MkdirTemp("", "postgres-"); err != nil { //nolint:usetesting // it outlives the test, and its user must reach it
		tb.Fatal(err)
	}
	// It refuses to run as root.
	if os.Geteuid() == 0 {
		of, err := user.Lookup("nobody")
		if err != nil {
			tb.Fatal(err)
		}
		uid, _ := strconv.Atoi(of.Uid)
		gid, _ := strconv.Atoi(of.Gid)
		s.owner = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(s.folder, uid, gid); err != nil {
			tb.Fatal(err)
		}
	}
	if said, err := s.command("initdb", "-D", s.folder, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N").CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v: %s", err, said)
	}
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s.Address = listener.Addr().String()
	if err := listener.Close(); err != nil {
		tb.Fatal(err)
	}
}

func (s *Server) command(program string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(context.Background(), filepath.Join(s.binaries, program), arguments...)
	command.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner}
	command.Dir = s.folder
	return command
}

// Start starts it, after a [Server.Stop] again, and waits until it answers.
func (s *Server) Start(tb testing.TB) {
	tb.Helper()
	_, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		tb.Fatal(err)
	}
	durable := "off"
	if s.Durable {
		durable = "on"
	}
	s.process = s.command("postgres", "-D", s.folder, "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync="+durable)
	said, err := os.OpenFile(filepath.Join(s.folder, "..", filepath.Base(s.folder)+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = said.Close() }()
	s.process.Stdout, s.process.Stderr = said, said
	if err := s.process.Start(); err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		err := s.run(ctx, "SELECT 1")
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			tb.Fatalf("PostgreSQL does not answer: %v", err)
		case <-tick.C:
		}
	}
}

// Stop ends its process by a signal, SIGINT for an orderly end, and waits for it.
func (s *Server) Stop(signal syscall.Signal) {
	_ = s.process.Process.Signal(signal)
	_ = s.process.Wait()
}

func (s *Server) remove() {
	if s.process != nil && s.process.ProcessState == nil {
		s.Stop(syscall.SIGINT)
	}
	_ = os.RemoveAll(s.folder)
	_ = os.Remove(s.folder + ".log")
}

// Database makes an empty database and answers its URL.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprintf("test%d", s.databases.Add(1))
	if err := s.run(tb.Context(), "CREATE DATABASE "+name); err != nil {
		tb.Fatal(err)
	}
	return s.URL(s.Address, name)
}

// URL is that of a database at an address, its own or a proxy's.
func (s *Server) URL(address, database string) string {
	return (&url.URL{
		Scheme: "postgres", User: url.UserPassword("postgres", "made-for-tests"), Host: address, Path: database,
		RawQuery: "sslmode=disable",
	}).String()
}

func (s *Server) run(ctx context.Context, statement string) error {
	db, err := sql.Open("pgx", s.URL(s.Address, "postgres"))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}
