package seal

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// A configuration that others wrote leads to a sealed file with every value encrypted, or to a refusal.
func FuzzConfiguration(f *testing.F) {
	native := identity(f).Recipient().String()
	for _, seed := range []string{
		ruled(native, ""), ruled(native, "^apps/", "^clusters/"), rulesOf("age: " + native), rulesOf(only), "creation_rules: []\n", "", "---\n...\n",
		rulesOf("unencrypted_regex: ^(apiVersion|kind|metadata|type)$", "age: ["+native+"]"),
		rulesOf("encrypted_suffix: Data", "mac_only_encrypted: true", "age: "+native),
		rulesOf(only, "shamir_threshold: 2", "key_groups:", "- age: ["+native+"]", "- age: ["+native+"]", "  merge: [{pgp: ["+fingerprint+"]}]"),
		"a: &a\n  age: " + native + "\ncreation_rules:\n- <<: *a\n", "creation_rules: &a [*a]\n", "--- x\n--- &a [*a]\n", "stores:\n  yaml:\n    indent: 3\n" + ruled(native, ""),
		rulesOf(only, "age: ssh-ed25519 AAAA"), rulesOf(only, "age: age1pq1x"), rulesOf(only, "age: age1a1x"), rulesOf(only, "hckms: [a:b]", "kms: [1]"),
		"destination_rules:\n- s3_bucket: b\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, config []byte) {
		result, err := Files(repository(".sops.yaml", string(config)), change(secrets, plain), options())
		if err != nil {
			var refusal *clustermanager.Refusal
			if !errors.As(err, &refusal) || strings.ContainsAny(refusal.Message, "\n\r") {
				t.Fatalf("no refusal of one sentence: %v", err)
			}
			assertNoLeak(t, err)
			return
		}
		assertNoLeak(t, result)
		assertEveryLeaf(t, plain, result.Files[secrets].Content)
		again, err := Files(repository(".sops.yaml", string(config), secrets, string(result.Files[secrets].Content)), change(secrets, plain), options())
		if err != nil || len(again.Kept) != 1 {
			t.Fatalf("a second run seals again: %v", err)
		}
	})
}

// A file of the base that others wrote is kept only when it is sealed as ours would be.
func FuzzExistingFile(f *testing.F) {
	native := identity(f).Recipient().String()
	base := repository(".sops.yaml", ruled(native, ""))
	sealed, err := Files(base, change(secrets, plain), options())
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(sealed.Files[secrets].Content), plain, "", "sops: {}\n", "sops: &a\n  age: *a\n", fmt.Sprintf("a: b\nsops:\n  lastmodified: x\n  age: [{recipient: %s}]\n", native)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, existing []byte) {
		result, err := Files(repository(".sops.yaml", ruled(native, ""), secrets, string(existing)), change(secrets, plain), options())
		if err != nil {
			t.Fatal(err)
		}
		assertEveryLeaf(t, plain, result.Files[secrets].Content)
	})
}
