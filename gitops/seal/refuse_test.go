package seal

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/getsops/sops/v3/age"

	clustermanager "github.com/clustermanager/cluster-manager"
)

func fileOf(content string) clustermanager.File { return clustermanager.File{Content: []byte(content)} }

const fingerprint = "85D77543B3D624B63CEA9E6DBC17301B491B3F21"

func TestRefusals(t *testing.T) {
	one := identity(t)
	native := one.Recipient().String()
	broken := native[:len(native)-1] + "x"
	if strings.HasSuffix(native, "x") {
		broken = native[:len(native)-1] + "y"
	}
	const plugin = "age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq5negm4uj9ghv0snvdd3yysf5yw3rhl3t"
	first := "rule 1 (line 2) of .sops.yaml in acme/fleet, which rules " + secrets
	tests := map[string]struct {
		base []string
		want []string
	}{
		"no configuration": {nil, []string{"acme/fleet has no .sops.yaml", secrets, "creation_rules: [{path_regex: '^clusters/wc1/cluster-manager/"}},
		"misnamed":         {[]string{"clusters/.sops.yml", ruled(native, "")}, []string{"acme/fleet has no .sops.yaml (clusters/.sops.yml is not read, the name must end in .yaml)"}},
		"no YAML":          {[]string{".sops.yaml", "creation_rules: [\n"}, []string{".sops.yaml in acme/fleet is no sops configuration ("}},
		"wrong type":       {[]string{".sops.yaml", "creation_rules: nonsense\n"}, []string{".sops.yaml in acme/fleet is no sops configuration (", "line 1"}},
		"empty":            {[]string{".sops.yaml", ""}, []string{".sops.yaml in acme/fleet has no rule for " + secrets, "path_regex: '^clusters/wc1/cluster-manager/"}},
		"no rules":         {[]string{".sops.yaml", "creation_rules: []\n"}, []string{"has no rule for " + secrets}},
		"only publishing":  {[]string{".sops.yaml", "destination_rules: []\n"}, []string{"has no rule for " + secrets}},
		"no rule matches":  {[]string{".sops.yaml", ruled(native, "^apps/")}, []string{".sops.yaml in acme/fleet has no rule for " + secrets}},
		"nearest has none": {[]string{".sops.yaml", ruled(native, ""), "clusters/.sops.yaml", ruled(native, "^apps/")},
			[]string{"clusters/.sops.yaml in acme/fleet has no rule for " + secrets, "path_regex: '^wc1/cluster-manager/"}},
		"no key":                     {[]string{".sops.yaml", rulesOf(only)}, []string{first + ", names no age recipient: add \"age: <recipient>\""}},
		"pgp alone":                  {[]string{".sops.yaml", rulesOf(only, "pgp: "+fingerprint)}, []string{first + ", names no age recipient, only pgp " + fingerprint}},
		"kms alone":                  {[]string{".sops.yaml", rulesOf(only, "kms: arn:aws:kms:eu-central-1:111122223333:key/abc")}, []string{"names no age recipient, only kms arn:aws:kms:"}},
		"many odd keys":              {[]string{".sops.yaml", rulesOf(only, `key_groups: [{pgp: ["odd\nkey", `+strings.Join(recipientsOf(t, 20), ", ")+"]}]")}, []string{"only pgp odd key, pgp age1", "…: add"}},
		"a group without age":        {[]string{".sops.yaml", rulesOf(only, "key_groups:", "- age: ["+native+"]", "- pgp: ["+fingerprint+"]")}, []string{"names no age recipient in its key group 2, only pgp " + fingerprint}},
		"an empty group":             {[]string{".sops.yaml", rulesOf(only, "key_groups:", "- {}")}, []string{"names no age recipient: add"}},
		"a plugin":                   {[]string{".sops.yaml", rulesOf(only, "age: "+native+","+plugin)}, []string{first, "the recipient " + plugin + " of the age plugin \"yubikey\"", "never run"}},
		"a plugin in a group":        {[]string{".sops.yaml", rulesOf(only, "key_groups:", "- age: ["+plugin+"]")}, []string{"of the age plugin \"yubikey\""}},
		"an invalid recipient":       {[]string{".sops.yaml", rulesOf(only, "age: "+broken)}, []string{first + ", cannot be used (", broken}},
		"no recipient at all":        {[]string{".sops.yaml", rulesOf(only, "age: somebody")}, []string{"cannot be used (", `"somebody"`}},
		"ages of a wrong type":       {[]string{".sops.yaml", rulesOf(only, "age: {a: b}")}, []string{"cannot be used ("}},
		"two selectors":              {[]string{".sops.yaml", rulesOf(only, "encrypted_suffix: Data", "age: "+native)}, []string{"cannot be used (", "more than one of encrypted_suffix"}},
		"a broken pattern":           {[]string{".sops.yaml", ruled(native, "^apps/", "(", "")}, []string{"rule 2 (line 6) of .sops.yaml", "cannot be used (", "missing closing )"}},
		"threshold of one":           {[]string{".sops.yaml", rulesOf(only, "shamir_threshold: 1", "key_groups:", "- age: ["+native+"]", "- age: ["+native+"]")}, []string{"cannot be sealed for (", "threshold"}},
		"threshold too high":         {[]string{".sops.yaml", rulesOf(only, "shamir_threshold: 3", "key_groups:", "- age: ["+native+"]", "- age: ["+native+"]")}, []string{"cannot be sealed for (", "threshold"}},
		"no selector":                {[]string{".sops.yaml", rulesOf("age: " + native)}, []string{first + ", encrypts apiVersion", "make \"encrypted_regex: ^(data|stringData)$\" its only selector"}},
		"metadata as well":           {[]string{".sops.yaml", rulesOf("encrypted_regex: ^(name|stringData)$", "age: "+native)}, []string{"encrypts metadata.name"}},
		"data alone":                 {[]string{".sops.yaml", rulesOf("encrypted_regex: ^data$", "age: "+native)}, []string{"leaves stringData.values.yaml in the clear", "make \"encrypted_regex: ^(data|stringData)$\" its only selector"}},
		"an expression that is none": {[]string{".sops.yaml", rulesOf("encrypted_regex: '('", "age: "+native)}, []string{"leaves stringData.values.yaml in the clear"}},
		"a suffix":                   {[]string{".sops.yaml", rulesOf("unencrypted_suffix: .yaml", "age: "+native)}, []string{"encrypts apiVersion"}},
		"another suffix":             {[]string{".sops.yaml", rulesOf("encrypted_suffix: _secret", "age: "+native)}, []string{"leaves stringData.values.yaml in the clear"}},
		"comments":                   {[]string{".sops.yaml", rulesOf("encrypted_comment_regex: sealed", "age: "+native)}, []string{"leaves stringData.values.yaml in the clear"}},
		"other comments":             {[]string{".sops.yaml", rulesOf("unencrypted_comment_regex: clear", "age: "+native)}, []string{"encrypts apiVersion"}},
		"the key's name":             {[]string{".sops.yaml", rulesOf("unencrypted_regex: values|apiVersion|kind|metadata|type", "age: "+native)}, []string{"leaves stringData.values.yaml in the clear"}},
		"a negative indent":          {[]string{".sops.yaml", "stores: {yaml: {indent: -1}}\n" + ruled(native, "")}, []string{"negative stores.yaml.indent"}},
		"too large":                  {[]string{".sops.yaml", ruled(native, "") + strings.Repeat("# more\n", 10<<20/7)}, []string{".sops.yaml in acme/fleet is larger than 1 MiB"}},
		"many recipients":            {[]string{".sops.yaml", rulesOf(only, "age: &a ["+strings.Join(recipientsOf(t, 251), ",")+"]")}, []string{"names 251 age recipients", "250"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result, err := Files(repository(test.base...), change(secrets, plain), options())
			assertRefusal(t, err, test.want...)
			if result.Files != nil || result.Warnings != nil {
				t.Error("a result beside the refusal")
			}
		})
	}
}

