package partial

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// rawPack writes a pack by hand: each entry is a header byte sequence and a content.
func rawPack(entries ...[2][]byte) []byte {
	pack := []byte("PACK\x00\x00\x00\x02")
	pack = binary.BigEndian.AppendUint32(pack, uint32(len(entries)))
	for _, entry := range entries {
		pack = append(pack, entry[0]...)
		var packed bytes.Buffer
		writer := zlib.NewWriter(&packed)
		_, _ = writer.Write(entry[1])
		_ = writer.Close()
		pack = append(pack, packed.Bytes()...)
	}
	sum := sha1.Sum(pack)
	return append(pack, sum[:]...)
}

// header is the type and size of an entry.
func header(kind plumbing.ObjectType, size int) []byte {
	first := byte(kind)<<4 | byte(size&15)
	size >>= 4
	bytes := []byte{first}
	for size > 0 {
		bytes[len(bytes)-1] |= 0x80
		bytes = append(bytes, byte(size&0x7f))
		size >>= 7
	}
	return bytes
}

func TestReadPackLimits(t *testing.T) {
	limits := packLimits{objects: 3, object: 1000, total: 1500}
	blob := func(claimed, real int) [2][]byte {
		return [2][]byte{header(plumbing.BlobObject, claimed), bytes.Repeat([]byte("x"), real)}
	}
	base := blob(100, 100)
	delta := func(target uint64, commands string) [2][]byte {
		content := binary.AppendUvarint(binary.AppendUvarint(nil, 100), target)
		content = append(content, commands...)
		name := plumbing.ComputeHash(plumbing.BlobObject, base[1])
		return [2][]byte{append(header(plumbing.REFDeltaObject, len(content)), name[:]...), content}
	}
	copyAll := "\x90\x64"
	tests := []struct {
		name string
		pack []byte
		want string
	}{
		{"fits", rawPack(base, delta(200, copyAll+copyAll)), ""},
		{"too many", rawPack(blob(1, 1), blob(1, 1), blob(1, 1), blob(1, 1)), "holds more than any that is expected: over "},
		{"one too large", rawPack(blob(1001, 1001)), "holds more than any that is expected: over "},
		{"together too large", rawPack(blob(800, 800), blob(800, 800)), "holds more than any that is expected: over "},
		{"more than it claims", rawPack(blob(10, 900_000)), "exceeds declared size"},
		{"delta claims too much", rawPack(base, delta(1<<40, copyAll)), "holds more than any that is expected: over "},
		{"deltas together", rawPack(base, delta(900, strings.Repeat(copyAll, 9)), delta(800, strings.Repeat(copyAll, 8))), "holds more than any that is expected: over "},
		{"delta without base", rawPack(delta(100, copyAll)), "a delta without its base"},
		{"broken delta", rawPack(base, delta(100, "\x00")), "delta"},
		{"wrong sum", append(rawPack(base)[:len(rawPack(base))-1], 'x'), "checksum"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			objects, err := readPack(bytes.NewReader(test.pack), limits, nil)
			switch {
			case test.want == "" && err != nil:
				t.Fatal(err)
			case test.want == "" && (len(objects) != 2 || len(objects[1].content) != 200):
				t.Errorf("%d objects", len(objects))
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestTreeNamesAreChecked(t *testing.T) {
	store := NewStore()
	blob := store.AddBlob(nil)
	for _, name := range []string{"..", ".", "", ".git", ".GIT", "a/b", "a\x00b"} {
		if _, err := store.AddTree([]Entry{{Name: name, Mode: Regular, Hash: blob}}); err == nil {
			t.Errorf("%q was written", name)
		}
		if strings.Contains(name, "\x00") {
			continue
		}
		raw := object{kind: plumbing.TreeObject, content: []byte("100644 " + name + "\x00" + string(blob[:]))}
		store.add([]object{raw})
		if _, err := store.Tree(raw.hash()); err == nil {
			t.Errorf("%q was read", name)
		}
	}
	twice := object{kind: plumbing.TreeObject, content: []byte("100644 a\x00" + string(blob[:]) + "40000 a\x00" + string(blob[:]))}
	store.add([]object{twice})
	if _, err := store.Tree(twice.hash()); err == nil || !strings.Contains(err.Error(), "stands twice") {
		t.Errorf("got %v", err)
	}
	if _, err := store.Blob(twice.hash()); err == nil || !strings.Contains(err.Error(), "it is a tree") {
		t.Errorf("got %v", err)
	}
	if _, err := store.Tree(Hash{1}); err == nil || errors.Unwrap(err) != nil || !strings.Contains(err.Error(), "not fetched") {
		t.Errorf("got %v", err)
	}
}
