package testbed

import "syscall"

// dieWithParent lets the system kill a program when the test ends without cleaning up, at a timeout for one.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
