package compose

import (
	"regexp"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

func (d *decision) checkDeleting() error {
	if d.survey.Cluster.Deleting {
		return clustermanager.Refuse("%s is being deleted and takes no new pool: name another cluster", d.cluster())
	}
	return nil
}

// readPins takes the versions of the cluster's Release, which the pool's nodes run.
func (d *decision) readPins() error {
	cluster := d.survey.Cluster
	if cluster.Release == "" {
		return clustermanager.Refuse("%s: it carries no label %s, so the version of its nodes is not known: set the label to the version of the cluster's release and run the call again",
			d.cluster(), clustermanager.LabelRelease)
	}
	pins, known := d.survey.Pins.Get()
	if !known {
		return clustermanager.Refuse("%s: the versions of its release %s could not be read: %s; see to that, then call again",
			d.cluster(), cluster.Release, d.survey.Pins.Reason())
	}
	for _, pin := range []struct{ component, version string }{
		{"kubernetes", pins.Kubernetes}, {"flatcar", pins.Flatcar}, {"os-tooling", pins.OSTooling},
	} {
		if pin.version == "" {
			return clustermanager.Refuse("%s: its release %s pins no %s, so the pool has no machine image: move the cluster to a release that does", d.cluster(), cluster.Release, pin.component)
		}
	}
	d.pins = pins
	return nil
}

// checkSkew keeps nodes from being newer than the control plane. A control plane whose version is not known does not
// block: the check is a service, Kubernetes' own rule stands.
func (d *decision) checkSkew() error {
	running, known := d.survey.ControlPlaneVersion.Get()
	ahead, err := catalog.Ahead(d.pins.Kubernetes, running)
	if !known {
		err = d.survey.ControlPlaneVersion.Err()
	}
	if err != nil {
		d.warn("%s: whether its control plane is at least at the pool's Kubernetes %s was not checked: %v", d.cluster(), d.pins.Kubernetes, err)
		return nil
	}
	if ahead {
		return clustermanager.Refuse("%s: its release %s brings Kubernetes %s, newer than the control plane's %s, and nodes may not be newer: run the call again once the control plane is upgraded",
			d.cluster(), d.survey.Cluster.Release, d.pins.Kubernetes, running)
	}
	return nil
}

var flatcarImage = regexp.MustCompile(`^flatcar-[a-z]+-(\d+\.\d+\.\d+)-`)

// checkFlatcar wants an image that has the driver which the chart installs.
func (d *decision) checkFlatcar() error {
	rule := d.chart.Flatcar
	if catalog.Before(d.source.Version(), rule.Since) {
		return nil
	}
	found := flatcarImage.FindStringSubmatch(d.pins.MachineImage())
	if found == nil {
		return clustermanager.Refuse("%s: its machine image %s names no Flatcar version, and chart %s %s needs Flatcar %s or newer: move the cluster to a release with such a Flatcar",
			d.cluster(), d.pins.MachineImage(), clustermanager.ChartGPUNodePool, d.source.Version(), rule.Floor)
	}
	if catalog.Before(found[1], rule.Floor) {
		return clustermanager.Refuse("%s: its release %s brings Flatcar %s, and chart %s %s needs %s or newer: move the cluster to a release with a newer Flatcar",
			d.cluster(), d.survey.Cluster.Release, found[1], clustermanager.ChartGPUNodePool, d.source.Version(), rule.Floor)
	}
	return nil
}

// checkZones wants a node subnet in each zone that is named.
func (d *decision) checkZones() error {
	if len(d.request.Zones) == 0 {
		return nil
	}
	network, known := d.survey.Network.Get()
	if !known {
		return clustermanager.Refuse("%s: the zones of its node subnets could not be read, so the pool cannot be pinned to %s: %s; run the call again without zones",
			d.cluster(), strings.Join(d.request.Zones, ", "), d.survey.Network.Reason())
	}
	if len(network.Zones) == 0 {
		return clustermanager.Refuse("%s: it names no zone with a node subnet, so the pool cannot be pinned to %s: run the call again without zones",
			d.cluster(), strings.Join(d.request.Zones, ", "))
	}
	for _, zone := range d.request.Zones {
		if !slices.Contains(network.Zones, zone) {
			return clustermanager.Refuse("%s: zone %q has no node subnet: name zones of %s, or none", d.cluster(), zone, strings.Join(network.Zones, ", "))
		}
	}
	return nil
}

// unboundNote says where the nodes may run when no cache claim ties the pool to a zone.
func (d *decision) unboundNote() string {
	const unbound = "; no model cache claim's zone binds the pool"
	network, known := d.survey.Network.Get()
	switch {
	case len(d.request.Zones) > 0:
		return "the pool's nodes are pinned to " + strings.Join(d.request.Zones, ", ") + unbound
	case !known:
		return "the pool's nodes are not pinned; the zones of the cluster's node subnets could not be read: " + d.survey.Network.Reason()
	case len(network.Zones) == 0:
		return "the pool's nodes are not pinned; the cluster names no zone with a node subnet"
	}
	return "the pool's nodes are not pinned and may run in every zone of the cluster's node subnets: " + strings.Join(network.Zones, ", ") + unbound
}

// checkPrewarm: the placeholder is a pod of the installation, so only its own cluster's node can hold it.
func (d *decision) checkPrewarm() error {
	if !d.request.Prewarm || d.survey.Cluster.Own {
		return nil
	}
	own := "the installation's own cluster"
	if name := d.survey.Settings.Installation; name != "" {
		own += " " + name
	}
	return clustermanager.Refuse("%s: prewarm launches a node on %s alone, not on workload cluster %s: run the call again without prewarm",
		d.cluster(), own, d.survey.Cluster.Name)
}

// checkChartKeys refuses an argument whose key the pinned chart does not know.
func (d *decision) checkChartKeys() error {
	asked := map[string]bool{"prewarm": d.request.Prewarm, "zones": len(d.request.Zones) > 0}
	for _, key := range d.chart.Keys {
		if asked[key.Argument] && catalog.Before(d.source.Version(), key.Since) {
			return clustermanager.Refuse("chartVersion %s: chart %s takes %s from %s on: name that version or a newer one, or run the call again without %s",
				d.source.Version(), clustermanager.ChartGPUNodePool, key.Argument, key.Since, key.Argument)
		}
	}
	return nil
}

// maxReleaseName is the longest name that Helm gives a release.
const maxReleaseName = 53

func (d *decision) checkReleaseName() error {
	if name := clustermanager.ReleaseName(d.survey.Cluster, d.request.Name); len(name) > maxReleaseName {
		return clustermanager.Refuse("pool name %q: its release %s would have %d characters, and Helm takes %d: choose a shorter name",
			d.request.Name, name, len(name), maxReleaseName)
	}
	return nil
}
