package partial

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// fuzzToken is made for these tests and opens nothing.
const fuzzToken = "ghu_made-for-fuzzing"

var hashOfA = strings.Repeat("a", 40)

// packets are lines as pkt-lines.
func packets(lines ...string) string {
	var writer packetWriter
	for _, line := range lines {
		writer.line("%s", line)
	}
	return writer.String()
}

// inBand is content as a pkt-line of side band 1.
func inBand(content string) string { return fmt.Sprintf("%04x\x01%s", len(content)+5, content) }

func FuzzAdvertisement(f *testing.F) {
	service := packets("# service=git-upload-pack") + "0000"
	for _, seed := range []string{
		"", "0000", service, service + "0000",
		packets("version 2", "agent=git/2", "ls-refs=unborn", "fetch=shallow filter", "object-format=sha1") + "0000",
		service + packets("version 2", "fetch=shallow") + "0000",
		packets("version 2", "object-format=sha256", "fetch") + "0000",
		service + packets(hashOfA+" HEAD\x00shallow side-band-64k symref=HEAD:refs/heads/main", hashOfA+" refs/heads/main", hashOfA+" refs/tags/v1^{}", "shallow "+hashOfA) + "0000",
		service + packets("version 1", strings.Repeat("0", 40)+" capabilities^{}\x00 shallow side-band-64k") + "0000",
		packets(strings.Repeat("0", 40) + " refs/heads/zero\x00shallow"),
		packets("ERR no such repository"),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		said, err := readAdvertisement(newPacketReader(bytes.NewReader(input)))
		if size := 0; err == nil && said.version == 2 {
			for name, value := range said.capabilities {
				size += len(name) + len(value)
			}
			if size > maxAdvertisementBytes || len(said.branches) > 0 {
				t.Fatalf("%d bytes of capabilities, %d branches", size, len(said.branches))
			}
		}
		for _, one := range said.branches {
			if one.hash.IsZero() || strings.ContainsAny(one.name, " \x00") {
				t.Fatalf("branch %q at %s", one.name, one.hash)
			}
		}
		if err != nil {
			return
		}
		way, err := (&Remote{name: "host/acme/fleet"}).choose(said)
		switch {
		case err != nil && (way != "" || clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || strings.ContainsAny(err.Error(), "\x00\n\x1b")):
			t.Fatalf("way %q, %v", way, err)
		case err == nil && (way == WayVersion0) != (said.version == 0):
			t.Fatalf("way %q for version %d", way, said.version)
		}
	})
}

func FuzzRefs(f *testing.F) {
	for _, seed := range []string{
		"", "0000", "0001",
		packets(hashOfA+" refs/heads/main", hashOfA+" refs/heads/topic symref-target:refs/heads/main", hashOfA+" refs/tags/v1 peeled:"+hashOfA) + "0000",
		packets("unborn HEAD symref-target:refs/heads/main") + "0000",
		packets(strings.Repeat("0", 40) + " refs/heads/zero"),
		packets("short refs/heads/main"),
		packets("ERR unknown command"),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		err := readRefs(newPacketReader(bytes.NewReader(input)), func(one branch) bool {
			if one.hash.IsZero() || strings.Contains(one.name, " ") {
				t.Fatalf("branch %q at %s", one.name, one.hash)
			}
			return one.name != "last"
		})
		if len(input) == 0 && !errors.Is(err, errRefused) {
			t.Fatalf("an empty answer: %v", err)
		}
	})
}

func FuzzFetch(f *testing.F) {
	pack := inBand(string(rawPack([2][]byte{header(plumbing.BlobObject, 5), []byte("hello")})))
	for _, seed := range []string{
		"", "0000", packets("packfile"), packets("NAK"),
		packets("packfile") + pack + "0000",
		packets("shallow-info", "shallow "+hashOfA) + "0001" + packets("packfile") + pack + "0000",
		packets("shallow "+hashOfA) + "0000" + packets("NAK") + pack + "0000",
		"0000" + packets("ACK "+hashOfA) + packets("\x02words") + pack + "0000",
		packets("ERR upload-pack: not our ref " + hashOfA),
		packets("packfile") + packets("\x03dying"),
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, input []byte, old bool) {
		way := WayPartial
		if old {
			way = WayVersion0
		}
		objects, err := readFetch(newPacketReader(bytes.NewReader(input)), way, NewStore())
		if err == nil && len(objects) > len(input) || len(input) == 0 && !errors.Is(err, errRefused) {
			t.Fatalf("%d objects of %d bytes, %v", len(objects), len(input), err)
		}
	})
}

