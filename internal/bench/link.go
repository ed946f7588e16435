package bench

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Link is a TCP address on loopback that leads to a server. It counts the bytes that cross it, headers included, and
// can be as slow as a real one: a round trip for each connection, and half of one for whatever is sent, however much.
// It leaves out a limit of bandwidth, and the round trips of TLS.
type Link struct {
	// Address is its host and port.
	Address string

	target     string
	roundTrip  time.Duration
	context    context.Context
	up, down   atomic.Int64
	connecting sync.WaitGroup
}

// NewLink opens a link to a server's host and port until the test ends.
func NewLink(tb testing.TB, target string, roundTrip time.Duration) *Link {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		tb.Fatal(err)
	}
	link := &Link{Address: listener.Addr().String(), target: target, roundTrip: roundTrip, context: ctx}
	link.connecting.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			link.connecting.Go(func() { link.connect(client) })
		}
	})
	tb.Cleanup(func() {
		cancel()
		_ = listener.Close()
		link.connecting.Wait()
	})
	return link
}

// Bytes are those that went to the server and came from it so far.
func (l *Link) Bytes() (up, down int64) { return l.up.Load(), l.down.Load() }

func (l *Link) connect(client net.Conn) {
	accepted := time.Now()
	server, err := new(net.Dialer).DialContext(l.context, "tcp", l.target)
	if err != nil {
		_ = client.Close()
		return
	}
	ended := context.AfterFunc(l.context, func() { _, _ = client.Close(), server.Close() })
	defer ended()
	var both sync.WaitGroup
	both.Go(func() { l.carry(client, server, &l.up, accepted.Add(l.roundTrip)) })
	both.Go(func() { l.carry(server, client, &l.down, accepted) })
	both.Wait()
	_, _ = client.Close(), server.Close()
}

// packet is what was read at once, and when it arrives at the other end.
type packet struct {
	content []byte
	arrives time.Time
}

// carry moves one direction until its end. Nothing leaves before established.
func (l *Link) carry(from, to net.Conn, count *atomic.Int64, established time.Time) {
	packets := make(chan packet, 1024)
	go func() {
		defer close(packets)
		for {
			buffer := make([]byte, 64<<10)
			n, err := from.Read(buffer)
			count.Add(int64(n))
			sent := time.Now()
			if sent.Before(established) {
				sent = established
			}
			if n > 0 {
				packets <- packet{buffer[:n], sent.Add(l.roundTrip / 2)}
			}
			if err != nil {
				return
			}
		}
	}()
	for packet := range packets {
		l.wait(packet.arrives)
		if _, err := to.Write(packet.content); err != nil {
			_ = from.Close()
		}
	}
	if half, ok := to.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
}

// wait returns at a moment, or when the link ends.
func (l *Link) wait(moment time.Time) {
	left := time.Until(moment)
	if left <= 0 {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.context.Done():
	}
}
