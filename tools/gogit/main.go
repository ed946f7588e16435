// Command gogit is a peer of the benchmarks: it stages files with the whole go-git library, as a program would that
// has a clone. It is a module of its own, so that the product's go.mod names the product's needs alone.
//
//	gogit URL
//
// It clones the repository at depth 1 into memory. Each line of its input is a JSON object of paths and contents, which
// it writes and adds; its answer is a line with its CPU time in nanoseconds and its peak memory in bytes so far.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"github.com/go-git/go-billy/v5/memfs"
	"github.com/go-git/go-billy/v5/util"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/storage/memory"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gogit:", err)
		os.Exit(1)
	}
}

func run(arguments []string, input io.Reader, output io.Writer) error {
	if len(arguments) != 1 {
		return errors.New("usage: gogit URL")
	}
	repository, err := git.Clone(memory.NewStorage(), memfs.New(), &git.CloneOptions{URL: arguments[0], Depth: 1})
	if err != nil {
		return err
	}
	worktree, err := repository.Worktree()
	if err != nil {
		return err
	}
	for edits := json.NewDecoder(bufio.NewReader(input)); ; {
		var files map[string]string
		if err := edits.Decode(&files); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		for name, content := range files {
			if err := util.WriteFile(worktree.Filesystem, name, []byte(content), 0o644); err != nil {
				return err
			}
			if _, err := worktree.Add(name); err != nil {
				return err
			}
		}
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			return err
		}
		peak := usage.Maxrss
		if runtime.GOOS != "darwin" {
			peak *= 1024
		}
		if _, err := fmt.Fprintln(output, usage.Utime.Nano()+usage.Stime.Nano(), peak); err != nil {
			return err
		}
	}
}
