package offline

import "testing"

func TestPlural(t *testing.T) {
	for kind, want := range map[string]string{
		"Gateway": "gateways", "GitRepository": "gitrepositories", "ClusterPolicy": "clusterpolicies",
		"StorageClass": "storageclasses", "KubeadmControlPlane": "kubeadmcontrolplanes", "Box": "boxes",
		"Endpoints": "endpoints", "AWSManagedControlPlane": "awsmanagedcontrolplanes", "Ingress": "ingresses",
	} {
		if got := plural(kind); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}
