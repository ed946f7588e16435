package storetest

import (
	"context"
	"net"
	"sync"
	"testing"
)

// Proxy stands between a store and its database, and can go away.
type Proxy struct {
	// Address is host and port.
	Address string

	to       string
	listener net.Listener
	mu       sync.Mutex
	state    proxyState
	open     map[net.Conn]bool
}

// proxyState is what becomes of connections.
type proxyState int

const (
	// Passing passes all on. Refusing ends every connection at once. Silent takes what is sent and answers nothing.
	Passing proxyState = iota
	Refusing
	Silent
)

// NewProxy starts a proxy to an address, for one test.
func NewProxy(tb testing.TB, to string) *Proxy {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{Address: listener.Addr().String(), to: to, listener: listener, open: map[net.Conn]bool{}}
	tb.Cleanup(func() {
		_ = listener.Close()
		p.Set(Refusing)
	})
	go p.serve()
	return p
}

// Set changes what becomes of connections, and ends those that there are, except when they are to be silent.
func (p *Proxy) Set(state proxyState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = state
	if state == Silent {
		return
	}
	for connection := range p.open {
		_ = connection.Close()
	}
	clear(p.open)
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.is() == Refusing {
			_ = client.Close()
			continue
		}
		server, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.open[client], p.open[server] = true, true
		p.mu.Unlock()
		go p.pass(client, server)
		go p.pass(server, client)
	}
}

func (p *Proxy) is() proxyState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

func (p *Proxy) pass(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		count, err := from.Read(buffer)
		if p.is() == Passing {
			if _, err := to.Write(buffer[:count]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
