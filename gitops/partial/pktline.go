package partial

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// maxPacket is the longest pkt-line, its four digits included (git's LARGE_PACKET_MAX).
const maxPacket = 65520

// packetKind tells a pkt-line's data from the special packets.
type packetKind int

const (
	packetData packetKind = iota
	packetFlush
	packetDelimiter
	packetResponseEnd
)

// specialPackets are the lengths that carry no data.
var specialPackets = map[uint64]packetKind{0: packetFlush, 1: packetDelimiter, 2: packetResponseEnd}

// packetReader reads pkt-lines.
type packetReader struct {
	source io.Reader
	buffer [maxPacket]byte
}

func newPacketReader(source io.Reader) *packetReader { return &packetReader{source: source} }

// next returns the next packet. The payload is valid until the next call. At the end between two packets the error is
// io.EOF, inside one io.ErrUnexpectedEOF; a server's "ERR" packet is a *serverError.
func (p *packetReader) next() (packetKind, []byte, error) {
	header := p.buffer[:4]
	if _, err := io.ReadFull(p.source, header); err != nil {
		return packetData, nil, err
	}
	length, err := strconv.ParseUint(string(header), 16, 16)
	if err != nil {
		return packetData, nil, fmt.Errorf("packet with the length %q, which is no hexadecimal number", header)
	}
	if kind, special := specialPackets[length]; special {
		return kind, nil, nil
	}
	if length < 4 || length > maxPacket {
		return packetData, nil, fmt.Errorf("packet with the length %d, allowed are 4 to %d", length, maxPacket)
	}
	payload := p.buffer[4:length]
	if _, err := io.ReadFull(p.source, payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return packetData, nil, err
	}
	if words, isError := bytes.CutPrefix(payload, []byte("ERR ")); isError {
		return packetData, nil, &serverError{words: string(words)}
	}
	return packetData, payload, nil
}

// line returns the next data packet as text without its newline, or ok false at a special packet.
func (p *packetReader) line() (text string, ok bool, err error) {
	kind, payload, err := p.next()
	if err != nil || kind != packetData {
		return "", false, err
	}
	return string(bytes.TrimSuffix(payload, []byte("\n"))), true, nil
}

// packetWriter builds a request of pkt-lines in memory.
type packetWriter struct{ bytes.Buffer }

// line writes one line with its newline. Lines are commands and names, always shorter than maxPacket.
func (p *packetWriter) line(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	fmt.Fprintf(&p.Buffer, "%04x%s\n", len(text)+5, text)
}

func (p *packetWriter) flush()     { p.WriteString("0000") }
func (p *packetWriter) delimiter() { p.WriteString("0001") }

// bandReader is the content of side band 1 of a multiplexed answer, up to its flush packet. The words of bands 2 and 3
// are collected.
type bandReader struct {
	packets  *packetReader
	pending  []byte
	progress []byte
	done     bool
}

// Read implements io.Reader. Band 3 ends it with a *serverError.
func (b *bandReader) Read(buffer []byte) (int, error) {
	for len(b.pending) == 0 {
		if b.done {
			return 0, io.EOF
		}
		if err := b.advance(); err != nil {
			return 0, err
		}
	}
	n := copy(buffer, b.pending)
	b.pending = b.pending[n:]
	return n, nil
}

func (b *bandReader) advance() error {
	kind, payload, err := b.packets.next()
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	if kind != packetData {
		b.done = true
		return nil
	}
	if len(payload) == 0 {
		return nil
	}
	band, content := payload[0], payload[1:]
	switch band {
	case 1:
		b.pending = content
	case 2:
		if len(b.progress) < maxReportBytes {
			b.progress = append(b.progress, content...)
		}
	case 3:
		return &serverError{words: string(b.progress) + string(content)}
	default:
		return fmt.Errorf("packet for side band %d, which there is not", band)
	}
	return nil
}
