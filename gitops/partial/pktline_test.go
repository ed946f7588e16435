package partial

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPacketReader(t *testing.T) {
	type packet struct {
		Kind    packetKind
		Payload string
	}
	tests := []struct {
		name  string
		input string
		want  []packet
		err   string
	}{
		{"data and specials", "0006a\n0001000200000004", []packet{{packetData, "a\n"}, {packetDelimiter, ""}, {packetResponseEnd, ""}, {packetFlush, ""}, {packetData, ""}}, "EOF"},
		{"upper case length", "000Aabcdef", []packet{{packetData, "abcdef"}}, "EOF"},
		{"length three", "0003", nil, "packet with the length 3, allowed are 4 to 65520"},
		{"too long", "fff1", nil, "packet with the length 65521, allowed are 4 to 65520"},
		{"no number", "<htm", nil, `packet with the length "<htm", which is no hexadecimal number`},
		{"sign", "+00a", nil, `packet with the length "+00a", which is no hexadecimal number`},
		{"cut header", "00", nil, "unexpected EOF"},
		{"cut payload", "0009ab", nil, "unexpected EOF"},
		{"payload missing", "0009", nil, "unexpected EOF"},
		{"error", "000fERR no way\n", nil, "the server answered: no way\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			reader := newPacketReader(strings.NewReader(test.input))
			var got []packet
			var err error
			for {
				var kind packetKind
				var payload []byte
				if kind, payload, err = reader.next(); err != nil {
					break
				}
				got = append(got, packet{kind, string(payload)})
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if err.Error() != test.err {
				t.Errorf("error %q, want %q", err, test.err)
			}
		})
	}
}

func TestPacketWriter(t *testing.T) {
	var writer packetWriter
	writer.line("command=%s", "ls-refs")
	writer.delimiter()
	writer.flush()
	if got, want := writer.String(), "0014command=ls-refs\n00010000"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBandReader(t *testing.T) {
	tests := []struct{ name, input, content, progress, err string }{
		{"two bands", "0008\x01abc0007\x02hi0006\x01d0000", "abcd", "hi", ""},
		{"fatal", "0007\x02a\n0008\x03bad", "", "a\n", "the server answered: a\nbad"},
		{"no flush", "0006\x01a", "a", "", "unexpected EOF"},
		{"unknown band", "0006\x07a", "", "", "packet for side band 7, which there is not"},
		{"empty packet", "00040006\x01a0000", "a", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			reader := &bandReader{packets: newPacketReader(strings.NewReader(test.input))}
			content, err := io.ReadAll(reader)
			message := ""
			if err != nil {
				message = err.Error()
			}
			if string(content) != test.content || string(reader.progress) != test.progress || message != test.err {
				t.Errorf("content %q, progress %q, error %q", content, reader.progress, message)
			}
		})
	}
}

func FuzzPacketReader(f *testing.F) {
	for _, seed := range []string{"", "0000", "0001", "0006a\n0000", "0003", "fff0", "ffff", "000fERR no way\n", "0008\x01abc0000", "0007\x03no", "00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		reader := newPacketReader(bytes.NewReader(input))
		var again packetWriter
		for {
			kind, payload, err := reader.next()
			if err != nil {
				var said *serverError
				if errors.As(err, &said) && len(said.words) > maxPacket {
					t.Fatalf("words of %d bytes", len(said.words))
				}
				break
			}
			if kind == packetData && len(payload) > maxPacket-4 {
				t.Fatalf("payload of %d bytes", len(payload))
			}
			if kind == packetData && bytes.HasSuffix(payload, []byte("\n")) && len(payload) < maxPacket-5 {
				again.line("%s", bytes.TrimSuffix(payload, []byte("\n")))
				if _, back, err := newPacketReader(bytes.NewReader(again.Bytes())).next(); err != nil || !bytes.Equal(back, payload) {
					t.Fatalf("%q came back as %q (%v)", payload, back, err)
				}
				again.Reset()
			}
		}
		bands := &bandReader{packets: newPacketReader(bytes.NewReader(input))}
		_, _ = io.Copy(io.Discard, bands)
	})
}
