// Package httpapi serves the managed clusters API over HTTP: each endpoint of the method table under its path, by POST.
//
// The package promises: every answer is the method's own or the one envelope of errors, whatever went wrong on the way:
// no such route, another verb, another content type, a body too large, nobody signed in, a fault of ours. A token goes into the
// answer to its caller and nowhere else: no error and no log line holds a body. Every answer names its request's id, under
// which the log has it.
//
// It leaves out what an input must look like and what a call does (packages managed and managed/service), and who calls: the
// identity comes in as a function.
package httpapi
