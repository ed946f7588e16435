package managed

import (
	"fmt"

	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// NewKubeconfig writes a kubeconfig of one cluster, one user with a token and one context, which is the current one.
// The authority is the PEM of the control plane's CA.
func NewKubeconfig(cluster *Cluster, account string, token clustermanager.Secret) (clustermanager.Secret, error) {
	type named map[string]any
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1",
		"kind":       "Config",
		"clusters": []named{{"name": cluster.Name, "cluster": named{
			"server": "https://" + cluster.Endpoint, "certificate-authority-data": []byte(cluster.Authority),
		}}},
		"users":           []named{{"name": account, "user": named{"token": token.Reveal()}}},
		"contexts":        []named{{"name": cluster.Name, "context": named{"cluster": cluster.Name, "user": account}}},
		"current-context": cluster.Name,
	})
	if err != nil {
		return clustermanager.Secret{}, fmt.Errorf("%s: writing the kubeconfig: %w", cluster.ID, err)
	}
	return clustermanager.NewSecret(string(text)), nil
}
