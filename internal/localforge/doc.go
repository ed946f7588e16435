// Package localforge is a forge that speaks as GitHub does, on real bare repositories in a folder: for the offline
// installation, the demo and the tests.
//
// It promises real git over smart HTTP (by the git program's http-backend, partial clones included) and the few REST
// endpoints that the product calls, with GitHub's shapes, statuses and words, and with state: users and their tokens,
// repositories that the App is not installed on, branch rules that a push meets, pull requests that are opened, edited,
// merged and closed, each with its page for a person. Requests can be made to meet faults. Nothing outside the given
// folder and state file is written, no setting of the machine's git counts, no hook runs, and only loopback addresses
// are listened on. A forge opened again on the same folder and state file goes on where it was.
//
// It leaves out everything that the product does not call, forks, verified signatures, and being shared: one forge at a
// time has a folder and its state file.
package localforge
