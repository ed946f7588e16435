package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/getsops/sops/v3"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// AnnotationDigest holds the HMAC-SHA256 of a sealed Secret's plain document, in hexadecimal: with the server's key,
// whether a value changed can be told without decrypting.
const AnnotationDigest = "cluster-manager.giantswarm.io/content-digest"

var digestPath = separator + strings.Join([]string{"metadata", "annotations", AnnotationDigest}, separator)

// digestOf is the digest of what a document says, not of how it is written; "" without a key.
func digestOf(document sops.TreeBranch, key clustermanager.Secret) (string, error) {
	if key.IsZero() {
		return "", nil
	}
	all := leavesOf(document)
	delete(all, digestPath)
	text, err := json.Marshal(all)
	if err != nil {
		return "", err
	}
	sum := hmac.New(sha256.New, []byte(key.Reveal()))
	sum.Write(text)
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// annotate sets the digest.
func annotate(document sops.TreeBranch, digest string) sops.TreeBranch {
	metadata, _ := field(document, "metadata").(sops.TreeBranch)
	annotations, _ := field(metadata, "annotations").(sops.TreeBranch)
	metadata = set(metadata, "annotations", set(annotations, AnnotationDigest, digest))
	return set(document, "metadata", metadata)
}

// set replaces a key's value, or puts the key in front of the first one that sorts behind it, as composed files have
// their keys sorted.
func set(branch sops.TreeBranch, key string, value any) sops.TreeBranch {
	position := len(branch)
	for index, item := range branch {
		name, isName := item.Key.(string)
		if isName && name == key {
			branch[index].Value = value
			return branch
		}
		if isName && name > key && position == len(branch) {
			position = index
		}
	}
	item := sops.TreeItem{Key: key, Value: value}
	return append(branch[:position:position], append(sops.TreeBranch{item}, branch[position:]...)...)
}
