package survey_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/survey"
)

const modelsHost = "models.wc1.acme.example.io"

// zones answers for the names that are zones; one that maps to false cannot be told.
type zones struct {
	known map[string]bool
	asked []string
}

func (z *zones) IsZone(_ context.Context, name string) (bool, error) {
	z.asked = append(z.asked, name)
	is, there := z.known[name]
	if there && !is {
		return false, errors.New(name + ": asking nameserver 192.0.2.1:53 for its SOA record: it answered Refused")
	}
	return is, nil
}

func issuerObject(spec string) string {
	return "apiVersion: cert-manager.io/v1\nkind: ClusterIssuer\nmetadata: {name: letsencrypt-giantswarm}\nspec: " + spec + "\n"
}

func solvers(list string) string { return issuerObject("{acme: {solvers: [" + list + "]}}") }

func TestIssuer(t *testing.T) {
	const (
		http01       = "{http01: {}}"
		dns01        = "{dns01: {}}"
		named        = "ClusterIssuer letsencrypt-giantswarm on cluster org-acme/wc1: it must issue the certificate of models.wc1.acme.example.io, and "
		byName       = "{selector: {dnsNames: [other, MODELS.wc1.acme.example.io]}, http01: {}}"
		byZone       = "{selector: {dnsZones: [acme.example.io]}, http01: {}}"
		byLongerZone = "{selector: {dnsZones: [wc1.acme.example.io, example.io]}, http01: {}}"
		byBoth       = "{selector: {dnsNames: [other], dnsZones: [acme.example.io]}, http01: {}}"
		byLabels     = "{selector: {matchLabels: {a: b}, dnsNames: [models.wc1.acme.example.io]}, http01: {}}"
		similarZone  = "{selector: {dnsZones: [e.example.io, models.wc1.acme.example.io.more]}, http01: {}}"
	)
	name := "letsencrypt-giantswarm"
	byHTTP := clustermanager.CertificateIssuer{Name: name, Solver: "http01"}
	byDNS := clustermanager.CertificateIssuer{Name: name, Solver: "dns01", Zone: "acme.example.io"}
	acmeZone := map[string]bool{"acme.example.io": true}
	for _, test := range []struct {
		name    string
		files   files
		over    *wire
		zones   map[string]bool
		want    clustermanager.CertificateIssuer
		refusal string
	}{
		{name: "not ACME", files: workload(t).target(issuerObject("{ca: {secretName: a}}")), want: clustermanager.CertificateIssuer{Name: name}},
		{name: "http01 without a selector", files: workload(t).target(solvers(http01)), want: byHTTP},
		{name: "an empty selector is none", files: workload(t).target(solvers("{selector: {}, http01: {}}")), want: byHTTP},
		{name: "a name beats a zone", files: workload(t).target(solvers(strings.Replace(byLongerZone, "http01", "dns01", 1) + "," + byName)), want: byHTTP},
		{name: "the longer zone", files: workload(t).target(solvers(strings.Replace(byZone, "http01", "dns01", 1) + "," + byLongerZone)), want: byHTTP},
		{name: "a zone beats none", files: workload(t).target(solvers(dns01 + "," + byZone)), want: byHTTP},
		{name: "the first of equals", files: workload(t).target(solvers(http01 + "," + dns01)), want: byHTTP},
		{name: "all that a selector lists counts", files: workload(t).target(solvers(byBoth + "," + dns01)), zones: acmeZone, want: byDNS},
		{name: "labels never", files: workload(t).target(solvers(byLabels + "," + dns01)), zones: acmeZone, want: byDNS},
		{name: "a zone that only ends alike", files: workload(t).target(solvers(similarZone)), refusal: named + "none of its ACME solvers selects that name: "},
		{name: "no solver", files: workload(t).target(solvers("")), refusal: named + "none of its ACME solvers selects that name: "},
		{name: "a solver of no kind", files: workload(t).target(solvers("{}")), refusal: named + "the solver that selects that name is neither http01 nor dns01: "},
		{name: "a DNS that does not answer", files: workload(t).target(solvers(dns01)), zones: map[string]bool{"wc1.acme.example.io": false, "acme.example.io": true},
			refusal: named + "its dns01 solver needs the DNS zone of that name, which was not found (wc1.acme.example.io: asking nameserver 192.0.2.1:53 for its SOA record: it answered Refused): "},
		{name: "no zone", files: workload(t).target(solvers(dns01)), zones: map[string]bool{},
			refusal: named + "its dns01 solver needs the DNS zone of that name, which was not found (_acme-challenge.models.wc1.acme.example.io: asking for its zone: "},
		{name: "no resolver", files: workload(t).target(solvers(dns01)), refusal: named + "its dns01 solver needs the DNS zone of that name, and no DNS can be asked here: "},
		{name: "missing", files: workload(t), refusal: named + "it does not exist there: create it, or "},
		{name: "failing", files: workload(t), over: &wire{fail: []string{"/clusterissuers/"}}, refusal: named + "it could not be read (ClusterIssuer letsencrypt-giantswarm on cluster org-acme/wc1: reading: internalerror by the test): "},
		{name: "an unreadable cluster", files: snapshot(t), refusal: "ClusterIssuer letsencrypt-giantswarm: it must issue the certificate of models.wc1.acme.example.io, and the cluster cannot be read (Secret org-acme/wc1-kubeconfig: reading: it does not exist): "},
	} {
		t.Run(test.name, func(t *testing.T) {
			reader := test.files.reader(t, test.over, func(options *survey.Options) {
				if test.zones != nil {
					options.Resolver = &zones{known: test.zones}
				}
			})
			got, err := survey.Issuer(reader, t.Context(), acme, modelsHost)
			if test.refusal != "" {
				if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || !strings.HasPrefix(err.Error(), test.refusal) {
					t.Errorf("%v, want %q", err, test.refusal)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

func TestTheZoneIsLookedForUpwards(t *testing.T) {
	resolver := &zones{known: map[string]bool{"acme.example.io": true, "example.io": true}}
	reader := workload(t).target(solvers("{dns01: {}}")).reader(t, nil, func(options *survey.Options) { options.Resolver = resolver })
	if _, err := survey.Issuer(reader, t.Context(), acme, modelsHost); err != nil {
		t.Fatal(err)
	}
	want := []string{"_acme-challenge." + modelsHost, modelsHost, "wc1.acme.example.io", "acme.example.io"}
	if diff := cmp.Diff(want, resolver.asked); diff != "" {
		t.Error(diff)
	}
}

func TestAnIssuerThatMayNotBeRead(t *testing.T) {
	const bindings = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: admins}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: Group, name: "customer:acme:Admins"}, {kind: ServiceAccount, name: automation, namespace: flux}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: Group, name: readers}]
`
	const mark = "metadata: {name: wc1-values, namespace: org-acme}\ndata:\n  values.yaml: |\n    global:\n"
	composed := func() files {
		return workload(t).replace(t, wc1, mark, "metadata: {name: wc1-values, namespace: org-acme, labels: {app.kubernetes.io/managed-by: cluster-manager}}\ndata:\n  values.yaml: |\n    global:\n"+
			"      apps: {rbacBootstrap: {values: {bindings: [{role: cluster-admin, users: [jane@acme.example], groups: [\"customer:acme:Admins\"]}, {role: cluster-admin, namespaces: [x], users: [narrow]}, {role: view, users: [viewer]}]}}}\n")
	}
	const want = "ClusterIssuer letsencrypt-giantswarm on cluster org-acme/wc1: it must issue the certificate of models.wc1.acme.example.io, and you may not read it: ask for the right to get clusterissuers.cert-manager.io at cluster scope of "
	for _, test := range []struct {
		name   string
		files  files
		forbid []string
		whom   string
	}{
		{name: "both", files: composed().target(bindings), whom: "someone whom the cluster binds as cluster-admin (Group customer:acme:Admins, ServiceAccount flux/automation, User jane@acme.example)"},
		{name: "values alone", files: composed().target(bindings), forbid: []string{"/clusterrolebindings"}, whom: "someone whom the cluster binds as cluster-admin (Group customer:acme:Admins, User jane@acme.example)"},
		{name: "bindings alone", files: workload(t).target(bindings), whom: "someone whom the cluster binds as cluster-admin (Group customer:acme:Admins, ServiceAccount flux/automation)"},
		{name: "neither", files: composed().target(bindings), forbid: []string{"/clusterrolebindings", "/configmaps/wc1-values"}, whom: "someone whom the cluster binds as cluster-admin (who that is could not be read: every ClusterRoleBinding on cluster org-acme/wc1: reading: forbidden by the test; ConfigMap org-acme/wc1-values: reading: forbidden by the test)"},
		{name: "values of somebody else", files: composed().replace(t, wc1, "app.kubernetes.io/managed-by: cluster-manager}}", "app.kubernetes.io/managed-by: Helm}}").target(bindings), forbid: []string{"/clusterrolebindings"}, whom: "someone whom the cluster binds as cluster-admin (who that is could not be read: every ClusterRoleBinding on cluster org-acme/wc1: reading: forbidden by the test)"},
		{name: "nobody", files: workload(t), whom: "someone who administers the cluster (nobody is bound as cluster-admin where it was looked for)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			over := &wire{forbid: slices.Concat(test.forbid, []string{"/clusterissuers/"})}
			_, err := survey.Issuer(test.files.reader(t, over), t.Context(), acme, modelsHost)
			if clustermanager.ReasonOf(err) != clustermanager.ReasonRefused || err.Error() != want+test.whom {
				t.Errorf("%v\nwant %s", err, want+test.whom)
			}
		})
	}
}
