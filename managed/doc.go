// Package managed is the domain of the managed Kubernetes clusters: what the kubernetesClusters API takes, records,
// answers and publishes, and how a record moves.
//
// One table of methods ([Methods]) is what HTTP, OpenAPI, the reference, authorization and audit are made from. The
// input structs carry their bounds in tags; [Decode] refuses a body with all its faults in one [Error]. A record
// ([Cluster], with its [NodePool]s) is made by [NewCluster], changed by the calls ([Cluster.Update], [Cluster.Delete])
// and moved by [Step], a pure function of the record, of what the provider showed and of the time.
//
// The package promises: no input or output but values, no clock of its own; a record has at most one cluster at the
// provider; an event is returned together with the state that it tells of, for one transaction; hours are numbered, so
// that a row written twice is one row.
//
// It leaves out: the store, the provider's wire, policy, HTTP. Node pool methods and the extensions (protection,
// maintenance window, pause, the record as a file) are not built yet: the records have pools, [Step] makes and deletes
// them with their cluster.
package managed
