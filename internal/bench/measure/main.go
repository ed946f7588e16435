// Command measure runs a command and writes to a file what it used: CPU time in nanoseconds and the largest resident
// memory of it and all that it started and waited for, in bytes.
//
//	measure FILE COMMAND [ARGUMENT …]
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) < 2 {
		return errors.New("usage: measure FILE COMMAND [ARGUMENT …]")
	}
	command := exec.Command(arguments[1], arguments[2:]...) //nolint:gosec,noctx // that is what it is for, and it ends with the command
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return err
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage); err != nil {
		return err
	}
	peak := usage.Maxrss
	if runtime.GOOS != "darwin" {
		peak *= 1024
	}
	text := fmt.Sprintln(usage.Utime.Nano()+usage.Stime.Nano(), peak)
	return os.WriteFile(arguments[0], []byte(text), 0o600) //nolint:gosec // the file is the one that was asked for
}
