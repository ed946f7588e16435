package survey_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// webhookConfiguration is a document of one webhook.
func webhookConfiguration(kind, name, group, resource, caBundle string) string {
	authority := ""
	if caBundle != "" {
		authority = ", caBundle: " + caBundle
	}
	return fmt.Sprintf("\n---\n{apiVersion: admissionregistration.k8s.io/v1, kind: %s, metadata: {name: %s}, webhooks: [{name: %s.kserve, clientConfig: {service: {namespace: kserve, name: llmisvc}%s}, rules: [{apiGroups: [%q], resources: [%q]}]}]}\n",
		kind, name, name, authority, group, resource)
}

func endpoints(text string) string {
	return fmt.Sprintf("\n---\n{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: llmisvc-1, namespace: kserve, labels: {kubernetes.io/service-name: llmisvc}}, endpoints: %s}\n", text)
}

func TestWebhook(t *testing.T) {
	const validating, mutating = "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"
	good := webhookConfiguration(validating, "v", "serving.kserve.io", "llminferenceservices", "Q0E=")
	one := endpoints(`[{addresses: [10.0.0.1], conditions: {ready: true}}]`)
	state := func(change func(*clustermanager.Webhook)) *clustermanager.Webhook {
		made := &clustermanager.Webhook{
			Configurations: []string{"validatingwebhookconfigurations/v"}, Namespace: "kserve", Service: "llmisvc", Endpoints: new(1), Ready: new(true),
		}
		change(made)
		return made
	}
	ready := func(*clustermanager.Webhook) {}
	notReady := func(endpoints int, reason, message string) func(*clustermanager.Webhook) {
		return func(w *clustermanager.Webhook) {
			w.Endpoints, w.Ready, w.Reason, w.Message = &endpoints, new(false), reason, message
		}
	}
	for _, test := range []struct {
		name, target string
		refuse       map[string]int
		want         *clustermanager.Webhook
		unknown      string
		evidence     string
	}{
		{name: "ready", target: good + one, want: state(ready)},
		{name: "an endpoint that does not say", target: good + endpoints(`[{addresses: [10.0.0.1]}]`), want: state(ready)},
		{name: "an endpoint without addresses beside one", target: good + endpoints(`[{addresses: [], conditions: {ready: true}}, {addresses: [10.0.0.1]}]`), want: state(ready)},
		{name: "every resource of every group", target: webhookConfiguration(validating, "v", "*", "*", "Q0E=") + one, want: state(ready)},
		{name: "both kinds", target: good + webhookConfiguration(mutating, "m", "serving.kserve.io", "*", "Q0E=") + one, want: state(func(w *clustermanager.Webhook) {
			w.Configurations = []string{"mutatingwebhookconfigurations/m", "validatingwebhookconfigurations/v"}
		})},
		{name: "another group", target: webhookConfiguration(validating, "v", "apps", "*", "Q0E=") + one, evidence: "no configuration admits",
			want: &clustermanager.Webhook{Configurations: []string{}, Endpoints: new(0), Ready: new(false), Reason: "NoConfiguration", Message: "no configuration admits LLMInferenceServices"}},
		{name: "another resource", target: webhookConfiguration(validating, "v", "serving.kserve.io", "inferenceservices", "Q0E=") + one, evidence: "no configuration admits",
			want: &clustermanager.Webhook{Configurations: []string{}, Endpoints: new(0), Ready: new(false), Reason: "NoConfiguration", Message: "no configuration admits LLMInferenceServices"}},
		{name: "configurations unreadable", target: good + one, refuse: map[string]int{"/mutatingwebhookconfigurations": http.StatusForbidden},
			unknown: "every MutatingWebhookConfiguration on cluster org-acme/wc1: reading: forbidden by the test"},
		{name: "endpoints unreadable", target: good + one, refuse: map[string]int{"/endpointslices": http.StatusForbidden}, evidence: "not known to be ready",
			want: state(func(w *clustermanager.Webhook) {
				w.Endpoints, w.Ready, w.Message = nil, nil, "every EndpointSlice in kserve on cluster org-acme/wc1: reading: forbidden by the test"
			})},
		{name: "no endpoint", target: good, evidence: "Service kserve/llmisvc has no address", want: state(notReady(0, "NoEndpoints", "Service kserve/llmisvc has no address"))},
		{name: "none is ready", target: good + endpoints(`[{addresses: [10.0.0.1], conditions: {ready: false}}]`), evidence: "none is ready",
			want: state(notReady(0, "NoEndpoints", "Service kserve/llmisvc has 1 addresses, none is ready"))},
		{name: "no authority", target: webhookConfiguration(validating, "v", "serving.kserve.io", "*", "") + one, evidence: "NoCABundle",
			want: state(notReady(1, "NoCABundle", "no CA bundle in v.kserve of validatingwebhookconfigurations/v"))},
		{name: "several problems", target: webhookConfiguration(validating, "v", "serving.kserve.io", "*", ""), evidence: "NoEndpoints",
			want: state(notReady(0, "NoEndpoints", "Service kserve/llmisvc has no address; no CA bundle in v.kserve of validatingwebhookconfigurations/v"))},
	} {
		t.Run(test.name, func(t *testing.T) {
			controller := deployment("llm", "{control-plane: llmisvc-controller-manager}", "spec: {replicas: 1}")
			snapshot := wc1With("", controller+test.target)
			snapshot.refuse = test.refuse
			status := snapshot.status(t)
			if evidence := fmt.Sprint(status.Serving.Evidence); strings.Contains(evidence, "webhook of") != (test.evidence != "") || !strings.Contains(evidence, test.evidence) {
				t.Errorf("evidence %s", evidence)
			}
			if test.unknown != "" {
				same(t, test.unknown, status.ServingReadiness.Webhook.Reason())
				return
			}
			same(t, test.want, got(t, status.ServingReadiness.Webhook))
		})
	}
}

