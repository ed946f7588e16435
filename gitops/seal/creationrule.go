package seal

import (
	"fmt"
	"strings"

	"filippo.io/age/plugin"
	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/version"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// recipientLimit bounds the recipients of one rule, so that a configuration cannot keep the server busy: each costs one
// key exchange.
const recipientLimit = 250

// creationRule is the rule of one file as sops chose it, of its keys the age recipients alone.
type creationRule struct {
	Rule
	repository string
	store      config.YAMLStoreConfig
	metadata   sops.Metadata
	leftOut    []string
}

// take keeps of what sops chose the selectors and the age recipients. A rule with a key group that no age identity opens
// is refused.
func (r *creationRule) take(chosen *config.Config) error {
	r.metadata = sops.Metadata{
		UnencryptedSuffix:       chosen.UnencryptedSuffix,
		EncryptedSuffix:         chosen.EncryptedSuffix,
		UnencryptedRegex:        chosen.UnencryptedRegex,
		EncryptedRegex:          chosen.EncryptedRegex,
		UnencryptedCommentRegex: chosen.UnencryptedCommentRegex,
		EncryptedCommentRegex:   chosen.EncryptedCommentRegex,
		MACOnlyEncrypted:        chosen.MACOnlyEncrypted,
		ShamirThreshold:         chosen.ShamirThreshold,
		Version:                 version.Version,
	}
	if !hasSelector(r.metadata) {
		r.metadata.UnencryptedSuffix = sops.DefaultUnencryptedSuffix
	}
	for index, group := range chosen.KeyGroups {
		kept, leftOut := ageOnly(group)
		r.leftOut = append(r.leftOut, leftOut...)
		if len(kept) == 0 {
			return r.refuseWithoutAge(index, len(chosen.KeyGroups))
		}
		r.metadata.KeyGroups = append(r.metadata.KeyGroups, kept)
		r.Recipients += len(kept)
	}
	if r.Recipients > recipientLimit {
		return r.refuse("names %d age recipients, of which %d are taken at most: name fewer", r.Recipients, recipientLimit)
	}
	return r.refusePlugins()
}

func hasSelector(m sops.Metadata) bool {
	selectors := termsOf(m)
	selectors.macOnlyEncrypted = false
	return selectors != terms{}
}

// ageOnly splits a key group into its distinct age recipients and the names of its other keys.
func ageOnly(group sops.KeyGroup) (kept sops.KeyGroup, leftOut []string) {
	seen := map[string]bool{}
	for _, key := range group {
		name := key.ToString()
		switch _, isAge := key.(*age.MasterKey); {
		case !isAge:
			leftOut = append(leftOut, key.TypeToIdentifier()+" "+name)
		case !seen[name]:
			seen[name] = true
			kept = append(kept, key)
		}
	}
	return kept, leftOut
}

// refusePlugins refuses recipients that age would ask a program of the server's PATH about. The text of a native
// recipient never parses as one of a plugin, but for the post-quantum ones.
func (r *creationRule) refusePlugins() error {
	for _, group := range r.metadata.KeyGroups {
		for _, key := range group {
			recipient := key.ToString()
			if strings.HasPrefix(recipient, "age1pq1") {
				continue
			}
			if name, _, err := plugin.ParseRecipient(recipient); err == nil {
				return r.refuse("names the recipient %s of the age plugin %q, and plugins are never run: put an X25519, ssh or post-quantum recipient in its place", clustermanager.OneLine(recipient, quoteLimit), clustermanager.OneLine(name, quoteLimit))
			}
		}
	}
	return nil
}

func (r *creationRule) leftOutWarning() []string {
	if len(r.leftOut) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s in %s also names %s: files sealed here open with an age identity alone",
		r.Rule, r.repository, clustermanager.OneLine(strings.Join(r.leftOut, ", "), quoteLimit))}
}
