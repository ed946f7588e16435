package compose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/render/catalog"
)

// operator is the decision about the GPU operator; without steps it is not composed.
type operator struct {
	row   string
	steps []clustermanager.Step
}

// operatorRow is one way to configure the operator: what the node's image leaves to it.
type operatorRow struct {
	name            string
	driver, toolkit bool
	// what says for which nodes the row is.
	what string
	fits func(nodes []clustermanager.Node, machineImage string) bool
}

// operatorRows in the order in which they are tried.
var operatorRows = []operatorRow{
	{"pre-installed", false, true, "nodes with the label " + clustermanager.LabelDriver + "=pre-installed, whose image has the driver", anyPreInstalled},
	{"flatcar", false, false, "Flatcar nodes, whose image has the toolkit and whose system extension has the driver", allFlatcar},
}

func anyPreInstalled(nodes []clustermanager.Node, _ string) bool {
	return slices.ContainsFunc(nodes, func(node clustermanager.Node) bool { return node.Labels[clustermanager.LabelDriver] == "pre-installed" })
}

// allFlatcar asks the pool's machine image where no node has come up yet.
func allFlatcar(nodes []clustermanager.Node, machineImage string) bool {
	if len(nodes) == 0 {
		return strings.HasPrefix(machineImage, "flatcar-")
	}
	return !slices.ContainsFunc(nodes, func(node clustermanager.Node) bool { return !strings.Contains(node.OSImage, "Flatcar") })
}

// decideOperator composes the GPU operator where none runs that somebody else put there.
func (b *base) decideOperator(machineImage string, pools []gpuPool) (operator, error) {
	found := b.survey.GPUOperator
	switch {
	case found.Status != clustermanager.ComponentPresent && found.Status != clustermanager.ComponentAbsent:
		return operator{}, clustermanager.Refuse("%s: whether a GPU operator runs on it could not be found out: %s; see to that, then call again", b.cluster(), cmp.Or(found.Reason, "not read"))
	case !found.ComposedHere():
		return operator{}, nil
	}
	nodes, err := need(b, b.survey.Nodes, "its nodes, which the GPU operator is configured from,")
	if err != nil {
		return operator{}, err
	}
	for _, row := range operatorRows {
		if row.fits(nodes, machineImage) {
			return operator{row: row.name, steps: b.operatorSteps(row, releaseNames(pools))}, nil
		}
	}
	return operator{}, b.refuseNodes(nodes, machineImage)
}

func (b *base) refuseNodes(nodes []clustermanager.Node, machineImage string) error {
	images, labels := map[string]bool{}, map[string]bool{}
	for _, node := range nodes {
		images[fmt.Sprintf("%q", node.OSImage)] = true
		for key, value := range node.Labels {
			if strings.HasPrefix(key, "nvidia.com/") {
				labels[key+"="+value] = true
			}
		}
	}
	seen := "OS images " + sortedList(images) + ", labels " + sortedList(labels)
	if len(nodes) == 0 {
		seen = fmt.Sprintf("no node, machine image %q", machineImage)
	}
	var rows []string
	for _, row := range operatorRows {
		rows = append(rows, fmt.Sprintf("%s (driver %t, toolkit %t) for %s", row.name, row.driver, row.toolkit, row.what))
	}
	return clustermanager.Refuse("%s: the GPU operator cannot be configured for its nodes (%s): known are %s; install a GPU operator by hand, which is then left alone, or open an issue with this message so that the row is added",
		b.cluster(), seen, strings.Join(rows, ", and "))
}

// sortedList joins the keys; "none" without any.
func sortedList(set map[string]bool) string {
	return cmp.Or(strings.Join(slices.Sorted(maps.Keys(set)), ", "), "none")
}

// kubeSystem is where the operator runs and where Helm keeps its release.
const kubeSystem = "kube-system"

func (b *base) operatorSteps(row operatorRow, pools []string) []clustermanager.Step {
	objects := clustermanager.OperatorObjects(b.survey.Cluster)
	spec := helmReleaseSpec(objects.Source.Name, clustermanager.ChartGPUOperator)
	replaceCRDs(spec)
	set(spec, clustermanager.KubeconfigSecretName(b.survey.Cluster), "kubeConfig", "secretRef", "name")
	spec["targetNamespace"], spec["storageNamespace"] = kubeSystem, kubeSystem
	spec["values"] = map[string]any{"gpu-operator": b.operatorValues(row, pools)}
	return b.releaseSteps(objects, clustermanager.ChartGPUOperator, catalog.GPUOperator().Source(), spec)
}

// operatorValues restate the chart's lists of tolerations, because Helm replaces lists: its own, and the taints that a
// DaemonSet takes off a node that starts. Node Feature Discovery looks every ten seconds, since the operator's parts
// come to a node only once it has labelled it, and on the nodes of GPU pools alone.
func (b *base) operatorValues(row operatorRow, pools []string) map[string]any {
	worker := map[string]any{
		"config":      map[string]any{"core": map[string]any{"sleepInterval": "10s"}},
		"tolerations": append([]any{map[string]any{"key": "node-role.kubernetes.io/control-plane", "operator": "Equal", "value": "", "effect": "NoSchedule"}}, startUpTolerations()...),
	}
	if len(pools) > 0 {
		set(worker, []any{map[string]any{"matchExpressions": []any{map[string]any{
			"key": clustermanager.LabelMachinePool, "operator": "In", "values": anyList(pools),
		}}}}, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	}
	enabled := func(on bool) map[string]any { return map[string]any{"enabled": on} }
	withoutWorkload := func() map[string]any {
		return map[string]any{"env": []any{map[string]any{"name": "WITH_WORKLOAD", "value": "false"}}}
	}
	return map[string]any{
		"driver":                 enabled(row.driver),
		"toolkit":                enabled(row.toolkit),
		"migManager":             enabled(false),
		"dcgmExporter":           enabled(b.survey.Settings.GPUOperatorDCGMExporter),
		"validator":              map[string]any{"cuda": withoutWorkload(), "plugin": withoutWorkload()},
		"daemonsets":             map[string]any{"tolerations": startUpTolerations()},
		"node-feature-discovery": map[string]any{"worker": worker},
	}
}

func startUpTolerations() []any {
	return []any{
		map[string]any{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
		map[string]any{"key": "node.cluster.x-k8s.io/uninitialized", "operator": "Exists"},
		map[string]any{"key": "ebs.csi.aws.com/agent-not-ready", "operator": "Exists"},
	}
}
