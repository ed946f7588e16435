//go:build !linux

package testbed

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
