package compose

import clustermanager "github.com/clustermanager/cluster-manager"

// checkServing keeps a pool without serving off a cluster that we serve models on: its slice pins predictors to the
// cluster's pools, so a pool beside it would change where they run.
func (d *decision) checkServing() error {
	if *d.request.Serving {
		return nil
	}
	reference := clustermanager.SliceReference(d.survey.Cluster)
	reading, asked := d.survey.Live[clustermanager.LiveKey(reference)]
	slice, known := reading.Get()
	switch {
	case asked && !known:
		d.warn("%s: whether cluster-manager serves models on the cluster was not checked: %s", reference, reading.Reason())
	case known && slice != nil && slice.Labels[clustermanager.LabelManagedBy] == clustermanager.ManagedBy:
		return clustermanager.Refuse("%s: serving false is refused, since cluster-manager serves models on the cluster (%s): leave serving out, or remove serving from the cluster first", d.cluster(), reference)
	}
	return nil
}
