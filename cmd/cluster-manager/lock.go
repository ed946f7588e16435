package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// kept are the names in a folder that --keep made.
var kept = []string{".lock", "clusters", "forge.json", "management", "repos"}

// checkKept refuses a folder that holds anything else: it was made for another purpose.
func checkKept(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("folder %s: reading: %w", path, err)
	}
	for _, entry := range entries {
		if !slices.Contains(kept, entry.Name()) {
			return fmt.Errorf("folder %s: it holds %s and was not made by --keep: name a new folder", path, entry.Name())
		}
	}
	return nil
}

// lockFolder keeps other processes out of a kept folder until the file is closed: two forges on one state would lose
// each other's pull requests.
func lockFolder(path string) (*os.File, error) {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return nil, fmt.Errorf("folder %s: making: %w", path, err)
	}
	if err := checkKept(path); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(path, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("folder %s: locking: %w", path, err)
	}
	switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(fmt.Errorf("folder %s: another process uses it: call that one with --server, or keep in another folder", path), file.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("folder %s: locking: %w", path, err), file.Close())
	}
	return file, nil
}
