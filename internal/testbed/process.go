package testbed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// process is a running program. What it says goes to a file.
type process struct {
	name    string
	log     string
	command *exec.Cmd
	// over is closed when the program has ended, with or without being asked.
	over chan struct{}
}

// noProxy is where every request that is not to a loopback address ends: nobody listens there. Go's HTTP clients never ask
// a proxy for a loopback address.
const noProxy = "http://127.0.0.1:1"

// start starts a program in the bed's folder. It ends with the bed, or with this process, and reaches loopback alone.
func (b *Bed) start(name string, environment []string, arguments ...string) (*process, error) {
	log, err := os.Create(filepath.Join(b.folder, "logs", name+".log"))
	if err != nil {
		return nil, fmt.Errorf("test bed: %s: making its log: %w", name, err)
	}
	defer func() { _ = log.Close() }()
	command := exec.Command(b.programs[name], arguments...)
	command.Dir = b.folder
	command.Env = append(append(os.Environ(),
		"TMPDIR="+filepath.Join(b.folder, "tmp"), "HTTP_PROXY="+noProxy, "HTTPS_PROXY="+noProxy, "NO_PROXY="), environment...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = dieWithParent()
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("test bed: %s: starting: %w", name, err)
	}
	started := &process{name: name, log: log.Name(), command: command, over: make(chan struct{})}
	go func() {
		defer close(started.over)
		_ = command.Wait()
	}()
	b.processes = append(b.processes, started)
	return started, nil
}

// stop kills the program, since nothing of it is to be kept, and waits for its end.
func (p *process) stop() {
	_ = p.command.Process.Kill()
	<-p.over
}

func (p *process) ended() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// ready waits until check says nothing against it. It fails at once when the program ends.
func (p *process) ready(ctx context.Context, check func(context.Context) error) error {
	err := Eventually(ctx, func(ctx context.Context) error {
		if p.ended() {
			return final{errors.New("it has ended")}
		}
		return check(ctx)
	})
	if err != nil {
		return fmt.Errorf("test bed: %s: waiting until it is ready: %w\n%s", p.name, err, p.tail(20))
	}
	return nil
}

// tail returns the last lines of the log.
func (p *process) tail(lines int) string {
	content, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// patience is how long anything may take to come about. A bed starts in seconds; this is for a machine with much else to
// do.
const patience = 2 * time.Minute

// pollInterval is short beside what is waited for, and long beside a request on loopback.
const pollInterval = 50 * time.Millisecond

// final is an error that waiting does not mend.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// Eventually calls check until it returns nil, for two minutes at most; the error is then the last one of check.
func Eventually(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	last := context.Cause(ctx)
	for {
		err := check(ctx)
		if err == nil || errors.As(err, &final{}) {
			return err
		}
		// What the end of the context caused says nothing.
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), last)
		case <-ticker.C:
		}
	}
}

// Ports are taken from below those that systems give out by themselves, so that between choosing and listening none but
// another bed could take one.
const firstPort, lastPort = 20_000, 32_000

// freeAddress is a loopback address that nobody listens on.
func freeAddress() (string, error) {
	var err error
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(lastPort-firstPort))
		var listener net.Listener
		if listener, err = net.Listen("tcp", address); err == nil {
			return address, listener.Close()
		}
	}
	return "", fmt.Errorf("test bed: looking for a free port: %w", err)
}
