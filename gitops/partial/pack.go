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

// errTooLarge is a pack that unfolds to more than the limits allow.
var errTooLarge = errors.New("the server's pack holds more than any that is expected")

// packReader unfolds one pack. go-git's own parser has no limit on what a pack may unfold to.
type packReader struct {
	scanner *packfile.Scanner
	limits  packLimits
	left    int64
	all     []object
	offsets map[int64]int
	hashes  map[Hash]int
}

// readPack reads a whole pack, checks its sum, and returns its objects.
func readPack(source io.Reader, limits packLimits) ([]object, error) {
	reader := &packReader{
		scanner: packfile.NewScanner(source),
		limits:  limits,
		left:    limits.total,
		offsets: map[int64]int{},
		hashes:  map[Hash]int{},
	}
	_, count, err := reader.scanner.Header()
	if err != nil {
		return nil, fmt.Errorf("reading the pack: %w", err)
	}
	if count > limits.objects {
		return nil, errTooLarge
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
	if err := p.spend(header.Length); err != nil {
		return err
	}
	var content bytes.Buffer
	if _, _, err := p.scanner.NextObject(&content); err != nil {
		return err
	}
	read := object{kind: header.Type, content: content.Bytes()}
	if header.Type.IsDelta() {
		base, known := p.offsets[header.OffsetReference]
		if header.Type == plumbing.REFDeltaObject {
			base, known = p.hashes[header.Reference]
		}
		if !known {
			return errors.New("a delta without its base")
		}
		if read, err = p.apply(p.all[base], read.content); err != nil {
			return err
		}
	}
	p.offsets[header.Offset] = len(p.all)
	p.hashes[read.hash()] = len(p.all)
	p.all = append(p.all, read)
	return nil
}

// apply unfolds a delta after looking at the size that it claims.
func (p *packReader) apply(base object, delta []byte) (object, error) {
	_, read := binary.Uvarint(delta)
	if read <= 0 {
		return object{}, packfile.ErrInvalidDelta
	}
	size, read := binary.Uvarint(delta[read:])
	if read <= 0 || size > uint64(p.limits.object) {
		return object{}, errTooLarge
	}
	if err := p.spend(int64(size)); err != nil {
		return object{}, err
	}
	content, err := packfile.PatchDelta(base.content, delta)
	return object{kind: base.kind, content: content}, err
}

// spend takes bytes from what the pack may still unfold to.
func (p *packReader) spend(size int64) error {
	p.left -= size
	if size > p.limits.object || p.left < 0 {
		return errTooLarge
	}
	return nil
}

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
