package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// deprecation ends each line in which kustomize tells, at every build and past every logger, that a repository's file
// uses an old field. Nobody who reads this program's standard error asked for that, and the build is the same.
const deprecation = "to update your Kustomization automatically."

// quietKustomize puts a filter before standard error that drops those lines alone. What is returned ends it, and returns
// when everything before has been written. A crash of the program is told past it.
func quietKustomize() (end func()) {
	stderr := os.Stderr
	reader, writer, err := os.Pipe()
	if err != nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewReader(reader); ; {
			line, err := lines.ReadString('\n')
			if !strings.HasSuffix(strings.TrimSpace(line), deprecation) {
				_, _ = fmt.Fprint(stderr, line)
			}
			if err != nil {
				return
			}
		}
	}()
	os.Stderr = writer
	return func() {
		os.Stderr = stderr
		_ = writer.Close()
		<-done
	}
}
