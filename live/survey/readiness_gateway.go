package survey

import (
	"cmp"
	"context"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clustermanager "github.com/clustermanager/cluster-manager"
)

var (
	gatewayNoun     = noun{"Gateway", schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"}}
	certificateNoun = noun{"Certificate", schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}}
	challengeNoun   = noun{"Challenge", schema.GroupVersionResource{Group: "acme.cert-manager.io", Version: "v1", Resource: "challenges"}}
)

const (
	modelsHostPrefix = "models."

	conditionProgrammed   = "Programmed"
	conditionResolvedRefs = "ResolvedRefs"
	reasonPending         = "Pending"
)

// modelsGateways are the Gateways of the target, of which one may listen for the models host.
func (r *Reader) modelsGateways(ctx context.Context, cluster clustermanager.Cluster) list {
	return r.onTarget(ctx, cluster, gatewayNoun, "")
}

// modelsGateway is the first Gateway with a listener for the models host: that of the domain, or without one any.
// Nil: there is none.
func (r *Reader) modelsGateway(ctx context.Context, cluster clustermanager.Cluster, gateways []unstructured.Unstructured, domain string) *clustermanager.ModelsGateway {
	for _, gateway := range sortedByName(gateways) {
		listener := modelsListener(&gateway, domain)
		if listener == nil {
			continue
		}
		made := gatewayOf(&gateway, listener)
		secret := listenerSecret(listener)
		if secret == "" {
			return &made
		}
		certificates, challenges := r.certificates(ctx, cluster, gateway.GetNamespace())
		withCertificate(&made, secret, certificates, challenges)
		return &made
	}
	return nil
}

// certificates are those of a namespace of the target, and its ACME challenges.
func (r *Reader) certificates(ctx context.Context, cluster clustermanager.Cluster, namespace string) (certificates, challenges list) {
	target, err := r.target(ctx, cluster)
	if err != nil {
		unread := clustermanager.Read[[]unstructured.Unstructured](nil, err)
		return unread, unread
	}
	var reads errgroup.Group
	reads.Go(func() error {
		certificates = clustermanager.Read(target.list(ctx, certificateNoun, namespace, metav1.ListOptions{}))
		return nil
	})
	reads.Go(func() error {
		challenges = clustermanager.Read(target.list(ctx, challengeNoun, namespace, metav1.ListOptions{}))
		return nil
	})
	_ = reads.Wait()
	return certificates, challenges
}

// modelsListener is the first listener for the models host of the domain, or without one for any; nil: there is none.
func modelsListener(gateway *unstructured.Unstructured, domain string) map[string]any {
	for _, listener := range mapsAt(gateway.Object, "spec", "listeners") {
		host := textAt(listener, "hostname")
		if host == modelsHostPrefix+domain || (domain == "" && strings.HasPrefix(host, modelsHostPrefix)) {
			return listener
		}
	}
	return nil
}

// listenerSecret is the name of the Secret in the Gateway's namespace that a listener terminates TLS with.
func listenerSecret(listener map[string]any) string {
	for _, reference := range mapsAt(listener, "tls", "certificateRefs") {
		if kind := textAt(reference, "kind"); kind == "" || kind == secretNoun.kind {
			return textAt(reference, "name")
		}
	}
	return ""
}

// gatewayOf is the Gateway's own state: Programmed, unless its listener is not.
func gatewayOf(gateway *unstructured.Unstructured, listener map[string]any) clustermanager.ModelsGateway {
	programmed := conditionOf(gateway, conditionProgrammed)
	made := clustermanager.ModelsGateway{
		Name: gateway.GetName(), Namespace: gateway.GetNamespace(), Ready: programmed.isTrue(),
		Listener: clustermanager.GatewayListener{Name: textAt(listener, "name"), Hostname: textAt(listener, "hostname")},
	}
	if !made.Ready {
		made.Reason, made.Message = cmp.Or(programmed.reason, reasonPending), programmed.message
	}
	var conditions []map[string]any
	for _, status := range mapsAt(gateway.Object, "status", "listeners") {
		if textAt(status, "name") == made.Listener.Name {
			conditions = mapsAt(status, "conditions")
		}
	}
	resolved, own := conditionIn(conditions, conditionResolvedRefs), conditionIn(conditions, conditionProgrammed)
	made.Listener.ResolvedRefs, made.Listener.Programmed = resolved.isTrue(), own.isTrue()
	switch {
	case resolved.status == "" || own.status == "":
		made.Listener.Reason = reasonPending
		block(&made, reasonPending, "listener "+made.Listener.Name+" has no conditions yet")
	case !resolved.isTrue():
		made.Listener.Reason = resolved.reason
		block(&made, resolved.reason, resolved.message)
	case !own.isTrue():
		made.Listener.Reason = own.reason
		block(&made, own.reason, own.message)
	}
	return made
}

// block takes the readiness off a Gateway that is ready; one that is not keeps its reason.
func block(gateway *clustermanager.ModelsGateway, reason, message string) {
	if gateway.Ready {
		gateway.Ready, gateway.Reason, gateway.Message = false, reason, message
	}
}

// withCertificate adds the Certificate that fills the listener's Secret. One that is not ready takes the readiness off;
// none, and one that cannot be looked for, does not.
func withCertificate(gateway *clustermanager.ModelsGateway, secret string, certificates, challenges list) {
	gateway.CertificateNote = certificates.Reason()
	for _, object := range sortedByName(certificates.Or(nil)) {
		if textAt(object.Object, "spec", "secretName") != secret {
			continue
		}
		ready := conditionOf(&object, conditionReady)
		certificate := clustermanager.GatewayCertificate{
			Name: object.GetName(), Namespace: object.GetNamespace(), Ready: ready.isTrue(), Challenge: pendingChallenge(&object, challenges.Or(nil)),
		}
		if !certificate.Ready {
			certificate.Reason, certificate.Message = cmp.Or(ready.reason, reasonPending), ready.message
			message := certificate.Message
			if certificate.Challenge != "" {
				message = strings.TrimPrefix(message+"; challenge "+certificate.Challenge, "; ")
			}
			block(gateway, certificate.Reason, "Certificate "+nameOf(&object).String()+": "+message)
		}
		gateway.Certificate = &certificate
		return
	}
}

// pendingChallenge is the first ACME challenge for one of the certificate's names that is not done: <type> <state>:
// <reason>.
func pendingChallenge(certificate *unstructured.Unstructured, challenges []unstructured.Unstructured) string {
	names, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	for _, challenge := range sortedByName(challenges) {
		state := textAt(challenge.Object, "status", "state")
		if state == "valid" || !containsHost(names, textAt(challenge.Object, "spec", "dnsName")) {
			continue
		}
		text := strings.TrimSpace(textAt(challenge.Object, "spec", "type") + " " + cmp.Or(state, "pending"))
		if reason := clustermanager.OneLine(textAt(challenge.Object, "status", "reason"), 0); reason != "" {
			text += ": " + reason
		}
		return text
	}
	return ""
}

// containsHost says whether a host is among a certificate's names. A challenge names a wildcard without its asterisk.
func containsHost(names []string, host string) bool {
	for _, name := range names {
		if strings.TrimPrefix(name, "*.") == host {
			return true
		}
	}
	return false
}
