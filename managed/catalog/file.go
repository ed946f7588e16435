package catalog

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
)

// File is a catalogue that follows its file. The zero File is not usable: [Open] makes one.
type File struct {
	path    string
	current atomic.Pointer[managed.Catalogue]

	// reading guards what was read last, right or faulty.
	reading sync.Mutex
	read    []byte
	fault   error
}

// Open reads a catalogue. A faulty one is an error: the service does not start with it.
func Open(path string) (*File, error) {
	file := &File{path: path}
	if _, err := file.Reload(); err != nil {
		return nil, err
	}
	return file, nil
}

// Current is the catalogue of the last reading that was right. Nobody may change it.
func (f *File) Current() *managed.Catalogue { return f.current.Load() }

// Fault is why the file as it stands now is not used; nil when it is.
func (f *File) Fault() error {
	f.reading.Lock()
	defer f.reading.Unlock()
	return f.fault
}

// Reload reads the file and says whether there is anything new: another catalogue, or with an error another fault. The
// catalogue in use stays when the file is faulty or cannot be read.
func (f *File) Reload() (news bool, err error) {
	f.reading.Lock()
	defer f.reading.Unlock()
	data, err := os.ReadFile(f.path)
	if err != nil {
		err = fmt.Errorf("catalogue %s: reading: %w", f.path, err)
		news = f.fault == nil || f.fault.Error() != err.Error()
		f.read, f.fault = nil, err
		return news, err
	}
	if f.read != nil && bytes.Equal(data, f.read) {
		return false, f.fault
	}
	f.read = data
	catalogue, err := Parse(data)
	if err != nil {
		f.fault = fmt.Errorf("catalogue %s: %w", f.path, err)
		return true, f.fault
	}
	f.current.Store(catalogue)
	f.fault = nil
	return true, nil
}

// Follow reads the file again and again until the context ends, and reports what is new: nil for another catalogue in
// use, else why the file is not used. A mounted ConfigMap changes by a swap of folders, so the content is compared.
func (f *File) Follow(ctx context.Context, every time.Duration, report func(error)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if news, err := f.Reload(); news {
				report(err)
			}
		}
	}
}
