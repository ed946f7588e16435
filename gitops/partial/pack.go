package partial

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/storage/memory"
)

// object is one git object, unfolded.
type object struct {
	kind    plumbing.ObjectType
	content []byte
}

func (o object) hash() Hash { return plumbing.ComputeHash(o.kind, o.content) }

// encode is the object as go-git takes it.
func (o object) encode() *plumbing.MemoryObject {
	encoded := &plumbing.MemoryObject{}
	encoded.SetType(o.kind)
	_, _ = encoded.Write(o.content)
	return encoded
}

// tooLarge is a pack that unfolds to more than a limit, which it names.
type tooLarge struct{ limit string }

func (t *tooLarge) Error() string {
	return "the server's pack holds more than any that is expected: over " + t.limit
}

// packReader unfolds one pack. go-git's own parser has no limit on what a pack may unfold to.
type packReader struct {
	scanner *packfile.Scanner
	limits  packLimits
	// outside are objects that deltas may refer to beside those of the pack; nil: none.
	outside *Store
	left    int64
	all     []object
	offsets map[int64]int
	hashes  map[Hash]int
}

// readPack reads a whole pack, checks its sum, and returns its objects. Deltas may refer to those of outside.
func readPack(source io.Reader, limits packLimits, outside *Store) ([]object, error) {
	reader := &packReader{
		scanner: packfile.NewScanner(source),
		limits:  limits,
		outside: outside,
		left:    limits.total,
		offsets: map[int64]int{},
		hashes:  map[Hash]int{},
	}
	_, count, err := reader.scanner.Header()
	if err != nil {
		return nil, fmt.Errorf("reading the pack: %w", err)
	}
	if count > limits.objects {
		return nil, &tooLarge{limit: fmt.Sprintf("%d objects", limits.objects)}
	}
	for range count {
		if err := reader.object(); err != nil {
			return nil, fmt.Errorf("reading the pack: %w", err)
		}
	}
	if _, err := reader.scanner.Checksum(); err != nil {
		return nil, fmt.Errorf("reading the pack: %w", err)
	}
	_, err = io.Copy(io.Discard, source)
	return reader.all, err
}

// object reads the next object. A delta's base comes before it, as git writes packs.
func (p *packReader) object() error {
	header, err := p.scanner.NextObjectHeader()
	if err != nil {
		return err
	}
	if err := p.spend(uint64(header.Length)); err != nil {
		return err
	}
	var content bytes.Buffer
	content.Grow(int(header.Length))
	if _, _, err := p.scanner.NextObject(&content); err != nil {
		return err
	}
	read := object{kind: header.Type, content: content.Bytes()}
	if header.Type.IsDelta() {
		base, known := p.base(header)
		if !known {
			return errors.New("a delta without its base")
		}
		if read, err = p.apply(base, read.content); err != nil {
			return err
		}
	}
	p.offsets[header.Offset] = len(p.all)
	p.hashes[read.hash()] = len(p.all)
	p.all = append(p.all, read)
	return nil
}

// base is the object that a delta is of.
func (p *packReader) base(header *packfile.ObjectHeader) (object, bool) {
	at, known := p.offsets[header.OffsetReference]
	if header.Type == plumbing.REFDeltaObject {
		at, known = p.hashes[header.Reference]
	}
	switch {
	case known:
		return p.all[at], true
	case header.Type == plumbing.REFDeltaObject && p.outside != nil:
		return p.outside.any(header.Reference)
	}
	return object{}, false
}

// apply unfolds a delta after looking at the size that it claims.
func (p *packReader) apply(base object, delta []byte) (object, error) {
	_, read := binary.Uvarint(delta)
	if read <= 0 {
		return object{}, packfile.ErrInvalidDelta
	}
	size, read := binary.Uvarint(delta[read:])
	if read <= 0 {
		return object{}, packfile.ErrInvalidDelta
	}
	if err := p.spend(size); err != nil {
		return object{}, err
	}
	content, err := packfile.PatchDelta(base.content, delta)
	return object{kind: base.kind, content: content}, err
}

// spend takes bytes from what the pack may still unfold to.
func (p *packReader) spend(size uint64) error {
	if size > uint64(p.limits.object) {
		return &tooLarge{limit: mebibytes(p.limits.object) + " for one file"}
	}
	p.left -= int64(size)
	if p.left < 0 {
		return &tooLarge{limit: mebibytes(p.limits.total) + " unpacked"}
	}
	return nil
}

// mebibytes names a limit.
func mebibytes(size int64) string { return fmt.Sprintf("%d MiB", size>>20) }

// writePack writes the objects into one pack, without deltas: a proposal is a handful of small files.
func writePack(target io.Writer, objects []object) error {
	storage := memory.NewStorage()
	hashes := make([]Hash, 0, len(objects))
	for _, one := range objects {
		hash, err := storage.SetEncodedObject(one.encode())
		if err != nil {
			return err
		}
		hashes = append(hashes, hash)
	}
	_, err := packfile.NewEncoder(target, storage, false).Encode(hashes, 0)
	return err
}
