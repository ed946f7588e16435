// Package live carries a list of steps out on Kubernetes API servers, as the caller whose clients it gets.
//
// [Plan] reads every object of the steps at once and decides what each step would do and whose the object is; whatever
// is refused is refused there, before the first write. [Planned.Preview] is the answer of a dry run. [Apply] writes in
// order inside a budget, new releases beside each other, and answers for each object whether it was done or is pending: what was cut short, by
// the time or by an API server that refused, is said, and the same call again goes on from there, since nothing is
// remembered but the objects themselves.
//
// It promises that an object of someone else is neither changed nor deleted, that finalizers, labels and annotations of
// others stay, and that the plain values of a Secret leave for the API server alone. It leaves out what should be
// done and why, which the composers decide, and everything that happens after an API server took a write.
package live
