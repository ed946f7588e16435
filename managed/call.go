package managed

import (
	"slices"
	"time"
)

// Update records an update. It answers the new record, or INVALID_STATE for a cluster on its way out. A field that is
// named with the value that it has counts as named, but is not sent.
func (c *Cluster) Update(in UpdateInput, now time.Time) (Cluster, error) {
	if c.Deleting {
		return Cluster{}, c.invalidState(Update.Method, "a cluster being deleted cannot be changed: create another one")
	}
	row := c.clone()
	row.Version++
	row.UpdatedAt = now
	if in.Description != nil {
		row.Description = *in.Description
	}
	named, changed := row.take(in)
	switch {
	case len(changed) > 0:
		row.touch(changed, now)
	case named && row.State == StateError:
		row.retry(now)
	}
	return row, nil
}

// take writes the named values into the record and says whether any that the provider has was named, and which differ.
func (c *Cluster) take(in UpdateInput) (named bool, changed []Change) {
	if in.AuthorizedNetworks != nil {
		named = true
		if !slices.Equal(c.AuthorizedNetworks, *in.AuthorizedNetworks) {
			c.AuthorizedNetworks, changed = slices.Clone(*in.AuthorizedNetworks), append(changed, ChangeNetworks)
		}
	}
	if in.ReleaseChannel != nil {
		named = true
		if c.Channel != *in.ReleaseChannel {
			c.Channel, changed = *in.ReleaseChannel, append(changed, ChangeChannel)
		}
	}
	if in.Version != nil {
		named = true
		if c.Pin != *in.Version {
			c.Pin, changed = *in.Version, append(changed, ChangeVersion)
		}
	}
	return named, changed
}

// touch marks what an update changed. What the provider has not taken yet goes out with the create.
func (c *Cluster) touch(changed []Change, now time.Time) {
	if c.State == StateError {
		c.mend()
		c.Retouched = c.ReadyAt.IsZero()
	}
	c.SaidError, c.Changed, c.NextLook = "", true, now
	if c.State == StateReady || c.State == StateError {
		c.State, c.Message = StateUpdating, ""
	}
	if c.ControlPlane.Accepted {
		c.addChanges(changed)
	}
	if sent := c.Operation; sent != nil && sent.Write.Kind == UpdateCluster && slices.Contains(changed, sent.Write.Change) {
		sent.Stale = true
	}
}

func (c *Cluster) addChanges(changed []Change) {
	var all []Change
	for _, change := range changeOrder {
		if slices.Contains(c.Changes, change) || slices.Contains(changed, change) {
			all = append(all, change)
		}
	}
	c.Changes = all
}

// mend ends every failure: a call takes them up again.
func (c *Cluster) mend() {
	c.ControlPlane.mend()
	for i := range c.NodePools {
		if pool := &c.NodePools[i]; pool.State == StateError {
			pool.Part.mend()
			pool.State, pool.Message = StateUpdating, ""
			if pool.ReadyAt.IsZero() {
				pool.State = StateProvisioning
			}
		}
	}
}

// retry makes every failed part due at the next pass.
func (c *Cluster) retry(now time.Time) {
	c.ControlPlane.RetryAt, c.NextLook = time.Time{}, now
	for i := range c.NodePools {
		c.NodePools[i].Part.RetryAt = time.Time{}
	}
}

// Delete records a delete of the cluster and its pools. It answers the new record with its event; unchanged says that
// the cluster is being deleted already, or is deleted. A delete that the provider refused is tried at the next pass,
// and its next wait is the next of the row.
func (c *Cluster) Delete(now time.Time) (row Cluster, event Event, unchanged bool) {
	if c.State == StateDeleted || c.State == StateDeleting {
		return *c, Event{}, true
	}
	row = c.clone()
	row.mend()
	row.Deleting, row.State, row.Message, row.SaidError = true, StateDeleting, "", ""
	row.UpdatedAt, row.NextLook = now, now
	for i := range row.NodePools {
		row.NodePools[i].State, row.NodePools[i].Message, row.NodePools[i].UpdatedAt = StateDeleting, "", now
	}
	return row, clusterEvent(EventDeleting, &row, now), false
}

// Connect says whether credentials may be had: of a ready cluster, and of one that is updated after it was ready.
func (c *Cluster) Connect() error {
	if c.State == StateReady || c.State == StateUpdating && !c.ReadyAt.IsZero() {
		return nil
	}
	return c.invalidState(Credentials.Method, "credentials are for a cluster that is ready: get it, and call again when it is")
}

func (c *Cluster) invalidState(method Method, why string) error {
	return Fault(InvalidState, "%s: %s: the cluster is %s: %s", c.ID, method, c.State, why).With(Details{State: c.State})
}
