package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clustermanager/cluster-manager/fixtures/repos"
	"github.com/clustermanager/cluster-manager/internal/bench"
)

// Units of a proposal beside those of [bench].
const (
	unitGit         = "git-ns/op"
	unitIdle        = "idle-bytes"
	unitUp          = "up-bytes/op"
	unitDown        = "down-bytes/op"
	unitFetched     = "fetched-bytes/op"
	unitGitRequests = "git-requests/op"
	unitAPIRequests = "api-requests/op"
	unitFilesLeft   = "files-left"
)

// peerScript is what a person does by hand. $CLONE are the options of the clone, $SPARSE is a directory to check out,
// and $EDIT a folder with what to write.
const peerScript = `set -eu
rm -rf "$WORK"
git clone --quiet --depth 1 $CLONE "$URL" "$WORK"
cd "$WORK"
[ -z "$SPARSE" ] || git sparse-checkout set "$SPARSE"
git checkout --quiet -b "$BRANCH"
cp -R "$EDIT/." "$DIRECTORY/cluster-manager"
printf '  - cluster-manager\n' >> "$DIRECTORY/kustomization.yaml"
"$SOPS" encrypt --in-place "$DIRECTORY/cluster-manager/secret.enc.yaml"
git add "$DIRECTORY"
git commit --quiet --message 'feat: add a node pool'
git push --quiet origin "$BRANCH"
`

// peerSecret is what the peer seals: about as long as ours. The credentials were made for the benchmark.
var peerSecret = `apiVersion: v1
kind: Secret
metadata:
  name: wc3-gpu-values
  namespace: org-research
stringData:
  values.yaml: |
    cluster:
      registryCredentials:
        registry.example.io:
          password: ` + strings.Repeat("made-for-the-benchmark-", 30) + `
          username: puller
type: Opaque
`

// BenchmarkPropose is a whole call in mode commit beside what a person does with git and sops.
func BenchmarkPropose(b *testing.B) {
	sizes := []struct {
		name       string
		options    repos.Options
		roundTrips []time.Duration
		checkout   bool
	}{
		{name: "1000", options: repos.Options{Files: 1_000}},
		{name: "10000", options: repos.Options{Files: 10_000}, roundTrips: []time.Duration{30 * time.Millisecond}, checkout: true},
		{name: "100000", options: repos.Options{Files: 100_000}},
		{name: "100000-flat", options: repos.Options{Files: 100_000, Flat: true}},
	}
	for _, size := range sizes {
		b.Run("files="+size.name, func(b *testing.B) {
			if testing.Short() && size.options.Files > 1000 {
				b.Skip("the large repositories are left out with -short")
			}
			size.options.Seed = 1
			forge := newMeasuredForge(b, size.options)
			for _, roundTrip := range append([]time.Duration{0}, size.roundTrips...) {
				b.Run("latency="+roundTrip.String(), func(b *testing.B) {
					link := bench.NewLink(b, forge.address, roundTrip)
					ways := []bench.Way{proposeOurs(b, forge, link), proposePeer(b, forge, link, true)}
					if size.checkout && roundTrip == 0 {
						ways = append(ways, proposePeer(b, forge, link, false))
					}
					bench.Interleave(b, ways...)
				})
			}
		})
	}
}

// proposing measures a way's time, CPU, memory and traffic.
func proposing(name string, forge *measuredForge, link *bench.Link, propose func(*testing.B) (measuredCall, error), more func(b *testing.B)) bench.Way {
	return bench.Way{Name: name, Run: func(b *testing.B) {
		before := forge.traffic(link)
		var cpu, git time.Duration
		var peak int64
		for b.Loop() {
			call, err := propose(b)
			if err != nil {
				b.Fatal(err)
			}
			cpu, git, peak = cpu+call.CPU, git+call.Git, max(peak, call.Peak)
			b.StopTimer()
			forge.deleteBranches(b)
			b.StartTimer()
		}
		used := forge.traffic(link).since(before)
		for unit, value := range map[string]int64{
			bench.CPU: cpu.Nanoseconds(), unitGit: git.Nanoseconds(), unitUp: used.BytesUp, unitDown: used.BytesDown,
			unitFetched: used.Fetched, unitGitRequests: used.GitRequests, unitAPIRequests: used.APIRequests,
		} {
			b.ReportMetric(float64(value)/float64(b.N), unit)
		}
		b.ReportMetric(float64(peak), bench.Peak)
		if more != nil {
			more(b)
		}
	}}
}

// proposeOurs calls the tool in a process of its own. Its memory is that of the first call, which is the largest.
func proposeOurs(b *testing.B, forge *measuredForge, link *bench.Link) bench.Way {
	process := startMeasured(b, forge, link)
	first, err := process.call(measuredOrder{Memory: true})
	if err != nil {
		b.Fatal(err)
	}
	forge.deleteBranches(b)
	return proposing("ours", forge, link,
		func(*testing.B) (measuredCall, error) {
			call, err := process.call(measuredOrder{})
			call.Peak = first.Peak
			return call, err
		},
		func(b *testing.B) {
			b.ReportMetric(float64(first.Idle), unitIdle)
			b.ReportMetric(float64(len(process.left(b))), unitFilesLeft)
		})
}

// proposePeer runs the script, sparse or with a whole checkout. It opens no pull request and proves nothing.
func proposePeer(b *testing.B, forge *measuredForge, link *bench.Link, sparse bool) bench.Way {
	meter := bench.NewMeter(b)
	folder := b.TempDir()
	edit := filepath.Join(folder, "edit")
	writePeerFiles(b, forge, link, edit)
	basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + measuredToken))
	environment := append(os.Environ(),
		"URL=http://"+link.Address+"/acme/large.git", "WORK="+filepath.Join(folder, "work"), "EDIT="+edit,
		"DIRECTORY="+forge.directory, "SOPS="+bench.Tool(b, "sops"), "HOME="+folder, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Jane", "GIT_AUTHOR_EMAIL=jane@acme.example", "GIT_COMMITTER_NAME=Jane", "GIT_COMMITTER_EMAIL=jane@acme.example",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: Basic "+basic)
	name := "checkout"
	if sparse {
		name = "sparse"
		environment = append(environment, "CLONE=--filter=blob:none --sparse", "SPARSE="+forge.directory)
	} else {
		environment = append(environment, "CLONE=", "SPARSE=")
	}
	pools := 0
	return proposing(name, forge, link, func(b *testing.B) (measuredCall, error) {
		pools++
		command := exec.CommandContext(context.WithoutCancel(b.Context()), "sh", "-c", peerScript)
		command.Env = append(slices.Clone(environment), "BRANCH=peer-"+strconv.Itoa(pools))
		start := time.Now()
		usage, err := meter.Run(command)
		return measuredCall{Git: time.Since(start), CPU: usage.CPU, Peak: usage.Peak}, err
	}, nil)
}

// writePeerFiles writes what ours would, with the Secret in plain text.
func writePeerFiles(b *testing.B, forge *measuredForge, link *bench.Link, folder string) {
	b.Helper()
	planned, err := startMeasured(b, forge, link).call(measuredOrder{DryRun: true})
	if err != nil {
		b.Fatal(err)
	}
	files := map[string]string{"secret.enc.yaml": peerSecret}
	for _, file := range planned.Answer.Commit.Files {
		if path, inside := strings.CutPrefix(file.Path, forge.directory+"/cluster-manager/"); inside && file.Content != "" {
			files[path] = file.Content
		}
	}
	if len(files) < 3 {
		b.Fatal(fmt.Errorf("ours writes only %d files", len(files)))
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		b.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			b.Fatal(err)
		}
	}
}
