package mcptools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// stdio are the two streams to the one client of a process. The library cuts running calls off once what it reads ends, so
// it is told of the end when each request that was read is answered.
type stdio struct {
	in  *bufio.Reader
	out io.Writer
	// reader is what the library reads, writer what feed passes on.
	reader *io.PipeReader
	writer *io.PipeWriter

	mutex sync.Mutex
	// open are the requests without an answer, by their ids.
	open map[string]bool
	// answered is closed when none is open, once nothing more is read.
	ended    bool
	answered chan struct{}
}

func newStdio(in io.Reader, out io.Writer) *stdio {
	made := &stdio{in: bufio.NewReader(in), out: out, open: map[string]bool{}, answered: make(chan struct{})}
	made.reader, made.writer = io.Pipe()
	return made
}

// envelope is what tells requests, answers and cancellations apart.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
}

// plain is an id as it comes back in an answer, whichever way it was written.
func plain(id json.RawMessage) string {
	var value any
	_ = json.Unmarshal(id, &value)
	text, _ := json.Marshal(value)
	return string(text)
}

// feed passes lines on until the client's stream or the context ends, waits for what is open, and ends the library's.
func (s *stdio) feed(ctx context.Context, stop time.Duration) {
	ended := make(chan error, 1)
	go func() { ended <- s.read() }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	s.end()
	select {
	case <-s.answered:
	case <-time.After(stop):
	}
	_ = s.writer.CloseWithError(err)
}

// read passes lines on until they end or the library is gone.
func (s *stdio) read() error {
	for {
		line, err := s.in.ReadBytes('\n')
		if len(line) > 0 && s.take(line) {
			if _, err := s.writer.Write(line); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// take notes what a line asks for, and says whether it is still passed on.
func (s *stdio) take(line []byte) bool {
	var sent envelope
	_ = json.Unmarshal(line, &sent)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case sent.Method == "":
		// An answer to what the server asked.
		return true
	case s.ended:
		return false
	case sent.Method == methodCancelled:
		delete(s.open, plain(sent.Params.RequestID))
	case len(sent.ID) > 0:
		s.open[plain(sent.ID)] = true
	}
	return true
}

// Read implements io.Reader for the library.
func (s *stdio) Read(data []byte) (int, error) { return s.reader.Read(data) }

// Write implements io.Writer for the library, which writes a message at a time.
func (s *stdio) Write(data []byte) (int, error) {
	written, err := s.out.Write(data)
	var sent envelope
	if json.Unmarshal(bytes.TrimSpace(data), &sent) == nil && sent.Method == "" {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		delete(s.open, plain(sent.ID))
		s.check()
	}
	return written, err
}

func (s *stdio) end() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.ended = true
	s.check()
}

// check closes answered, once.
func (s *stdio) check() {
	if !s.ended || len(s.open) > 0 {
		return
	}
	select {
	case <-s.answered:
	default:
		close(s.answered)
	}
}

// close lets go of a reader that waits for the client.
func (s *stdio) close() { _ = s.reader.Close() }
