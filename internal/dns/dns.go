// Package dns asks nameservers which names are the top of a DNS zone.
//
// It promises that the nameservers of the host's configuration alone are asked, in their order and over UDP, each with
// a time limit of its own, and that the first one which answers decides. It leaves out search domains, TCP, caching and
// every decision on what an answer means.
package dns

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	port = "53"
	// perServer is how long one nameserver may take.
	perServer = 5 * time.Second
	// maxAnswer is the largest answer that fits a UDP datagram.
	maxAnswer = 64 * 1024
)

// Resolver asks nameservers. It is safe for concurrent use.
type Resolver struct {
	servers []string
}

// New makes a resolver that asks the nameservers at the addresses, each host:port, in their order.
func New(servers ...string) *Resolver { return &Resolver{servers: servers} }

// FromConfiguration makes a resolver that asks the nameservers of a file in the form of /etc/resolv.conf, at port 53. A
// file that cannot be read or names none is an error.
func FromConfiguration(file string) (*Resolver, error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%s: reading nameservers: %w", file, errors.Unwrap(err))
	}
	defer opened.Close()
	var servers []string
	lines := bufio.NewScanner(opened)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 1 && fields[0] == "nameserver" {
			servers = append(servers, net.JoinHostPort(fields[1], port))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: reading nameservers: %w", file, err)
	}
	if len(servers) == 0 {
		return nil, fmt.Errorf("%s: reading nameservers: it names none", file)
	}
	return New(servers...), nil
}

// IsZone says whether a name is the top of a zone: it has a SOA record of its own. A name that does not exist is none.
// An error says that no nameserver answered, or that the first one which did neither knows nor denies the name.
func (r *Resolver) IsZone(ctx context.Context, name string) (bool, error) {
	query, question, err := ask(name)
	if err != nil {
		return false, fmt.Errorf("%s: asking for its SOA record: %w", name, err)
	}
	var faults []error
	for _, server := range r.servers {
		answer, err := exchange(ctx, server, query, question)
		if err != nil {
			faults = append(faults, fmt.Errorf("nameserver %s: %w", server, err))
			continue
		}
		is, err := judge(answer, question)
		if err != nil {
			return false, fmt.Errorf("%s: asking nameserver %s for its SOA record: %w", name, server, err)
		}
		return is, nil
	}
	return false, fmt.Errorf("%s: asking for its SOA record: no nameserver answered: %w", name, errors.Join(faults...))
}

// ask makes the message that asks for a name's SOA record.
func ask(name string) (message []byte, question dnsmessage.Question, err error) {
	absolute, err := dnsmessage.NewName(strings.TrimSuffix(name, ".") + ".")
	if err != nil {
		return nil, question, err
	}
	var id [2]byte
	_, _ = rand.Read(id[:])
	question = dnsmessage.Question{Name: absolute, Type: dnsmessage.TypeSOA, Class: dnsmessage.ClassINET}
	asked := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: binary.BigEndian.Uint16(id[:]), RecursionDesired: true},
		Questions: []dnsmessage.Question{question},
	}
	message, err = asked.Pack()
	return message, question, err
}

// exchange sends the message and waits for the answer to it; datagrams that are something else are passed over.
func exchange(ctx context.Context, server string, message []byte, question dnsmessage.Question) (dnsmessage.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, perServer)
	defer cancel()
	connection, err := new(net.Dialer).DialContext(ctx, "udp", server)
	if err != nil {
		return dnsmessage.Message{}, err
	}
	defer connection.Close()
	// A context that ends early ends the read, too.
	stop := context.AfterFunc(ctx, func() { _ = connection.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := connection.Write(message); err != nil {
		return dnsmessage.Message{}, err
	}
	buffer := make([]byte, maxAnswer)
	for {
		count, err := connection.Read(buffer)
		if ended := ctx.Err(); err != nil && ended != nil {
			return dnsmessage.Message{}, ended
		}
		if err != nil {
			return dnsmessage.Message{}, err
		}
		var answer dnsmessage.Message
		if answer.Unpack(buffer[:count]) == nil && answers(answer, message, question) {
			return answer, nil
		}
	}
}

// answers says whether a message answers the question that was sent.
func answers(answer dnsmessage.Message, sent []byte, question dnsmessage.Question) bool {
	return answer.Response && answer.ID == binary.BigEndian.Uint16(sent) && len(answer.Questions) == 1 &&
		answer.Questions[0].Type == question.Type && answer.Questions[0].Class == question.Class &&
		strings.EqualFold(answer.Questions[0].Name.String(), question.Name.String())
}

// judge reads an answer. A SOA record of another name tells of a zone above, or of the one that an alias leads to.
func judge(answer dnsmessage.Message, question dnsmessage.Question) (bool, error) {
	switch answer.RCode {
	case dnsmessage.RCodeNameError:
		return false, nil
	case dnsmessage.RCodeSuccess:
	default:
		return false, fmt.Errorf("it answered %s", strings.TrimPrefix(answer.RCode.String(), "RCode"))
	}
	if answer.Truncated {
		return false, errors.New("its answer does not fit a datagram")
	}
	for _, record := range answer.Answers {
		if record.Header.Type == dnsmessage.TypeSOA && strings.EqualFold(record.Header.Name.String(), question.Name.String()) {
			return true, nil
		}
	}
	return false, nil
}
