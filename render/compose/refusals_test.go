package compose

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// fault breaks one rule of a pool that is fine otherwise: gpu-l4 on wc1.
type fault struct {
	name  string
	apply func(*clustermanager.CreateNodePoolRequest, *clustermanager.Survey)
	want  string
	// other says that the row shows another way to break the rule of the row above it, so it has no place of its own in
	// the order.
	other bool
}

type (
	request = *clustermanager.CreateNodePoolRequest
	survey  = *clustermanager.Survey
)

// faults are in the order in which they are told.
var faults = []fault{
	{"cluster missing", func(r request, _ survey) { r.Cluster = "" },
		"cluster is missing: name the cluster that gets the pool", false},
	{"name too short", func(r request, _ survey) { r.Name = "gpu" },
		`pool name "gpu" is not allowed: use 5 to 20 lower-case letters, digits and dashes, starting and ending with a letter or digit`, false},
	{"name climbs out", func(r request, _ survey) { r.Name = "../gpu-l4" },
		`pool name "../gpu-l4" is not allowed: use 5 to 20 lower-case letters, digits and dashes, starting and ending with a letter or digit`, true},
	{"name with a line break", func(r request, _ survey) { r.Name = "gpu-l4\n" },
		`pool name "gpu-l4\n" is not allowed: use 5 to 20 lower-case letters, digits and dashes, starting and ending with a letter or digit`, true},
	{"name of the operator's release", func(r request, _ survey) { r.Name = "gpu-operator" },
		`pool name "gpu-operator" is reserved: release wc1-gpu-operator belongs to another part of the cluster; choose another name, such as gpu-l4`, true},
	{"name of a component of older slices", func(r request, _ survey) { r.Name = "kserve-resources" },
		`pool name "kserve-resources" is reserved: release wc1-kserve-resources belongs to another part of the cluster; choose another name, such as gpu-l4`, true},
	{"accelerator", func(r request, _ survey) { r.Accelerator = "nvidia-h100" },
		`accelerator "nvidia-h100" is not offered: use one of nvidia-l4, nvidia-a10g, nvidia-t4, nvidia-l40s`, false},
	{"size", func(r request, _ survey) { r.Sizes = []string{"xlarge", "metal"} },
		`size "metal" does not exist for nvidia-l4: use any of xlarge, 2xlarge, 4xlarge, 8xlarge, 12xlarge, 16xlarge, 24xlarge, 48xlarge`, false},
	{"maxGpus", func(r request, _ survey) { r.MaxGPUs = new(0) },
		"maxGpus is 0: a pool needs at least 1", false},
	{"chartVersion", func(r request, _ survey) { r.ChartVersion = "latest" },
		`chartVersion "latest" is no exact version: name one of chart gpu-node-pool, such as 0.8.0, or leave it out to follow the newest`, false},
	{"chartVersion that is no tag", func(r request, _ survey) { r.ChartVersion = "0.8.0+build" },
		`chartVersion "0.8.0+build" is no exact version: name one of chart gpu-node-pool, such as 0.8.0, or leave it out to follow the newest`, true},
	{"mode", func(r request, _ survey) { r.Mode = "push" },
		`mode "push" does not exist: use commit, which opens a pull request`, false},
	{"cache without serving", func(r request, _ survey) { r.Cache = new(true) },
		"cache true needs model serving, and serving is false: leave out one of the two", false},

	{"base domain", func(_ request, s survey) { setValue(s, nil, "connectivity", "baseDomain") },
		"Cluster org-acme/wc1: a pool needs a base domain, which its values lack: add to the values of HelmRelease org-acme/wc1\n\n" +
			"global:\n  connectivity:\n    baseDomain: <base domain of the installation>\n\n" +
			"The change rolls the control plane, which takes about 15 minutes; run the call again once it is done", false},
	{"values unreadable", func(_ request, s survey) {
		s.Values = clustermanager.Unknown[clustermanager.EffectiveValues]("ConfigMap org-acme/wc1-values: forbidden")
	}, "Cluster org-acme/wc1: its values could not be read, and a pool needs its base domain: ConfigMap org-acme/wc1-values: forbidden; see to that, then call again", true},
	{"values in an unexpected form", func(_ request, s survey) { setValue(s, "x", "components", "containerd", "containerRegistries") },
		"Cluster org-acme/wc1: its values cannot be read: global.components.containerd.containerRegistries is no mapping; correct it in the values of HelmRelease org-acme/wc1 and run the call again", false},
	{"deleting", func(_ request, s survey) { s.Cluster.Deleting = true },
		"Cluster org-acme/wc1 is being deleted and takes no new pool: name another cluster", false},
	{"no release label", func(_ request, s survey) { s.Cluster.Release = "" },
		"Cluster org-acme/wc1: it carries no label release.giantswarm.io/version, so the version of its nodes is not known: set the label to the version of the cluster's release and run the call again", false},
	{"pins unreadable", func(_ request, s survey) {
		s.Pins = clustermanager.Unknown[clustermanager.ReleasePins]("Release aws-31.0.0: forbidden")
	}, "Cluster org-acme/wc1: the versions of its release 31.0.0 could not be read: Release aws-31.0.0: forbidden; see to that, then call again", true},
	{"a pin missing", func(_ request, s survey) { setPins(s, func(p *clustermanager.ReleasePins) { p.OSTooling = "" }) },
		"Cluster org-acme/wc1: its release 31.0.0 pins no os-tooling, so the pool has no machine image: move the cluster to a release that does", true},
	{"skew", func(_ request, s survey) { s.ControlPlaneVersion = clustermanager.Known("1.31.3") },
		"Cluster org-acme/wc1: its release 31.0.0 brings Kubernetes 1.31.4, newer than the control plane's 1.31.3, and nodes may not be newer: run the call again once the control plane is upgraded", false},
	{"Flatcar too old", func(_ request, s survey) { setPins(s, func(p *clustermanager.ReleasePins) { p.Flatcar = "4081.2.1" }) },
		"Cluster org-acme/wc1: its release 31.0.0 brings Flatcar 4081.2.1, and chart gpu-node-pool 0.8.0 needs 4344.0.0 or newer: move the cluster to a release with a newer Flatcar", false},
	{"no Flatcar", func(_ request, s survey) { setPins(s, func(p *clustermanager.ReleasePins) { p.Flatcar = "stable" }) },
		"Cluster org-acme/wc1: its machine image flatcar-stable-stable-kube-1.31.4-tooling-1.26.1-gs names no Flatcar version, and chart gpu-node-pool 0.8.0 needs Flatcar 4344.0.0 or newer: move the cluster to a release with such a Flatcar", true},
	{"zone", func(r request, _ survey) { r.Zones = append(r.Zones, "eu-central-1d") },
		`Cluster org-acme/wc1: zone "eu-central-1d" has no node subnet: name zones of eu-central-1a, eu-central-1b, eu-central-1c, or none`, false},
	{"zones unreadable", func(r request, s survey) {
		r.Zones = []string{"eu-central-1a", "eu-central-1b"}
		s.Network = clustermanager.Unknown[clustermanager.Network]("AWSCluster org-acme/wc1: forbidden")
	}, "Cluster org-acme/wc1: the zones of its node subnets could not be read, so the pool cannot be pinned to eu-central-1a, eu-central-1b: AWSCluster org-acme/wc1: forbidden; run the call again without zones", true},
	{"no zone at all", func(r request, s survey) {
		r.Zones, s.Network = []string{"eu-central-1a"}, clustermanager.Known(clustermanager.Network{Region: "eu-central-1"})
	}, "Cluster org-acme/wc1: it names no zone with a node subnet, so the pool cannot be pinned to eu-central-1a: run the call again without zones", true},
	{"prewarm", func(r request, _ survey) { r.Prewarm = true },
		"Cluster org-acme/wc1: prewarm launches a node on the installation's own cluster gazelle alone, not on workload cluster wc1: run the call again without prewarm", false},
	{"zones on an older chart", func(r request, _ survey) { r.ChartVersion, r.Zones = "0.5.0-rc.1", append(r.Zones, "eu-central-1a") },
		"chartVersion 0.5.0-rc.1: chart gpu-node-pool takes zones from 0.5.0 on: name that version or a newer one, or run the call again without zones", false},
	{"prewarm on an older chart", func(r request, s survey) { r.ChartVersion, r.Prewarm, s.Cluster.Own = "0.3.9", true, true },
		"chartVersion 0.3.9: chart gpu-node-pool takes prewarm from 0.4.0 on: name that version or a newer one, or run the call again without prewarm", true},
	{"release name too long", func(_ request, s survey) {
		s.Cluster.Name = "a-cluster-that-somebody-gave-a-name-of-very-many-characters"
	},
		`pool name "gpu-l4": its release a-cluster-that-somebody-gave-a-name-of-very-many-characters-gpu-l4 would have 66 characters, and Helm takes 53: choose a shorter name`, true},
	{"source unreadable", func(_ request, s survey) {
		s.Live["org-acme_wc1-gpu-l4_source.toolkit.fluxcd.io_OCIRepository"] = clustermanager.Unknown[*clustermanager.LiveObject]("forbidden")
	}, "OCIRepository org-acme/wc1-gpu-l4: whether it exists and whose it is could not be read: forbidden; see to that, then call again", false},
	{"release not read", func(_ request, s survey) {
		delete(s.Live, "org-acme_wc1-gpu-l4_helm.toolkit.fluxcd.io_HelmRelease")
	}, "HelmRelease org-acme/wc1-gpu-l4: whether it exists and whose it is could not be read: not read; see to that, then call again", false},
}

