package seal

import (
	"errors"
	"fmt"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	"github.com/getsops/sops/v3/cmd/sops/common"
	"github.com/getsops/sops/v3/keyservice"
	"github.com/getsops/sops/v3/stores/yaml"
)

// encrypt seals a Secret and reads the result again: what is encrypted decides, not what the rule's expressions seem to
// say. It changes the document.
func (r *creationRule) encrypt(document sops.TreeBranch, digest string) ([]byte, error) {
	if digest != "" {
		document = annotate(document, digest)
	}
	want := expected(document)
	tree := sops.Tree{Branches: sops.TreeBranches{document}, Metadata: r.metadata}
	// GenerateDataKey would work on a copy and lose the threshold that several groups get by default.
	key, problems := tree.GenerateDataKeyWithKeyServices([]keyservice.KeyServiceClient{keyservice.NewLocalClient()})
	if len(problems) > 0 {
		return nil, r.refuse("cannot be sealed for (%s): mend it", cause(errors.Join(problems...)))
	}
	// What sops says while it holds plain values is never passed on.
	if common.EncryptTree(common.EncryptTreeOpts{Tree: &tree, Cipher: aes.NewCipher(), DataKey: key}) != nil {
		return nil, fmt.Errorf("%s: sealing: sops cannot encrypt the document", r.Path)
	}
	content, err := yaml.NewStore(&r.store).EmitEncryptedFile(tree)
	if err != nil {
		return nil, fmt.Errorf("%s: sealing: sops cannot write the document", r.Path)
	}
	return content, r.check(content, want)
}

func (r *creationRule) check(content []byte, want leaves) error {
	if !isOneDocument(content) {
		return fmt.Errorf("%s: sealing: the result is not one document", r.Path)
	}
	tree, err := yaml.NewStore(&r.store).LoadEncryptedFile(content)
	if err != nil {
		return fmt.Errorf("%s: sealing: the result cannot be read", r.Path)
	}
	got := found(tree.Branches[0])
	path, differs := difference(want, got)
	switch {
	case !differs:
		return nil
	case want[path] == sealed{}:
		return r.refuseSelector("leaves %s in the clear", shown(path))
	case got[path] == sealed{}:
		return r.refuseSelector("encrypts %s, which Flux would not find then", shown(path))
	}
	return fmt.Errorf("%s: sealing: %s is another one in the result", r.Path, shown(path))
}
