// Package snapshot exports what the tools would read of a live installation, as the caller, into a folder that the offline
// installation serves.
//
// It promises that no Secret's value leaves the installation: values are replaced by [clustermanager.Masked], a cluster's
// kubeconfig keeps its servers and authorities alone, credentials among Helm values and in ConfigMaps are masked as
// [clustermanager.Values] masks them, and containers lose their environment and arguments. What could not be read is
// listed, in the folder too: on the snapshot it is absent, not unknown.
//
// It leaves out the repositories, which the caller's own git has, every kind that no tool reads, and ConfigMaps and Secrets
// of namespaces that hold neither a cluster nor a Kustomization and that no release has its values of.
package snapshot
