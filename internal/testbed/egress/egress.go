// Package egress is the one way out for programs that reach loopback addresses alone: a proxy for HTTPS that answers for
// one host and refuses every other.
//
// It promises that a program with HTTPS_PROXY set to it, and with the certificate's authority among those it trusts, gets
// what the handler says when it asks https://<host>/…, on port 443. Nothing leaves this machine.
//
// It leaves out plain HTTP and other ports.
package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Proxy is a running proxy.
type Proxy struct {
	host string
	// entry takes CONNECT requests, inside speaks TLS.
	entry, inside     *http.Server
	address, insideAt string
}

// Start starts a proxy that answers for a host with a certificate of that host's name.
func Start(ctx context.Context, host string, certificate tls.Certificate, handler http.Handler) (*Proxy, error) {
	started := &Proxy{host: net.JoinHostPort(host, "443")}
	started.entry = &http.Server{Handler: http.HandlerFunc(started.connect), ReadHeaderTimeout: 10 * time.Second}
	started.inside = &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	entry, err := listen(ctx)
	if err != nil {
		return nil, err
	}
	inside, err := listen(ctx)
	if err != nil {
		return nil, errors.Join(err, entry.Close())
	}
	started.address, started.insideAt = entry.Addr().String(), inside.Addr().String()
	go func() { _ = started.entry.Serve(entry) }()
	go func() { _ = started.inside.ServeTLS(inside, "", "") }()
	return started, nil
}

func listen(ctx context.Context) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy: listening: %w", err)
	}
	return listener, nil
}

// URL is what HTTPS_PROXY is set to.
func (p *Proxy) URL() string { return "http://" + p.address }

// Close ends the proxy. Connections that are under way end with the program that has them, or with the handler's server.
func (p *Proxy) Close() error { return errors.Join(p.entry.Close(), p.inside.Close()) }

// connect joins the caller with the server inside.
func (p *Proxy) connect(answer http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodConnect || request.Host != p.host {
		http.Error(answer, "this proxy leads to "+p.host+" alone", http.StatusForbidden)
		return
	}
	inside, err := (&net.Dialer{}).DialContext(request.Context(), "tcp", p.insideAt)
	if err != nil {
		http.Error(answer, err.Error(), http.StatusBadGateway)
		return
	}
	outside, buffered, err := http.NewResponseController(answer).Hijack()
	if err != nil {
		_ = inside.Close()
		http.Error(answer, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := io.WriteString(outside, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_, _ = inside.Close(), outside.Close()
		return
	}
	var both sync.WaitGroup
	for _, way := range []struct {
		to   net.Conn
		from io.Reader
	}{{inside, buffered}, {outside, inside}} {
		both.Go(func() {
			_, _ = io.Copy(way.to, way.from)
			_, _ = inside.Close(), outside.Close()
		})
	}
	both.Wait()
}
