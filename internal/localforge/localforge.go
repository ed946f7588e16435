package localforge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Options say where a forge keeps what it serves.
type Options struct {
	// Repositories is the folder that holds <owner>/<name>.git; it is made when it is absent.
	Repositories string
	// State is the path of the file that keeps the pull requests; "" keeps them in memory alone.
	State string
	// Listen is the loopback address to listen on; "" is 127.0.0.1:0.
	Listen string
	// Now is the clock of the dates in answers and merges; nil is time.Now.
	Now func() time.Time
}

// Request is a request that the forge was sent.
type Request struct {
	Method string
	// Path is the decoded path, Query the raw query.
	Path  string
	Query string
}

// Forge is a running forge. All its methods may be called at the same time.
type Forge struct {
	options  Options
	program  string
	context  context.Context
	cancel   context.CancelFunc
	routes   *http.ServeMux
	server   *http.Server
	url      string
	serving  sync.WaitGroup
	imports  sync.Mutex
	accounts accounts
	log      requestLog
	faults   faults

	// pulls guards the pull requests: an operation on them is one after the other, its git commands included.
	pulls sync.Mutex
	state state
	// statuses are those of commits, by repository.
	statuses map[string][]commitStatus
}

// New makes a forge that listens nowhere: a handler for a server of the caller's. The context ends its git commands.
// Close need not be called.
func New(ctx context.Context, options Options) (*Forge, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("local forge: looking for the git program: %w", err)
	}
	folder, err := filepath.Abs(options.Repositories)
	if err != nil {
		return nil, fmt.Errorf("local forge: folder %s: %w", options.Repositories, err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("local forge: making the folder of repositories: %w", err)
	}
	options.Repositories = folder
	if options.Now == nil {
		options.Now = time.Now
	}
	forge := &Forge{options: options, program: program}
	if forge.state, err = readState(options.State); err != nil {
		return nil, err
	}
	forge.context, forge.cancel = context.WithCancel(ctx)
	forge.routes = forge.newRoutes()
	return forge, nil
}

// Start makes a forge that listens, until Close or the end of the context. An address that is not loopback is refused.
func Start(ctx context.Context, options Options) (*Forge, error) {
	if options.Listen == "" {
		options.Listen = "127.0.0.1:0"
	}
	if host, _, err := net.SplitHostPort(options.Listen); err != nil || !clustermanager.IsLoopback(host) {
		return nil, fmt.Errorf("local forge: address %q: only a loopback address with a port is listened on", options.Listen)
	}
	forge, err := New(ctx, options)
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", options.Listen)
	if err != nil {
		forge.cancel()
		return nil, fmt.Errorf("local forge: listening on %s: %w", options.Listen, err)
	}
	forge.url = "http://" + listener.Addr().String()
	forge.server = &http.Server{
		Handler: forge, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return forge.context },
	}
	go func() { _ = forge.server.Serve(listener) }()
	context.AfterFunc(forge.context, func() { _ = forge.server.Close() })
	return forge, nil
}

// Git ends at once when its request is cut off; a forge that waited for one that does not would hang its command.
const closingTime = 5 * time.Second

// Close ends the forge: no request is taken any more, and those under way are over, their git commands with them. One
// that does not end within five seconds is an error.
func (f *Forge) Close() error {
	f.cancel()
	var err error
	if f.server != nil {
		err = f.server.Close()
	}
	over := make(chan struct{})
	go func() {
		f.serving.Wait()
		close(over)
	}()
	select {
	case <-over:
		return err
	case <-time.After(closingTime):
		return errors.Join(err, errors.New("local forge: closing: a request is still under way"))
	}
}

// URL is the root of the forge's web and git addresses, without a slash at the end; "" for a forge that does not listen.
func (f *Forge) URL() string { return f.url }

// APIURL is the root of its REST API.
func (f *Forge) APIURL() string { return f.url + apiRoot }

// CloneURL is where a repository is cloned from.
func (f *Forge) CloneURL(owner, name string) string { return f.url + "/" + owner + "/" + name + ".git" }

// Requests are the requests so far, in the order they came; of very many the last thousands.
func (f *Forge) Requests() []Request { return f.log.all() }

// ReceivePacks is how many pushes came so far, refused ones included.
func (f *Forge) ReceivePacks() int { return f.log.receivePacks() }

// A forge that runs for long forgets its oldest requests.
const maximalLog = 10_000

type requestLog struct {
	mutex    sync.Mutex
	requests []Request
	received int
}

func (l *requestLog) add(r *http.Request) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.requests) == maximalLog {
		l.requests = slices.Delete(l.requests, 0, maximalLog/2)
	}
	l.requests = append(l.requests, Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery})
}

func (l *requestLog) addReceivePack() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.received++
}

func (l *requestLog) all() []Request {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.requests)
}

func (l *requestLog) receivePacks() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.received
}