// setValue sets a value below global, nil takes it out.
func setValue(s survey, value any, path ...string) {
	effective, _ := s.Values.Get()
	set(effective.Values.Reveal(), value, append([]string{"global"}, path...)...)
}

func setPins(s survey, change func(*clustermanager.ReleasePins)) {
	pins, _ := s.Pins.Get()
	change(&pins)
	s.Pins = clustermanager.Known(pins)
}

// refused composes gpu-l4 on wc1 with the faults made in order, and returns the refusal's words.
func refused(t *testing.T, made ...fault) string {
	t.Helper()
	request, survey := pool("wc1", "gpu-l4"), surveyOf(t, "wc1")
	for _, fault := range made {
		fault.apply(&request, &survey)
	}
	pool, err := NodePool(request, survey)
	var refusal *clustermanager.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("%s: no refusal but %v", made[0].name, err)
	}
	if pool.Plan.Steps != nil {
		t.Errorf("%s: refused, and yet a plan", made[0].name)
	}
	return refusal.Message
}

func TestRefusals(t *testing.T) {
	for _, fault := range faults {
		if diff := cmp.Diff(fault.want, refused(t, fault)); diff != "" {
			t.Errorf("%s: %s", fault.name, diff)
		}
	}
}

// Of two faults the earlier is told. A pin that is old enough for a missing key is too old for the Flatcar rule.
func TestRefusalsComeInOrder(t *testing.T) {
	for i, first := range faults {
		for _, second := range faults[i+1:] {
			if first.other || second.other || first.name == "Flatcar too old" && second.name == "zones on an older chart" {
				continue
			}
			if diff := cmp.Diff(first.want, refused(t, second, first)); diff != "" {
				t.Errorf("%s and %s: %s", first.name, second.name, diff)
			}
		}
	}
}

