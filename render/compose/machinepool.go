package compose

import clustermanager "github.com/clustermanager/cluster-manager"

// checkMachinePool keeps a release off a MachinePool that stands without it: Helm would fail to install over one that it
// did not make.
func (d *decision) checkMachinePool() error {
	release := clustermanager.ReleaseName(d.survey.Cluster, d.request.Name)
	reference := clustermanager.MachinePoolReference(d.survey.Cluster, d.request.Name)
	reading, asked := d.survey.Live[clustermanager.LiveKey(reference)]
	pool, known := reading.Get()
	switch {
	case asked && !known:
		d.warn("%s: whether one stands that this release did not make was not checked: %s", reference, reading.Reason())
	case known && pool != nil && pool.Labels[clustermanager.LabelHelmReleaseName] != release:
		return clustermanager.Refuse("%s: it exists and the release %s did not make it, so Helm would not install over it: choose another pool name, or remove that pool first", reference, release)
	}
	return nil
}
