package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"unsafe"
)

// temporary watches a folder: every file that comes into being below it, and what of them could be read before they
// were gone again. Files are opened when the system tells of them, so one that is removed at once keeps its name alone.
type temporary struct {
	folder string
	events *os.File
	done   chan struct{}
	// marked tells that the marker was seen, and everything before it.
	marked chan struct{}

	mutex   sync.Mutex
	folders map[int32]string
	seen    map[string]bool
	opened  map[string]*os.File
	faults  []error
}

const (
	watchedEvents = syscall.IN_CREATE | syscall.IN_MOVED_TO
	marker        = "marker"
)

func watchTemporary(t *testing.T, folder string) *temporary {
	t.Helper()
	descriptor, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	watched := &temporary{
		folder: folder, events: os.NewFile(uintptr(descriptor), "inotify"), done: make(chan struct{}), marked: make(chan struct{}, 1),
		folders: map[int32]string{}, seen: map[string]bool{}, opened: map[string]*os.File{},
	}
	watched.add(descriptor, folder)
	go watched.run(descriptor)
	t.Cleanup(func() {
		_ = watched.events.Close()
		<-watched.done
		for _, file := range watched.opened {
			_ = file.Close()
		}
	})
	return watched
}

// add watches a folder, and takes what stands in it already.
func (w *temporary) add(descriptor int, folder string) {
	watch, err := syscall.InotifyAddWatch(descriptor, folder, watchedEvents)
	if err != nil {
		return
	}
	w.folders[int32(watch)] = folder
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		w.take(descriptor, filepath.Join(folder, entry.Name()), entry.IsDir())
	}
}

func (w *temporary) take(descriptor int, path string, folder bool) {
	w.seen[path] = true
	if folder {
		w.add(descriptor, path)
		return
	}
	if _, there := w.opened[path]; there {
		return
	}
	if file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0); err == nil {
		w.opened[path] = file
	}
}

func (w *temporary) run(descriptor int) {
	defer close(w.done)
	buffer := make([]byte, 1<<16)
	for {
		n, err := w.events.Read(buffer)
		if err != nil {
			return
		}
		w.mutex.Lock()
		for rest := buffer[:n]; len(rest) >= syscall.SizeofInotifyEvent; {
			event := (*syscall.InotifyEvent)(unsafe.Pointer(&rest[0]))
			name := string(bytes.TrimRight(rest[syscall.SizeofInotifyEvent:syscall.SizeofInotifyEvent+int(event.Len)], "\x00"))
			rest = rest[syscall.SizeofInotifyEvent+int(event.Len):]
			if event.Mask&syscall.IN_Q_OVERFLOW != 0 {
				w.faults = append(w.faults, fmt.Errorf("events of %s were lost", w.folder))
			}
			folder, known := w.folders[event.Wd]
			switch {
			case !known || name == "":
			case folder == w.folder && name == marker:
				w.marked <- struct{}{}
			default:
				w.take(descriptor, filepath.Join(folder, name), event.Mask&syscall.IN_ISDIR != 0)
			}
		}
		w.mutex.Unlock()
	}
}

// settle waits until everything that happened so far was seen.
func (w *temporary) settle(t *testing.T) {
	t.Helper()
	path := filepath.Join(w.folder, marker)
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.marked:
	case <-w.done:
		t.Fatal("the folder is watched no more")
	}
}

// contents are the names of what was seen since the last look, and what of it could be read. What still stands in the
// folder is a fault.
func (w *temporary) contents(t *testing.T) []byte {
	t.Helper()
	t.Helper()
	_ = filepath.WalkDir(w.folder, func(path string, _ fs.DirEntry, _ error) error {
		if path != w.folder {
			t.Errorf("temporary file %s stays", path)
		}
		return nil
	})
	w.settle(t)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, err := range w.faults {
		t.Error(err)
	}
	var all bytes.Buffer
	for path := range w.seen {
		fmt.Fprintln(&all, path)
	}
	for path, file := range w.opened {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			content, _ := io.ReadAll(io.NewSectionReader(file, 0, info.Size()))
			_, _ = all.Write(content)
		}
		_ = file.Close()
		delete(w.opened, path)
	}
	clear(w.seen)
	return all.Bytes()
}
