// Package testbed runs, for tests, the programs that read what the product writes: a Kubernetes API server with etcd and
// the controller manager, Flux's source-controller and kustomize-controller, and an OpenID Connect provider that the API
// server trusts; beside them a registry of charts, and a stand-in of helm-controller on Helm's SDK, which says what it
// leaves out (programs/helm). Package script plays the controllers that need machines.
//
// It promises the real programs at the versions of programs/, built once into a cache folder by `make testbed`, on free
// ports of the loopback interface; people with tokens of the provider, so that Kubernetes' own authentication and RBAC
// decide; and custom resource definitions from the folders of the modules that make them. A bed is up in seconds and gone
// with its test, by process id. When the programs are not built, a test that asks for a bed is skipped.
//
// It leaves out nodes, the scheduler and everything that needs one: no container runs. Nothing outlives a bed, and its
// etcd does not wait for the disk.
package testbed
