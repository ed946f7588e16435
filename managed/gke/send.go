package gke

import (
	"context"
	"fmt"

	container "google.golang.org/api/container/v1"

	"github.com/clustermanager/cluster-manager/managed"
)

// Send sends the one write of a pass, and says what the provider made of it. The call has ended [managed.CallDeadline] after
// its beginning; a pass that must end by then hands in a context that does.
func (p *Provider) Send(ctx context.Context, account managed.Account, row managed.Cluster, write managed.Write) managed.Answer {
	ctx, cancel := context.WithTimeout(ctx, managed.CallDeadline)
	defer cancel()
	answer := managed.Answer{Write: write, Verdict: managed.Later}
	client, err := p.client(ctx, account)
	if err != nil {
		// Nothing was sent: the account has no credentials now.
		return answer
	}
	operation, err := client.send(ctx, account, &row, write)
	answer.Verdict, answer.Message = judge(write.Kind, err)
	if err == nil {
		answer.Operation = operation.Name
	}
	return answer
}

func (c *client) send(ctx context.Context, account managed.Account, row *managed.Cluster, write managed.Write) (*container.Operation, error) {
	name := clusterName(account, row)
	switch write.Kind {
	case managed.CreateCluster:
		return c.api.Clusters.Create(parent(account, row.Location), createBody(account, row, write.Pool)).Context(ctx).Do()
	case managed.UpdateCluster:
		return c.api.Clusters.Update(name, updateBody(account, row, write.Change)).Context(ctx).Do()
	case managed.DeleteCluster:
		return c.api.Clusters.Delete(name).Context(ctx).Do()
	case managed.CreatePool:
		pool, found := poolOf(row, write.Pool)
		if !found {
			return nil, fmt.Errorf("%s: it has no node pool %s", row.ID, write.Pool)
		}
		body := &container.CreateNodePoolRequest{NodePool: poolBody(row, pool)}
		return c.api.Clusters.NodePools.Create(name, body).Context(ctx).Do()
	case managed.DeleteThrowaway:
		return c.api.Clusters.NodePools.Delete(name + "/nodePools/" + write.Name).Context(ctx).Do()
	}
	return nil, fmt.Errorf("%s: %s is no write of this provider", row.ID, write.Kind)
}