// FuzzPack gives each body the head and the sum of a pack, so that what is inside is what is tried.
func FuzzPack(f *testing.F) {
	limits := packLimits{objects: 40, object: 1 << 16, total: 1 << 18}
	base := bytes.Repeat([]byte("base "), 20)
	name := plumbing.ComputeHash(plumbing.BlobObject, base)
	delta := func(commands string) []byte {
		return append(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(base))), 100), commands...)
	}
	blob := [2][]byte{header(plumbing.BlobObject, len(base)), base}
	copied := delta("\x90\x64")
	tree := []byte("100644 a\x00" + string(name[:]))
	commit := []byte("tree " + hashOfA + "\nauthor A <a@example.com> 1 +0000\ncommitter A <a@example.com> 1 +0000\n\nwords\n")
	for _, entries := range [][][2][]byte{
		nil,
		{blob},
		{blob, {append(header(plumbing.REFDeltaObject, len(copied)), name[:]...), copied}},
		{{append(header(plumbing.REFDeltaObject, len(copied)), name[:]...), copied}},
		{blob, {append(header(plumbing.OFSDeltaObject, len(copied)), 30), copied}},
		{{header(plumbing.TreeObject, len(tree)), tree}},
		{{header(plumbing.CommitObject, len(commit)), commit}},
		{{header(plumbing.TagObject, 4), []byte("tag\n")}},
		{{header(plumbing.BlobObject, 1<<40), base}},
	} {
		pack := rawPack(entries...)
		f.Add(byte(len(entries)), pack[12:len(pack)-sha1.Size])
	}
	f.Fuzz(func(t *testing.T, count byte, body []byte) {
		pack := append(binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(count)), body...)
		sum := sha1.Sum(pack)
		outside := NewStore()
		outside.AddBlob(base)
		objects, err := readPack(bytes.NewReader(append(pack, sum[:]...)), limits, outside)
		if err != nil {
			return
		}
		total := int64(0)
		for _, one := range objects {
			total += int64(len(one.content))
			if int64(len(one.content)) > limits.object {
				t.Fatalf("an object of %d bytes", len(one.content))
			}
		}
		if total > limits.total || len(objects) != int(count) || len(objects) > int(limits.objects) {
			t.Fatalf("%d objects of %d bytes", len(objects), total)
		}
		store := NewStore()
		store.add(objects)
		for hash := range store.objects {
			_, _ = store.Blob(hash)
			_, _ = store.Commit(hash)
			entries, err := store.Tree(hash)
			for _, entry := range entries {
				if err == nil && (entry.Name == ".." || strings.Contains(entry.Name, "/")) {
					t.Fatalf("the entry %q", entry.Name)
				}
			}
		}
	})
}

func FuzzReport(f *testing.F) {
	for _, seed := range []string{
		"", "0000", inBand("0000") + "0000",
		inBand(packets("unpack ok", "ok refs/heads/main")+"0000") + "0000",
		inBand(packets("unpack ok", "ng refs/heads/main pre-receive hook declined")+"0000") + "0000",
		packets("\x02error: GH013: \x1b[1mno\x1b[0m "+fuzzToken) + inBand(packets("unpack index-pack abnormal exit")+"0000") + packets("\x02after") + "0000",
		packets("\x03fatal: dying"),
		inBand(packets("ERR inner")) + "0000",
		inBand(packets("unpack ok", "ok refs/heads/other")+"0000") + "0000",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		remote := &Remote{name: "host/acme/fleet", token: clustermanager.NewSecret(fuzzToken)}
		err := remote.readReport(bytes.NewReader(input), "main")
		if err == nil {
			if !bytes.Contains(input, []byte("ok refs/heads/main")) {
				t.Fatal("a push that nobody accepted")
			}
			return
		}
		if text := err.Error(); strings.Contains(text, fuzzToken) || strings.ContainsAny(text, "\x00\x1b\n\r") || len(text) > 3*maxWordsBytes {
			t.Fatalf("%q", text)
		}
	})
}
