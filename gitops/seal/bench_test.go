package seal

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/clustermanager/cluster-manager/internal/bench"
)

// benchmarked is a Secret of one kilobyte.
var benchmarked = strings.Replace(plain, canary, strings.Repeat("x", 700), 1)

// ruledByTheLast is a configuration of 50 rules, the last of which rules the Secret and names so many recipients.
func ruledByTheLast(tb testing.TB, recipients int) (config string, first *age.X25519Identity) {
	tb.Helper()
	var names []string
	for range recipients {
		made := identity(tb)
		if first == nil {
			first = made
		}
		names = append(names, made.Recipient().String())
	}
	patterns := make([]string, 50)
	for index := range patterns {
		patterns[index] = fmt.Sprintf(`^clusters/other%d/.*\.enc\.yaml$`, index)
	}
	patterns[49] = "^clusters/wc1/"
	return ruled(strings.Join(names, ","), patterns...), first
}

// BenchmarkSeal seals a Secret by the last of 50 rules, beside the sops command. The command opens what either wrote.
func BenchmarkSeal(b *testing.B) {
	sops := bench.Tool(b, "sops")
	for _, count := range []int{1, 5, 20} {
		b.Run(fmt.Sprintf("recipients=%d", count), func(b *testing.B) {
			config, key := ruledByTheLast(b, count)
			folder := b.TempDir()
			for name, content := range map[string]string{".sops.yaml": config, secrets: benchmarked} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700); err != nil {
					b.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
					b.Fatal(err)
				}
			}
			var sealed bytes.Buffer
			run := func(arguments ...string) *exec.Cmd {
				command := exec.CommandContext(b.Context(), sops, arguments...)
				command.Dir, command.Env = folder, []string{"HOME=" + folder, "SOPS_AGE_KEY=" + key.String()}
				return command
			}
			opens := func(way bench.Way) bench.Way {
				return bench.Way{Name: way.Name, Run: func(b *testing.B) {
					way.Run(b)
					decrypt := run("decrypt", "--input-type", "yaml", "--output-type", "yaml", "/dev/stdin")
					decrypt.Stdin = &sealed
					opened, err := decrypt.Output()
					if err != nil || !bytes.Contains(opened, []byte(strings.Repeat("x", 700))) {
						b.Fatalf("sops decrypt: %v", err)
					}
				}}
			}
			base := repository(".sops.yaml", config)
			bench.Interleave(b,
				opens(bench.Ours(func() error {
					result, err := Files(base, change(secrets, benchmarked), options())
					sealed.Reset()
					sealed.Write(result.Files[secrets].Content)
					return err
				})),
				opens(bench.Commands(b, "sops", func() []*exec.Cmd {
					encrypt := run("encrypt", secrets)
					sealed.Reset()
					encrypt.Stdout = &sealed
					return []*exec.Cmd{encrypt}
				})))
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

// mostAllocations is half as much again as a seal by the last of 50 rules took when it was written.
const mostAllocations = 15_000

// Where the rule stands is for messages alone: a seal that names none does not look for it.
func TestASealReadsTheConfigurationOnce(t *testing.T) {
	config, _ := ruledByTheLast(t, 1)
	base := repository(".sops.yaml", config)
	allocations := testing.AllocsPerRun(20, func() {
		if _, err := Files(base, change(secrets, benchmarked), options()); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%.0f allocations", allocations)
	if allocations > mostAllocations {
		t.Errorf("%.0f allocations, most %d", allocations, mostAllocations)
	}
}