func recipientsOf(t *testing.T, count int) []string {
	t.Helper()
	var all []string
	for range count {
		all = append(all, identity(t).Recipient().String())
	}
	return all
}

func TestKustomizationWithoutDecryptionIsRefused(t *testing.T) {
	without := options()
	without.Decrypts = false
	base := repository(".sops.yaml", ruled(identity(t).Recipient().String(), ""))
	_, err := Files(base, change(secrets, plain), without)
	assertRefusal(t, err, "Kustomization flux-system/clusters does not decrypt", secrets, "decryption: {provider: sops, secretRef:")
	if _, err := Files(base, clustermanager.FileSet{"a.yaml": fileOf("a: b\n")}, without); err != nil {
		t.Errorf("nothing to seal: %v", err)
	}
}

// What a refusal says to add is tried: the rule seals the file that was refused.
func TestTheRuleToAddSeals(t *testing.T) {
	for _, path := range []string{secrets, "a-secret.enc.yaml", "it's/a+b (c)/x-secret.enc.yaml"} {
		_, err := Files(repository(".sops.yaml", "creation_rules: []\n"), change(path, plain), options())
		assertRefusal(t, err)
		rule := regexp.MustCompile(`\{.*\}`).FindString(err.Error())
		rule = strings.Replace(rule, "<recipient>", identity(t).Recipient().String(), 1)
		result, err := Files(repository(".sops.yaml", "creation_rules:\n- "+rule+"\n"), change(path, plain), options())
		if err != nil {
			t.Fatalf("%s: %v", rule, err)
		}
		if placeOf(result.Rules[0]).Number != 1 {
			t.Error(result.Rules[0])
		}
		if _, err := Files(repository(".sops.yaml", "creation_rules:\n- "+rule+"\n"), change("other/x.enc.yaml", plain), options()); err == nil {
			t.Errorf("%s rules other folders", rule)
		}
	}
}

