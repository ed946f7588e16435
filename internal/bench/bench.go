// Package bench is the harness of the benchmarks that hold ours beside what a person would use instead. It is imported
// by tests alone.
//
// It promises that all ways run in the same run and in turn, that each writes a line which benchstat reads, and that
// processes are measured by what the kernel counts for them. It leaves out what the lines mean: that is the table of
// the report command.
package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Rounds is how often each way runs; the report takes the median. With -short it is one.
const Rounds = 7

// The units beside Go's own. Ours are per call where they end in "/op".
const (
	// CPU is user and system time, in nanoseconds.
	CPU = "cpu-ns/op"
	// Peak is the peak resident memory, in bytes: of a command, or of a process over its idle size.
	Peak = "peak-bytes"
)

// Way is one way to do the work.
type Way struct {
	// Name is "ours" or the peer's.
	Name string
	Run  func(b *testing.B)
}

// Interleave runs the ways one after the other, and all of them [Rounds] times, as sub-benchmarks "way=<name>".
func Interleave(b *testing.B, ways ...Way) {
	b.Helper()
	rounds := Rounds
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		for _, way := range ways {
			b.Run("way="+way.Name, way.Run)
		}
	}
}

// Ours is a way within this process, with its CPU time and allocations.
func Ours(operation func() error) Way {
	return Way{Name: "ours", Run: func(b *testing.B) {
		b.ReportAllocs()
		before := ownCPU(b)
		for b.Loop() {
			if err := operation(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(ownCPU(b)-before)/float64(b.N), CPU)
	}}
}

func ownCPU(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Commands is a way that runs stock commands, one after the other. Their CPU time is counted in the timed runs, their
// peak memory in one more after them.
func Commands(tb testing.TB, name string, commands func() []*exec.Cmd) Way {
	tb.Helper()
	meter := NewMeter(tb)
	return Way{Name: name, Run: func(b *testing.B) {
		var cpu time.Duration
		for b.Loop() {
			for _, command := range commands() {
				if err := Run(command); err != nil {
					b.Fatal(err)
				}
				cpu += command.ProcessState.UserTime() + command.ProcessState.SystemTime()
			}
		}
		b.ReportMetric(float64(cpu)/float64(b.N), CPU)
		var peak int64
		for _, command := range commands() {
			usage, err := meter.Run(command)
			if err != nil {
				b.Fatal(err)
			}
			peak = max(peak, usage.Peak)
		}
		b.ReportMetric(float64(peak), Peak)
	}}
}

// Run runs a command to its end. The error has the end of what it said.
func Run(command *exec.Cmd) error {
	var said bytes.Buffer
	if command.Stderr == nil {
		command.Stderr = &said
	}
	if err := command.Run(); err != nil {
		return fmt.Errorf("command %s: running: %w: %s", filepath.Base(command.Path), err, strings.TrimSpace(said.String()))
	}
	return nil
}

// Usage is what the kernel counted for a command and all that it started.
type Usage struct {
	// CPU is user and system time.
	CPU time.Duration
	// Peak is the largest resident memory that any of the processes had, in bytes.
	Peak int64
}

// Meter is a built copy of the program that measures commands.
type Meter struct{ program string }

// NewMeter builds it for one test; it needs the go command.
func NewMeter(tb testing.TB) *Meter {
	tb.Helper()
	meter := &Meter{program: filepath.Join(tb.TempDir(), "measure")}
	build := exec.CommandContext(context.WithoutCancel(tb.Context()), "go", "build", "-o", meter.program, "github.com/clustermanager/cluster-manager/internal/bench/measure") //nolint:gosec // the one variable is the test's own folder
	if err := Run(build); err != nil {
		tb.Fatal(err)
	}
	return meter
}

// Start makes the small program start a command, which writes what it used to a file in the end. A process that a large
// one starts inherits that one's peak memory in the kernel's count.
func (m *Meter) Start(command *exec.Cmd, file string) {
	command.Args = append([]string{m.program, file, command.Path}, command.Args[1:]...)
	command.Path = m.program
}

// Run runs a command and returns what it used.
func (m *Meter) Run(command *exec.Cmd) (Usage, error) {
	file, err := os.CreateTemp("", "measured-")
	if err != nil {
		return Usage{}, err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if err := file.Close(); err != nil {
		return Usage{}, err
	}
	m.Start(command, file.Name())
	if err := Run(command); err != nil {
		return Usage{}, err
	}
	written, err := os.ReadFile(file.Name())
	if err != nil {
		return Usage{}, err
	}
	var usage Usage
	if _, err := fmt.Sscan(string(written), &usage.CPU, &usage.Peak); err != nil {
		return Usage{}, fmt.Errorf("measured usage %q: reading: %w", written, err)
	}
	return usage, nil
}

// Tool is the path of a stock command that `make bench` builds; without it the test is skipped.
func Tool(tb testing.TB, name string) string {
	tb.Helper()
	folder := os.Getenv("CLUSTER_MANAGER_TEST_TOOLS")
	if folder == "" {
		tb.Skip("CLUSTER_MANAGER_TEST_TOOLS names no folder with the stock commands: make bench provides them")
	}
	return filepath.Join(folder, name)
}
