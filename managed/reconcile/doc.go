// Package reconcile brings what is recorded of managed clusters about: passes over records, the refresh of an account's
// settled clusters, the delivery of events, the meter, and the removal of old records.
//
// A pass claims a record that is due, looks at the provider, lets [managed.Step] decide, saves, sends the one write that
// there may be, and saves what became of it. What is written down is what counts: a pass that ends anywhere leaves a record
// from which another one, of this process or of another, goes on when the lease has ended. A write is on record before it
// goes out, and its call has ended before the lease does.
//
// Ready clusters with nothing on their way are looked at together: one list for each account every five minutes. It
// writes nothing to the provider; a cluster that needs a write becomes due by itself.
//
// The package promises: a record is saved only by who has it claimed; what a call changed meanwhile is not lost; events
// of a cluster are delivered in their order, signed, at least once, and one that is refused keeps back those of its
// cluster alone; no clock but the one that is handed in decides when anything is due.
//
// It leaves out the decisions, which are [managed.Step]'s, the provider and the store, which are handed in.
package reconcile
