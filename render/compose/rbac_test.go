package compose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Who is bound cluster-wide, by what the caller, the chart, the installation and the organization say.
func TestClusterRBAC(t *testing.T) {
	view := object{"role": "view", "groups": []any{"giantswarm-ad:giantswarm-admins", "giantswarm-ad:giantswarm:giantswarm-admins", "giantswarm-github:giantswarm:giantswarm-admins", "giantswarm-github:giantswarm-admins"}}
	bindings := func(bindings ...any) object {
		return object{"global": object{"apps": object{"rbacBootstrap": object{"values": object{"bindings": bindings}}}}}
	}
	entry := func(users ...any) object {
		return object{"role": "cluster-admin", "users": users, "groups": []any{"customer:acme:Admins"}}
	}
	oidc := func(claims object) clustermanager.Reading[clustermanager.Values] {
		return clustermanager.Known(clustermanager.NewValues(object{"global": object{"controlPlane": object{"oidc": claims}}}))
	}
	email := oidc(object{"usernameClaim": "email"})
	composed := func(note string, users ...string) clustermanager.ClusterRBAC {
		return clustermanager.ClusterRBAC{Source: "composed", Role: "cluster-admin", Users: users, Groups: []string{"customer:acme:Admins"}, Note: note}
	}
	for name, test := range map[string]struct {
		values  object
		change  func(*clustermanager.NewClusterSurvey)
		want    clustermanager.ClusterRBAC
		written any
	}{
		"composed": {nil, func(s *clustermanager.NewClusterSurvey) { s.InstallationValues = email },
			composed("", "ann@acme.example", "jane@acme.example"), []any{view, entry("ann@acme.example", "jane@acme.example")}},
		"prefixed": {nil, func(s *clustermanager.NewClusterSurvey) {
			s.InstallationValues = oidc(object{"usernameClaim": "email", "usernamePrefix": "oidc:"})
		}, composed("", "ann@acme.example", "oidc:jane@acme.example"), []any{view, entry("ann@acme.example", "oidc:jane@acme.example")}},
		"no prefix": {nil, func(s *clustermanager.NewClusterSurvey) {
			s.InstallationValues = oidc(object{"usernameClaim": "email", "usernamePrefix": "-"})
		}, composed("", "ann@acme.example", "jane@acme.example"), []any{view, entry("ann@acme.example", "jane@acme.example")}},
		"another claim": {nil, func(s *clustermanager.NewClusterSurvey) { s.InstallationValues = oidc(object{"usernameClaim": "sub"}) },
			composed("you are not bound: the cluster takes usernames from the claim sub, and only an e-mail is known here", "ann@acme.example"), []any{view, entry("ann@acme.example")}},
		"no e-mail": {nil, func(s *clustermanager.NewClusterSurvey) { s.InstallationValues, s.Creator = email, "" },
			composed("you are not bound: your sign-in carries no e-mail", "ann@acme.example"), []any{view, entry("ann@acme.example")}},
		"installation's bindings": {nil, func(s *clustermanager.NewClusterSurvey) {
			s.InstallationValues = clustermanager.Known(clustermanager.NewValues(bindings(object{"role": "edit", "users": []any{"x"}})))
		}, composed("you are not bound: the cluster's values do not say from which claim it takes usernames", "ann@acme.example"),
			[]any{object{"role": "edit", "users": []any{"x"}}, entry("ann@acme.example")}},
		"re-run": {nil, func(s *clustermanager.NewClusterSurvey) {
			*s = made(t, "36.0.0")
			s.InstallationValues = email
			s.OwnValues = clustermanager.Known(clustermanager.NewValues(bindings(entry("not@the.last"), view, entry("first@acme.example", "ann@acme.example"))))
		}, composed("", "ann@acme.example", "first@acme.example", "jane@acme.example"),
			[]any{view, entry("ann@acme.example", "first@acme.example", "jane@acme.example")}},
		"nobody": {nil, func(s *clustermanager.NewClusterSurvey) { s.Admins = clustermanager.Known(clustermanager.Admins{}) },
			clustermanager.ClusterRBAC{Source: "none", Note: "you are not bound: the cluster's values do not say from which claim it takes usernames; the organization has no admins, so nobody is bound"}, nil},
		"the caller's": {bindings(entry("a"), object{"role": "cluster-admin", "users": []any{"b"}, "namespaces": []any{"x"}}), nil,
			clustermanager.ClusterRBAC{Source: "values", Role: "cluster-admin", Users: []string{"a"}, Groups: []string{"customer:acme:Admins"}},
			[]any{entry("a"), object{"role": "cluster-admin", "users": []any{"b"}, "namespaces": []any{"x"}}}},
		"the caller's nobody": {bindings(), func(s *clustermanager.NewClusterSurvey) { s.Admins = unknown[clustermanager.Admins]() },
			clustermanager.ClusterRBAC{Source: "values"}, []any{}},
		"switched off": {object{"cluster": object{"providerIntegration": object{"apps": object{"rbacBootstrap": object{"enable": false}}}}}, nil,
			clustermanager.ClusterRBAC{Source: "none", Note: "release chart oci://gsoci.azurecr.io/charts/giantswarm/release-aws:36.0.0 does not install the app that binds people on a cluster, so nobody is bound there"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			survey, request := freeName(t), newCluster("aws", "")
			if test.change != nil {
				test.change(&survey)
			}
			request.Values = clustermanager.NewValues(test.values)
			cluster := clusterOf(t, request, survey)
			if diff := cmp.Diff(test.want, cluster.RBAC) + cmp.Diff(test.written, lookup(valuesOf(t, cluster.Plan), bindingsPath...)); diff != "" {
				t.Error(diff)
			}
		})
	}
	survey := made(t, "36.0.0")
	survey.OwnValues = unknown[clustermanager.Values]()
	if _, err := Cluster(newCluster("aws", ""), survey); err == nil || !strings.Contains(err.Error(), "who is bound today could not be read") {
		t.Errorf("%v", err)
	}
}

// The list that bindings are appended to is the installation's, and stays as it is.
func TestBaseBindingsAreNotChanged(t *testing.T) {
	base := append(make([]any, 0, 4), object{"role": "view"})
	survey := freeName(t)
	survey.InstallationValues = clustermanager.Known(clustermanager.NewValues(object{"global": object{"apps": object{"rbacBootstrap": object{"values": object{"bindings": base}}}}}))
	clusterOf(t, newCluster("aws", ""), survey)
	if diff := cmp.Diff([]any{object{"role": "view"}, nil}, base[:2]); diff != "" {
		t.Error(diff)
	}
}