// CheckNodePool tells what needs no read, in the same words, and nothing else.
func TestCheckNodePool(t *testing.T) {
	reads := false
	for _, fault := range faults {
		reads = reads || fault.name == "base domain"
		request, survey := pool("wc1", "gpu-l4"), surveyOf(t, "wc1")
		fault.apply(&request, &survey)
		switch err := CheckNodePool(request); {
		case reads && err != nil:
			t.Errorf("%s: %v", fault.name, err)
		case !reads && (err == nil || err.Error() != fault.want):
			t.Errorf("%s: %v, want %s", fault.name, err, fault.want)
		}
	}
	for _, request := range []clustermanager.CreateNodePoolRequest{
		{Cluster: "wc1", Name: "gpu00"}, {Cluster: "wc1", Name: "gpu-l4", Mode: "apply", Cache: new(true)},
		{Cluster: "wc1", Name: "gpu-t4", Accelerator: "nvidia-t4", Sizes: []string{"metal"}, ChartVersion: "0.0.0-lab"},
	} {
		if err := CheckNodePool(request); err != nil {
			t.Errorf("%+v: %v", request, err)
		}
	}
}

// What must not be refused, beside the listings.
func TestAllowed(t *testing.T) {
	for name, change := range map[string]func(request, survey){
		"an older Flatcar for a chart that does not ask": func(r request, s survey) {
			r.ChartVersion = "0.5.0"
			setPins(s, func(p *clustermanager.ReleasePins) { p.Flatcar = "4081.2.1" })
		},
		"the lowest Flatcar":               func(_ request, s survey) { setPins(s, func(p *clustermanager.ReleasePins) { p.Flatcar = "4344.0.0" }) },
		"a newer control plane":            func(_ request, s survey) { s.ControlPlaneVersion = clustermanager.Known("1.32.0") },
		"a control plane of the same core": func(_ request, s survey) { s.ControlPlaneVersion = clustermanager.Known("1.31.4-eks-1a2b3c") },
		"a Secret that cannot be read and is not written": func(_ request, s survey) {
			s.Live["org-acme_wc1-gpu-l4-values__Secret"] = clustermanager.Unknown[*clustermanager.LiveObject]("forbidden")
		},
		"zones on the first chart that takes them": func(r request, _ survey) { r.ChartVersion, r.Zones = "0.5.0", []string{"eu-central-1a"} },
		"the installation's name where the values have none": func(_ request, s survey) {
			setValue(s, nil, "managementCluster")
		},
	} {
		request, survey := pool("wc1", "gpu-l4"), surveyOf(t, "wc1")
		change(&request, &survey)
		if pool := composed(t, request, survey); len(pool.Plan.Steps) != 3 {
			t.Errorf("%s: %d steps", name, len(pool.Plan.Steps))
		}
	}
}

func TestUnreadableSecretThatIsWritten(t *testing.T) {
	survey := surveyOf(t, "wc3")
	survey.Live["org-acme_wc3-gpu-l4-values__Secret"] = clustermanager.Unknown[*clustermanager.LiveObject]("forbidden")
	_, err := NodePool(pool("wc3", "gpu-l4"), survey)
	if err == nil || !strings.HasPrefix(err.Error(), "Secret org-acme/wc3-gpu-l4-values: whether it exists and whose it is could not be read: forbidden;") {
		t.Error(err)
	}
}
