package gke

import (
	"context"
	"fmt"
	"slices"
	"strings"

	container "google.golang.org/api/container/v1"

	"github.com/clustermanager/cluster-manager/managed"
)

// Look is what the provider shows of a record: the operation that it names, and after it the cluster, so that the cluster is
// never older than the end of its operation. What could not be asked makes the whole look unknown.
func (p *Provider) Look(ctx context.Context, account managed.Account, row managed.Cluster) managed.Observed {
	ctx, cancel := context.WithTimeout(ctx, managed.CallDeadline)
	defer cancel()
	client, err := p.client(ctx, account)
	if err != nil {
		return managed.Unreachable(err.Error())
	}
	var operation *managed.OperationStatus
	if row.Operation != nil {
		operation, err = client.operation(ctx, account, row.Location, row.Operation.Name)
		if err != nil {
			return managed.Unreachable(fmt.Sprintf("%s: looking at its operation: %s", row.ID, reason(err)))
		}
	}
	of, err := client.api.Clusters.Get(clusterName(account, &row)).Context(ctx).Do()
	switch {
	case isNotFound(err):
		return managed.Seen(nil, operation)
	case err != nil:
		return managed.Unreachable(fmt.Sprintf("%s: looking at it: %s", row.ID, reason(err)))
	}
	return managed.Seen(shown(of), operation)
}

// operation is an operation as it is now. One that the provider knows no more is lost.
func (c *client) operation(ctx context.Context, account managed.Account, location, name string) (*managed.OperationStatus, error) {
	of, err := c.api.Operations.Get(parent(account, location) + "/operations/" + name).Context(ctx).Do()
	switch {
	case isNotFound(err):
		return &managed.OperationStatus{Name: name, Lost: true}, nil
	case err != nil:
		return nil, err
	}
	return progress(of), nil
}

// List is what one call shows of all clusters of an account, in all locations.
func (p *Provider) List(ctx context.Context, account managed.Account) (managed.Listing, error) {
	ctx, cancel := context.WithTimeout(ctx, managed.CallDeadline)
	defer cancel()
	listing := managed.Listing{Clusters: map[managed.Spot]*managed.ProviderCluster{}}
	client, err := p.client(ctx, account)
	if err != nil {
		return listing, err
	}
	answer, err := client.api.Clusters.List(parent(account, "-")).Context(ctx).Do()
	if err != nil {
		return listing, accountFault(account, "listing its clusters", reason(err))
	}
	for _, of := range answer.Clusters {
		listing.Clusters[managed.Spot{Location: of.Location, Name: of.Name}] = shown(of)
	}
	listing.Missing = answer.MissingZones
	return listing, nil
}

// Versions are what the provider offers in a location, newest first, with the channels that it has there.
func (p *Provider) Versions(ctx context.Context, account managed.Account, location string) (managed.VersionsAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, managed.CallDeadline)
	defer cancel()
	client, err := p.client(ctx, account)
	if err != nil {
		return managed.VersionsAnswer{}, err
	}
	of, err := client.api.GetServerConfig(parent(account, location)).Context(ctx).Do()
	if err != nil {
		return managed.VersionsAnswer{}, accountFault(account, "asking for the versions of "+location, reason(err))
	}
	return versions(of), nil
}

func versions(of *container.ServerConfig) managed.VersionsAnswer {
	answer := managed.VersionsAnswer{
		DefaultVersion: of.DefaultClusterVersion, ValidVersions: newestFirst(of.ValidMasterVersions),
		Channels: map[managed.Channel]managed.ChannelVersion{},
	}
	for _, channel := range of.Channels {
		name := managed.Channel(strings.ToLower(channel.Channel))
		if slices.Contains(managed.Channels(), name) {
			answer.Channels[name] = managed.ChannelVersion{DefaultVersion: channel.DefaultVersion, ValidVersions: newestFirst(channel.ValidVersions)}
		}
	}
	return answer
}

func newestFirst(versions []string) []string {
	sorted := append([]string{}, versions...)
	slices.SortStableFunc(sorted, func(some, other string) int { return managed.CompareVersions(other, some) })
	return sorted
}
