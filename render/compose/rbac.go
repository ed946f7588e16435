package compose

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

var (
	bindingsPath = []string{"global", "apps", "rbacBootstrap", "values", "bindings"}
	enablePath   = []string{"cluster", "providerIntegration", "apps", "rbacBootstrap", "enable"}
	bindingsKey  = strings.Join(bindingsPath, ".")
)

// composeRBAC binds the creator and the organization's admins on the new cluster, through the app of the release chart
// that makes bindings there. Bindings of the caller's replace everything.
func (d *clusterDecision) composeRBAC() error {
	given, there, err := find(d.values, bindingsPath)
	if err != nil {
		return clustermanager.Refuse("%s: values: %v, and the cluster's bindings belong below it: make it one, or leave it out", d.named(), err)
	}
	if there {
		d.rbac = answerRBAC(clustermanager.SourceValues, clustermanager.AdminsOf(given))
		return nil
	}
	if enabled, _ := lookup(d.layered(), enablePath...).(bool); !enabled || d.chart.RBACBootstrap == nil {
		d.rbac = clustermanager.ClusterRBAC{
			Source: clustermanager.SourceNone,
			Note:   fmt.Sprintf("release chart %s does not install the app that binds people on a cluster, so nobody is bound there", d.chartName()),
		}
		return nil
	}
	return d.composeBindings()
}

func (d *clusterDecision) composeBindings() error {
	base, err := d.baseBindings()
	if err != nil {
		return err
	}
	admins, known := d.survey.Admins.Get()
	if !known {
		return clustermanager.Refuse("%s: the organization's admins could not be read (RoleBindings in %s): %s; ask for the right to list them, or say in values who is bound: %s, [] binds nobody",
			d.named(), d.survey.Cluster.Namespace, d.survey.Admins.Reason(), bindingsKey)
	}
	before, err := d.boundBefore()
	if err != nil {
		return err
	}
	creator, note := d.creator()
	users := slices.Concat(admins.Users, before, creator)
	bound := clustermanager.Admins{Users: clustermanager.SortedOnce(users), Groups: clustermanager.SortedOnce(admins.Groups)}
	if len(bound.Users)+len(bound.Groups) == 0 {
		d.rbac = clustermanager.ClusterRBAC{Source: clustermanager.SourceNone, Note: strings.TrimPrefix(note+"; the organization has no admins, so nobody is bound", "; ")}
		return nil
	}
	entry := map[string]any{"role": clustermanager.ClusterAdmin}
	for key, names := range map[string][]string{"users": bound.Users, "groups": bound.Groups} {
		if len(names) > 0 {
			entry[key] = anyList(names)
		}
	}
	copied, _ := deepCopy(base).([]any)
	set(d.values, append(copied, entry), bindingsPath...)
	d.rbac = answerRBAC(clustermanager.SourceComposed, bound)
	d.rbac.Note = note
	return nil
}

// baseBindings are those that the release installs anyway: the installation's, else the chart's own.
func (d *clusterDecision) baseBindings() ([]any, error) {
	given, there, err := find(d.installation, bindingsPath)
	where := "the installation's values"
	if err == nil && !there {
		var file map[string]any
		where = "its chart's rbac-bootstrap.yaml"
		if err = yaml.Unmarshal([]byte(*d.chart.RBACBootstrap), &file); err == nil {
			given = lookup(file, "defaultValues", "bindings")
		}
	}
	base, isList := given.([]any)
	if err != nil || !isList && given != nil {
		return nil, clustermanager.Refuse("%s: the bindings that the release installs anyway cannot be read from %s: say in values who is bound: %s, [] binds nobody", d.named(), where, bindingsKey)
	}
	return base, nil
}

// boundBefore are the users of the entry that an earlier run composed: who created the cluster stays bound.
func (d *clusterDecision) boundBefore() ([]string, error) {
	if !d.survey.ReRun() {
		return nil, nil
	}
	values, known := d.survey.OwnValues.Get()
	if !known {
		return nil, clustermanager.Refuse("%s: who is bound today could not be read: %s; see to that, or say in values who is bound: %s", d.named(), d.survey.OwnValues.Reason(), bindingsKey)
	}
	bindings, _ := lookup(values.Reveal(), bindingsPath...).([]any)
	if len(bindings) == 0 {
		return nil, nil
	}
	return clustermanager.AdminsOf(bindings[len(bindings)-1:]).Users, nil
}

// creator is the caller as the cluster names them; none with a note where they cannot be bound.
func (d *clusterDecision) creator() ([]string, string) {
	oidc, _ := lookup(layer(layer(nil, d.installation), d.values), oidcPath...).(map[string]any)
	claim := text(oidc, "usernameClaim")
	switch {
	case claim == "":
		return nil, "you are not bound: the cluster's values do not say from which claim it takes usernames"
	case claim != usernameClaim:
		return nil, fmt.Sprintf("you are not bound: the cluster takes usernames from the claim %s, and only an e-mail is known here", claim)
	case d.survey.Creator == "":
		return nil, "you are not bound: your sign-in carries no e-mail"
	}
	prefix := text(oidc, "usernamePrefix")
	if prefix == "-" {
		prefix = ""
	}
	return []string{prefix + d.survey.Creator}, ""
}

func answerRBAC(source string, bound clustermanager.Admins) clustermanager.ClusterRBAC {
	answer := clustermanager.ClusterRBAC{Source: source, Users: bound.Users, Groups: bound.Groups}
	if len(bound.Users)+len(bound.Groups) > 0 {
		answer.Role = clustermanager.ClusterAdmin
	}
	return answer
}
