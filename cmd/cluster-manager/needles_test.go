package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// needles are texts that must not leave the process, by what they are.
type needles map[string]string

// find names every needle that the data holds in any form; where it stands comes first in each.
func (n needles) find(where string, data []byte) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(n)) {
		forms := formsOf(n[name])
		for _, form := range slices.Sorted(maps.Keys(forms)) {
			if bytes.Contains(data, []byte(forms[form])) {
				found = append(found, fmt.Sprintf("%s holds %s (%s)", where, name, form))
				break
			}
		}
	}
	return found
}

// formsOf are the ways a text may stand in something else.
func formsOf(plain string) map[string]string {
	escaped, _ := json.Marshal(plain)
	unescaped := &bytes.Buffer{}
	encoder := json.NewEncoder(unescaped)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(plain)
	inner := strings.Trim(strings.TrimSpace(unescaped.String()), `"`)
	twice, _ := json.Marshal(inner)
	forms := map[string]string{
		"plain":                  plain,
		"hex":                    hex.EncodeToString([]byte(plain)),
		"HEX":                    strings.ToUpper(hex.EncodeToString([]byte(plain))),
		"URL's query":            url.QueryEscape(plain),
		"URL's path":             url.PathEscape(plain),
		"JSON":                   inner,
		"JSON, escaped for HTML": strings.Trim(string(escaped), `"`),
		"JSON in JSON":           strings.Trim(string(twice), `"`),
		"quoted":                 strings.Trim(fmt.Sprintf("%q", plain), `"`),
	}
	for offset := range 3 {
		forms[fmt.Sprintf("base64 at %d", offset)] = base64At(base64.RawStdEncoding, plain, offset)
		forms[fmt.Sprintf("URL's base64 at %d", offset)] = base64At(base64.RawURLEncoding, plain, offset)
	}
	return forms
}

// base64At is what of the encoded text does not depend on what stands around it, where offset bytes stand before it.
func base64At(encoding *base64.Encoding, plain string, offset int) string {
	text := encoding.EncodeToString([]byte(strings.Repeat("x", offset) + plain))
	if (offset+len(plain))%3 != 0 {
		text = text[:len(text)-1]
	}
	return text[[]int{0, 2, 3}[offset]:]
}

// encodings are what encoders make of a text.
func encodings(text string) map[string]string {
	quoted, _ := json.Marshal(map[string]string{"key": text})
	document, _ := yaml.Marshal(map[string]string{"key": text})
	return map[string]string{
		"base64": base64.StdEncoding.EncodeToString([]byte(text)), "URL's base64": base64.RawURLEncoding.EncodeToString([]byte(text)),
		"hex": hex.EncodeToString([]byte(text)), "an URL": "https://example.com/?q=" + url.QueryEscape(text), "JSON": string(quoted), "YAML": string(document),
	}
}

// packs unpacks what was pushed, for its objects to be read.
type packs struct{ repository string }

// newPacks makes the repository that packs are unpacked into; the folder is not the temporary one, which is watched.
func newPacks(t *testing.T, folder string) *packs {
	t.Helper()
	unpacked, err := os.MkdirTemp(folder, "packs-") //nolint:usetesting // beside the watched folder, not in it
	if err != nil {
		t.Fatal(err)
	}
	p := &packs{repository: unpacked}
	if out, err := exec.Command("git", "init", "--quiet", "--bare", p.repository).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	return p
}

// add takes the body of a push.
func (p *packs) add(t *testing.T, body []byte) {
	t.Helper()
	at := bytes.Index(body, []byte("PACK"))
	if at < 0 {
		t.Fatalf("a push without a pack: %q", body)
	}
	command := exec.Command("git", "--git-dir", p.repository, "unpack-objects", "-q")
	command.Stdin = bytes.NewReader(body[at:])
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git unpack-objects: %v: %s", err, out)
	}
}

// contents is every object of every pack, inflated.
func (p *packs) contents(t *testing.T) []byte {
	t.Helper()
	return objectsOf(t, p.repository)
}

// objectsOf is every object of a bare repository, reachable or not, inflated.
func objectsOf(t *testing.T, repository string) []byte {
	t.Helper()
	out, err := exec.Command("git", "--git-dir", repository, "cat-file", "--batch-all-objects", "--unordered", "--batch").Output()
	if err != nil {
		t.Fatalf("git cat-file: %v", err)
	}
	return out
}
