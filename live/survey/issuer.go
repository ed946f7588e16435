package survey

import (
	"context"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Resolver asks the DNS.
type Resolver interface {
	// IsZone says whether a name is the top of a DNS zone. A name that does not exist is none; an answer that leaves it
	// open is an error.
	IsZone(ctx context.Context, name string) (bool, error)
}

const (
	solverHTTP01 = "http01"
	solverDNS01  = "dns01"
	// challengeLabel begins the name below which a dns01 challenge is put.
	challengeLabel = "_acme-challenge."
)

// issuer checks that the ClusterIssuer of the settings can issue a certificate for the host, on the cluster's own API
// server. All that speaks against it is a *clustermanager.Refusal.
func (r *Reader) issuer(ctx context.Context, cluster clustermanager.Cluster, host string) (clustermanager.CertificateIssuer, error) {
	check := issuerCheck{host: host, issuer: clustermanager.CertificateIssuer{Name: r.options.Settings.ModelsCertificateIssuer}}
	check.what = clusterIssuerNoun.reference("", check.issuer.Name).String()
	target, err := r.target(ctx, cluster)
	if err != nil {
		return check.issuer, check.refuse("the cluster cannot be read (%s)", "make the cluster readable, then call again", err)
	}
	check.what += target.where
	object, err := target.get(ctx, clusterIssuerNoun, "", check.issuer.Name)
	switch {
	case apierrors.IsNotFound(err):
		return check.issuer, check.refuse("it does not exist there", "create it, or name one that exists with the setting models-certificate-issuer")
	case apierrors.IsForbidden(err):
		return check.issuer, check.refuse("you may not read it", "ask for the right to get clusterissuers.cert-manager.io at cluster scope of "+r.clusterAdmins(ctx, target, cluster))
	case err != nil:
		return check.issuer, check.refuse("it could not be read (%s)", "call again", err)
	}
	acme := mapAt(object.Object, "spec", "acme")
	if acme == nil {
		return check.issuer, nil
	}
	return check.solve(ctx, r.options.Resolver, mapsAt(acme, "solvers"))
}

// issuerCheck is the check of one issuer for one host.
type issuerCheck struct {
	// what names the ClusterIssuer and the cluster it is on.
	what, host string
	issuer     clustermanager.CertificateIssuer
}

// refuse says what speaks against the issuer, and the way out.
func (c *issuerCheck) refuse(cause, wayOut string, arguments ...any) error {
	reason := clustermanager.Refuse(cause, arguments...).Message
	return clustermanager.Refuse("%s: it must issue the certificate of %s, and %s: %s", c.what, c.host, reason, wayOut)
}

// solve finds the solver of an ACME issuer that answers for the host, and of a dns01 solver the zone.
func (c *issuerCheck) solve(ctx context.Context, resolver Resolver, solvers []map[string]any) (clustermanager.CertificateIssuer, error) {
	solver := solverFor(c.host, solvers)
	switch {
	case solver == nil:
		return c.issuer, c.refuse("none of its ACME solvers selects that name", "give it a solver for the name, such as one without a selector")
	case solver[solverHTTP01] != nil:
		c.issuer.Solver = solverHTTP01
		return c.issuer, nil
	case solver[solverDNS01] == nil:
		return c.issuer, c.refuse("the solver that selects that name is neither http01 nor dns01", "give it a solver of one of these kinds")
	case resolver == nil:
		return c.issuer, c.refuse("its dns01 solver needs the DNS zone of that name, and no DNS can be asked here", "call where the DNS can be asked, or name an issuer with an http01 solver with the setting models-certificate-issuer")
	}
	zone, err := zoneAbove(ctx, resolver, challengeLabel+c.host)
	if err != nil {
		return c.issuer, c.refuse("its dns01 solver needs the DNS zone of that name, which was not found (%s)", "mend the DNS, then call again", err)
	}
	c.issuer.Solver, c.issuer.Zone = solverDNS01, zone
	return c.issuer, nil
}

// solverFor chooses as cert-manager does: a solver that lists the host, else the one with the zone of most labels above
// it, else one without a selector; of equals the first. A solver that selects by labels is never chosen, since the
// labels of the certificate are not ours to promise. nil: none selects the host.
func solverFor(host string, solvers []map[string]any) map[string]any {
	var chosen map[string]any
	best := -1
	for _, solver := range solvers {
		if rank := rankOf(host, mapAt(solver, "selector")); rank > best {
			chosen, best = solver, rank
		}
	}
	return chosen
}

// exactName ranks a solver that lists the host above every zone: a name has no more than 127 labels.
const exactName = 128

// rankOf ranks a selector for a host; -1: it does not select it.
func rankOf(host string, selector map[string]any) int {
	rank := 0
	if len(mapAt(selector, "matchLabels")) > 0 {
		return -1
	}
	if names, _, _ := unstructured.NestedStringSlice(selector, "dnsNames"); len(names) > 0 {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, host) }) {
			return -1
		}
		rank += exactName
	}
	if zones, _, _ := unstructured.NestedStringSlice(selector, "dnsZones"); len(zones) > 0 {
		labels := -1
		for _, zone := range zones {
			if isBelow(host, zone) {
				labels = max(labels, strings.Count(zone, ".")+1)
			}
		}
		if labels < 0 {
			return -1
		}
		rank += labels
	}
	return rank
}

// isBelow says whether a name is a zone's, or below it.
func isBelow(name, zone string) bool {
	return strings.HasSuffix("."+strings.ToLower(name), "."+strings.ToLower(zone))
}

// zoneAbove walks from a name up to the first that is the top of a zone.
func zoneAbove(ctx context.Context, resolver Resolver, name string) (string, error) {
	for above, more := name, true; more; _, above, more = strings.Cut(above, ".") {
		is, err := resolver.IsZone(ctx, above)
		if err != nil {
			return "", err
		}
		if is {
			return above, nil
		}
	}
	return "", errors.New(name + ": asking for its zone: no name above it has a SOA record")
}
