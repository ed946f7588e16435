package seal

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkSeal seals a Secret of one kilobyte by the last of 50 rules.
func BenchmarkSeal(b *testing.B) {
	document := strings.Replace(plain, canary, strings.Repeat("x", 700), 1)
	for _, count := range []int{1, 5, 20} {
		var recipients []string
		for range count {
			recipients = append(recipients, identity(b).Recipient().String())
		}
		patterns := make([]string, 50)
		for index := range patterns {
			patterns[index] = fmt.Sprintf(`^clusters/other%d/.*\.enc\.yaml$`, index)
		}
		patterns[49] = "^clusters/wc1/"
		base := repository(".sops.yaml", ruled(strings.Join(recipients, ","), patterns...))
		b.Run(fmt.Sprintf("recipients=%d", count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Files(base, change(secrets, document), options()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkKeep finds that a sealed file says the same.
func BenchmarkKeep(b *testing.B) {
	config := ruled(identity(b).Recipient().String(), "")
	result, err := Files(repository(".sops.yaml", config), change(secrets, plain), options())
	if err != nil {
		b.Fatal(err)
	}
	base := repository(".sops.yaml", config, secrets, string(result.Files[secrets].Content))
	for b.Loop() {
		if again, err := Files(base, change(secrets, plain), options()); err != nil || len(again.Kept) != 1 {
			b.Fatal(err)
		}
	}
}
