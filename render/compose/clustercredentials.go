package compose

import (
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// checkCredentials keeps credentials of the caller's values out of git, where they would stay in its history. A
// ConfigMap of the installation is the caller's to decide, and told. Paths alone are named.
func (d *clusterDecision) checkCredentials() error {
	paths := d.request.Values.Credentials()
	if len(paths) == 0 {
		return nil
	}
	named := clustermanager.OneLine(strings.Join(paths, ", "), longestCredentials)
	object := clustermanager.ClusterRelease(d.survey.Cluster).Values
	if d.request.Mode == clustermanager.ModeCommit {
		return clustermanager.Refuse("%s: values holds credentials in plain text, and %s would hold them in git for good (%s): leave them out of values, or call with mode %s, which writes nothing to git and keeps them in plain text in that ConfigMap",
			d.named(), object, named, clustermanager.ModeApply)
	}
	d.warnings = append(d.warnings, d.named()+": values holds credentials, and "+object.String()+" keeps them in plain text for everybody who may read it ("+named+"): leave them out of values where the cluster does not need them")
	return nil
}

// longestCredentials is how many characters of paths a sentence names.
const longestCredentials = 1000

// shown are the cluster's objects as an answer shows them, where credentials stand in its values.
func (d *clusterDecision) shown() (map[clustermanager.ObjectReference]map[string]any, error) {
	values := clustermanager.NewValues(d.values)
	if len(values.Credentials()) == 0 {
		return nil, nil
	}
	steps, err := d.steps(values.WithoutCredentials())
	shown := map[clustermanager.ObjectReference]map[string]any{}
	for _, step := range steps {
		shown[step.Reference()] = step.Object.Object
	}
	return shown, err
}