// gateway is a Gateway document with one listener.
func gateway(name, host, conditions, listenerConditions string) string {
	return fmt.Sprintf("\n---\n{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: %s, namespace: gw}, spec: {listeners: [{name: other, hostname: other.example}, {name: models, hostname: %q, tls: {certificateRefs: [{name: models-tls}]}}]}, status: {conditions: %s, listeners: [{name: models, conditions: %s}]}}\n",
		name, host, conditions, listenerConditions)
}

func certificate(status string) string {
	return fmt.Sprintf("\n---\n{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: models, namespace: gw}, spec: {secretName: models-tls, dnsNames: [models.acme.example]}, status: %s}\n", status)
}

const (
	isProgrammed = `[{type: Programmed, status: "True"}]`
	isFine       = `[{type: Programmed, status: "True"}, {type: ResolvedRefs, status: "True"}]`
	challenge    = "\n---\n{apiVersion: acme.cert-manager.io/v1, kind: Challenge, metadata: {name: %s, namespace: gw}, spec: {type: HTTP-01, dnsName: %s}, status: {state: %s, reason: \"no\\n route\"}}\n"
)

func TestModelsGateway(t *testing.T) {
	host := "models.acme.example"
	made := func(change func(*clustermanager.ModelsGateway)) *clustermanager.ModelsGateway {
		made := &clustermanager.ModelsGateway{
			Name: "models", Namespace: "gw", Ready: true,
			Listener: clustermanager.GatewayListener{Name: "models", Hostname: host, Programmed: true, ResolvedRefs: true},
		}
		change(made)
		return made
	}
	ready := func(*clustermanager.ModelsGateway) {}
	with := func(certificate clustermanager.GatewayCertificate, reason, message string) func(*clustermanager.ModelsGateway) {
		certificate.Name, certificate.Namespace = "models", "gw"
		return func(g *clustermanager.ModelsGateway) {
			g.Certificate, g.Ready, g.Reason, g.Message = &certificate, reason == "", reason, message
		}
	}
	blocked := func(programmed, resolved bool, listenerReason, reason, message string) func(*clustermanager.ModelsGateway) {
		return func(g *clustermanager.ModelsGateway) {
			g.Listener.Programmed, g.Listener.ResolvedRefs, g.Listener.Reason = programmed, resolved, listenerReason
			g.Ready, g.Reason, g.Message = false, reason, message
		}
	}
	for _, test := range []struct {
		name, target string
		// slice has the slice serve below another domain.
		slice  string
		refuse map[string]int
		want   *clustermanager.ModelsGateway
	}{
		{name: "none"},
		{name: "ready", target: gateway("models", host, isProgrammed, isFine), want: made(ready)},
		{name: "for another host", target: gateway("models", "other.acme.example", isProgrammed, isFine)},
		{name: "the first", target: gateway("z", host, isProgrammed, isFine) + gateway("models", host, isProgrammed, isFine), want: made(ready)},
		{name: "of the slice's domain", slice: "acme.example", target: gateway("a", "models.other.example", isProgrammed, isFine) + gateway("models", host, isProgrammed, isFine), want: made(ready)},
		{name: "not of the slice's domain", slice: "else.example", target: gateway("models", host, isProgrammed, isFine)},
		{name: "not programmed", target: gateway("models", host, `[{type: Programmed, status: "False", reason: AddressNotAssigned, message: none}]`, isFine),
			want: made(blocked(true, true, "", "AddressNotAssigned", "none"))},
		{name: "without a condition", target: gateway("models", host, `[]`, isFine), want: made(blocked(true, true, "", "Pending", ""))},
		{name: "listener without conditions", target: gateway("models", host, isProgrammed, `[]`), want: made(blocked(false, false, "Pending", "Pending", "listener models has no conditions yet"))},
		{name: "listener without references", target: gateway("models", host, isProgrammed, `[{type: Programmed, status: "True"}, {type: ResolvedRefs, status: "False", reason: InvalidCertificateRef, message: no Secret}]`),
			want: made(blocked(true, false, "InvalidCertificateRef", "InvalidCertificateRef", "no Secret"))},
		{name: "listener not programmed", target: gateway("models", host, isProgrammed, `[{type: Programmed, status: "False", reason: Invalid, message: bad}, {type: ResolvedRefs, status: "True"}]`),
			want: made(blocked(false, true, "Invalid", "Invalid", "bad"))},
		{name: "its own reason before the listener's", target: gateway("models", host, `[{type: Programmed, status: "False", reason: Own}]`, `[]`),
			want: made(blocked(false, false, "Pending", "Own", ""))},
		{name: "certificate ready", target: gateway("models", host, isProgrammed, isFine) + certificate(`{conditions: [{type: Ready, status: "True"}]}`),
			want: made(with(clustermanager.GatewayCertificate{Ready: true}, "", ""))},
		{name: "certificate not ready", target: gateway("models", host, isProgrammed, isFine) + certificate(`{conditions: [{type: Ready, status: "False", reason: DoesNotExist, message: issuing}]}`),
			want: made(with(clustermanager.GatewayCertificate{Reason: "DoesNotExist", Message: "issuing"}, "DoesNotExist", "Certificate gw/models: issuing"))},
		{name: "certificate without a condition and with a challenge", target: gateway("models", host, isProgrammed, isFine) + certificate(`{}`) +
			fmt.Sprintf(challenge, "a", "models.acme.example", "valid") + fmt.Sprintf(challenge, "b", "other.example", "pending") + fmt.Sprintf(challenge, "c", "models.acme.example", "pending"),
			want: made(with(clustermanager.GatewayCertificate{Reason: "Pending", Challenge: "HTTP-01 pending: no route"}, "Pending", "Certificate gw/models: challenge HTTP-01 pending: no route"))},
		{name: "certificate with a message and a challenge", target: gateway("models", host, isProgrammed, isFine) + certificate(`{conditions: [{type: Ready, status: "False", reason: DoesNotExist, message: issuing}]}`) + fmt.Sprintf(challenge, "c", "models.acme.example", "pending"),
			want: made(with(clustermanager.GatewayCertificate{Reason: "DoesNotExist", Message: "issuing", Challenge: "HTTP-01 pending: no route"}, "DoesNotExist", "Certificate gw/models: issuing; challenge HTTP-01 pending: no route"))},
		{name: "a listener's reason before the certificate's", target: gateway("models", host, isProgrammed, `[]`) + certificate(`{}`), want: made(func(g *clustermanager.ModelsGateway) {
			blocked(false, false, "Pending", "Pending", "listener models has no conditions yet")(g)
			g.Certificate = &clustermanager.GatewayCertificate{Name: "models", Namespace: "gw", Reason: "Pending"}
		})},
		{name: "a certificate of another namespace", target: gateway("models", host, isProgrammed, isFine) + strings.Replace(certificate(`{}`), "namespace: gw", "namespace: other", 1), want: made(ready)},
		{name: "a certificate for another Secret", target: gateway("models", host, isProgrammed, isFine) + strings.Replace(certificate(`{}`), "models-tls", "other-tls", 1), want: made(ready)},
		{name: "certificates unreadable", target: gateway("models", host, isProgrammed, isFine) + certificate(`{}`), refuse: map[string]int{"/certificates$": http.StatusForbidden},
			want: made(func(g *clustermanager.ModelsGateway) {
				g.CertificateNote = "every Certificate in gw on cluster org-acme/wc1: reading: forbidden by the test"
			})},
	} {
		t.Run(test.name, func(t *testing.T) {
			management := ""
			if test.slice != "" {
				management = release("org-acme", "wc1-agent-platform", owned, "{values: {global: {domain: "+test.slice+"}}}")
			}
			snapshot := wc1With(management, discoveryConfig+test.target)
			snapshot.refuse = test.refuse
			same(t, test.want, got(t, snapshot.status(t).ServingReadiness.ModelsGateway))
		})
	}
	unread := wc1With("", discoveryConfig)
	unread.refuse = map[string]int{"/gateways": http.StatusForbidden}
	same(t, "every Gateway on cluster org-acme/wc1: reading: forbidden by the test", unread.status(t).ServingReadiness.ModelsGateway.Reason())
}