func TestConfigurationMustBeARegularFile(t *testing.T) {
	good := ruled(identity(t).Recipient().String(), "")
	for name, base := range map[string]fstest.MapFS{
		"link":            {".sops.yaml": {Data: []byte("real.yaml"), Mode: fs.ModeSymlink}, "real.yaml": {Data: []byte(good)}},
		"link outside":    {".sops.yaml": {Data: []byte("../../etc/passwd"), Mode: fs.ModeSymlink}},
		"link to nowhere": {".sops.yaml": {Data: []byte("nowhere"), Mode: fs.ModeSymlink}},
		"folder":          {".sops.yaml/file": {Data: []byte(good)}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Files(base, change(secrets, plain), options())
			assertRefusal(t, err, ".sops.yaml in acme/fleet is not a regular file")
		})
	}
}

// A private key in place of a recipient is in the repository already, but in no message.
func TestPrivateKeyInAConfigurationIsNotRepeated(t *testing.T) {
	key := identity(t)
	_, err := Files(repository(".sops.yaml", rulesOf(only, "age: "+key.String())), change(secrets, plain), options())
	assertRefusal(t, err, "a private age key stands where a recipient belongs")
	if strings.Contains(strings.ToUpper(err.Error()), key.String()[:24]) {
		t.Error("the refusal repeats it")
	}
}

// Documents that a YAML reader could unfold without end are refused quickly, and so is what follows aliases in circles.
func TestHostileConfigurations(t *testing.T) {
	native := identity(t).Recipient().String()
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for index := range 9 {
		previous, next := string(rune('a'+index)), string(rune('b'+index))
		bomb += next + ": &" + next + " [" + strings.TrimSuffix(strings.Repeat("*"+previous+",", 9), ",") + "]\n"
	}
	tests := map[string]string{
		"bomb":            bomb + "creation_rules: *j\n",
		"circle":          "creation_rules: &a [*a]\n",
		"circle in merge": "creation_rules: &a\n- &b\n  <<: *b\n",
		"deep":            "creation_rules: " + strings.Repeat("[", 20000) + "\n",
		"NUL":             "creation_rules:\x00\n",
		"UTF-16":          "\xff\xfec\x00r\x00",
		"nested groups":   rulesOf(only, "key_groups:", "- &g", "  merge: [*g]"),
	}
	for name, config := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Files(repository(".sops.yaml", config), change(secrets, plain), options())
			assertRefusal(t, err, ".sops.yaml", "acme/fleet")
		})
	}
	t.Run("circle in a second document", func(t *testing.T) {
		result, _ := sealOne(t, repository(".sops.yaml", ruled(native, "")+"--- &a [*a]\n"))
		if placeOf(result.Rules[0]).Number != 0 {
			t.Error(result.Rules[0])
		}
	})
	t.Run("an expression that others take long for", func(t *testing.T) {
		sealOne(t, repository(".sops.yaml", ruled(native, "^(([a-z/0-9.-])+.)+[A-Z]([a-z])+$", "")))
	})
}

func TestOtherKeysAreLeftOutAndNamed(t *testing.T) {
	key := identity(t)
	recipient := key.Recipient().String()
	tests := map[string]struct {
		rule string
		want []string
	}{
		"flat": {rulesOf(only, "age: "+recipient, "pgp: "+fingerprint, "kms: arn:aws:kms:eu-central-1:111122223333:key/abc",
			"gcp_kms: projects/p/locations/global/keyRings/r/cryptoKeys/k", "azure_keyvault: https://vault.example.io/keys/k/1", "hc_vault_transit_uri: http://127.0.0.1:1/v1/transit/keys/k"),
			[]string{"pgp " + fingerprint, "kms arn:", "gcp_kms projects/", "azure_kv https://", "hc_vault http://"}},
		"groups": {rulesOf(only, "key_groups:", "- age: ["+recipient+"]", "  pgp: ["+fingerprint+"]"), []string{"pgp " + fingerprint}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result, content := sealOne(t, repository(".sops.yaml", test.rule))
			assertSame(t, plain, opened(t, content, key))
			if len(result.Warnings) != 1 {
				t.Fatalf("warnings %q", result.Warnings)
			}
			for _, part := range append(test.want, "rule 1 (line 2) of .sops.yaml in acme/fleet") {
				if !strings.Contains(result.Warnings[0], part) {
					t.Errorf("the warning does not say %q: %s", part, result.Warnings[0])
				}
			}
			for _, master := range metadata(t, content).KeyGroups[0] {
				if _, isAge := master.(*age.MasterKey); !isAge {
					t.Errorf("sealed for %s as well", master.ToString())
				}
			}
		})
	}
}

func TestMisnamedConfigurationOnTheWayIsNamed(t *testing.T) {
	native := identity(t).Recipient().String()
	result, _ := sealOne(t, repository(".sops.yaml", ruled(native, ""), "clusters/.sops.yml", ruled(native, "")))
	if len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], "clusters/.sops.yml in acme/fleet is not read") {
		t.Errorf("warnings %q", result.Warnings)
	}
}
