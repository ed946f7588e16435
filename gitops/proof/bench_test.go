package proof

import (
	"fmt"
	"testing"
)

// BenchmarkProve measures a whole proof: two reads, two generated kustomizations, two builds, the verdict.
func BenchmarkProve(b *testing.B) {
	for _, objects := range []int{3, 40, 400, 1000} {
		b.Run(fmt.Sprintf("%d objects", objects), func(b *testing.B) {
			before := files{}
			var entries []string
			for i := range objects - 1 {
				name := fmt.Sprintf("o%d.yaml", i)
				entries = append(entries, name)
				before["clusters/wc1/"+name] = release(fmt.Sprintf("o%d", i))
			}
			before["clusters/wc1/kustomization.yaml"] = kustomization(entries...)
			after := before.with(pool).with(files{"clusters/wc1/kustomization.yaml": kustomization(append(entries, "cluster-manager")...)})
			in := proposal(before, after)
			for b.Loop() {
				if result, err := Prove(b.Context(), in); err != nil || !result.Proof.Built {
					b.Fatal(result.Proof, err)
				}
			}
		})
	}
}

// release is a HelmRelease of a usual size.
func release(name string) string {
	return fmt.Sprintf(`apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: %s
  namespace: org-acme
  labels:
    app.kubernetes.io/managed-by: someone
    giantswarm.io/cluster: wc1
spec:
  chartRef:
    kind: OCIRepository
    name: %[1]s
  interval: 10m
  targetNamespace: kube-system
  install: {remediation: {retries: 3}}
  upgrade: {remediation: {retries: 3}}
  values:
    replicas: 2
    resources:
      requests: {cpu: 100m, memory: 128Mi}
      limits: {memory: 256Mi}
    nodeSelector: {role: general}
    tolerations:
    - {key: dedicated, operator: Exists, effect: NoSchedule}
`, name)
}
