package dns_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/clustermanager/cluster-manager/internal/dns"
)

// nameserver answers each question with what the function makes of it; nil: nothing. It counts the questions.
func nameserver(t *testing.T, answer func(asked dnsmessage.Message) []dnsmessage.Message) (address string, asked *atomic.Int32) {
	t.Helper()
	connection, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked = new(atomic.Int32)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 1024)
		for {
			count, from, err := connection.ReadFrom(buffer)
			if err != nil {
				return
			}
			asked.Add(1)
			var message dnsmessage.Message
			if message.Unpack(buffer[:count]) != nil {
				continue
			}
			for _, made := range answer(message) {
				packed, err := made.Pack()
				if err == nil {
					_, _ = connection.WriteTo(packed, from)
				}
			}
		}
	}()
	t.Cleanup(func() { _ = connection.Close(); <-done })
	return connection.LocalAddr().String(), asked
}

func reply(asked dnsmessage.Message, code dnsmessage.RCode, owners ...string) dnsmessage.Message {
	made := dnsmessage.Message{
		Header: dnsmessage.Header{ID: asked.ID, Response: true, RCode: code}, Questions: asked.Questions,
	}
	for _, owner := range owners {
		made.Answers = append(made.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(owner), Type: dnsmessage.TypeSOA, Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.SOAResource{NS: dnsmessage.MustNewName("ns.example."), MBox: dnsmessage.MustNewName("m.example.")},
		})
	}
	return made
}

func TestIsZone(t *testing.T) {
	one := func(code dnsmessage.RCode, owners ...string) func(dnsmessage.Message) []dnsmessage.Message {
		return func(asked dnsmessage.Message) []dnsmessage.Message {
			return []dnsmessage.Message{reply(asked, code, owners...)}
		}
	}
	for _, test := range []struct {
		name   string
		answer func(dnsmessage.Message) []dnsmessage.Message
		want   bool
		fault  string
	}{
		{name: "a SOA record", answer: one(dnsmessage.RCodeSuccess, "ACME.example."), want: true},
		{name: "no record", answer: one(dnsmessage.RCodeSuccess)},
		{name: "the record of where an alias leads", answer: one(dnsmessage.RCodeSuccess, "other.example.")},
		{name: "no such name", answer: one(dnsmessage.RCodeNameError)},
		{name: "a failing server", answer: one(dnsmessage.RCodeServerFailure), fault: "it answered ServerFailure"},
		{name: "a refusing server", answer: one(dnsmessage.RCodeRefused), fault: "it answered Refused"},
		{name: "cut", answer: func(asked dnsmessage.Message) []dnsmessage.Message {
			made := reply(asked, dnsmessage.RCodeSuccess)
			made.Truncated = true
			return []dnsmessage.Message{made}
		}, fault: "its answer does not fit a datagram"},
		{name: "answers to others first", want: true, answer: func(asked dnsmessage.Message) []dnsmessage.Message {
			id, name, query := reply(asked, dnsmessage.RCodeNameError), reply(asked, dnsmessage.RCodeNameError), reply(asked, dnsmessage.RCodeNameError)
			id.ID++
			name.Questions = []dnsmessage.Question{{Name: dnsmessage.MustNewName("else."), Type: dnsmessage.TypeSOA, Class: dnsmessage.ClassINET}}
			query.Response = false
			return []dnsmessage.Message{id, name, query, reply(asked, dnsmessage.RCodeSuccess, "acme.example.")}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			first, _ := nameserver(t, test.answer)
			second, asked := nameserver(t, one(dnsmessage.RCodeNameError))
			got, err := dns.New(first, second).IsZone(t.Context(), "acme.example")
			if got != test.want || (err == nil) != (test.fault == "") || err != nil && !strings.HasSuffix(err.Error(), test.fault) {
				t.Errorf("%t, %v", got, err)
			}
			if asked.Load() != 0 {
				t.Error("the second nameserver was asked though the first answered")
			}
		})
	}
}

func TestTheFirstThatAnswersDecides(t *testing.T) {
	closed, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := closed.LocalAddr().String()
	_ = closed.Close()
	second, asked := nameserver(t, func(asked dnsmessage.Message) []dnsmessage.Message {
		return []dnsmessage.Message{reply(asked, dnsmessage.RCodeSuccess, "acme.example.")}
	})
	got, err := dns.New(gone, second).IsZone(t.Context(), "acme.example.")
	if !got || err != nil || asked.Load() != 1 {
		t.Errorf("%t, %v, asked %d times", got, err, asked.Load())
	}
	if _, err := dns.New(gone).IsZone(t.Context(), "acme.example"); err == nil || !strings.Contains(err.Error(), "acme.example: asking for its SOA record: no nameserver answered: nameserver "+gone) {
		t.Error(err)
	}
}

func TestAnEndedContextEndsTheQuestion(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	silent, _ := nameserver(t, func(dnsmessage.Message) []dnsmessage.Message { cancel(); return nil })
	if _, err := dns.New(silent).IsZone(ctx, "acme.example"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestANameThatIsNone(t *testing.T) {
	if _, err := dns.New("127.0.0.1:1").IsZone(t.Context(), strings.Repeat("a", 300)); err == nil || !strings.Contains(err.Error(), "asking for its SOA record") {
		t.Error(err)
	}
}

func TestFromConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "resolv.conf")
	for content, fault := range map[string]string{
		"nameserver 192.0.2.1\nnameserver 2001:db8::1 # second\n": "",
		"search example\n# nameserver 192.0.2.1\nnameserver\n":    file + ": reading nameservers: it names none",
		"": file + ": reading nameservers: it names none",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := dns.FromConfiguration(file)
		if (err == nil) != (fault == "") || err != nil && err.Error() != fault {
			t.Errorf("%q: %v", content, err)
		}
	}
	if _, err := dns.FromConfiguration(file + ".absent"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
