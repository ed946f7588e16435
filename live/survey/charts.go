package survey

import (
	"context"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Charts reads what a decision needs of the charts in the registry. It is handed in, since it knows which version of a
// chart brings what.
type Charts interface {
	// Slice reads the charts of a slice: at the version that a platform at platformVersion gets, or the pinned one;
	// gatewayAPI says that the slice composes the Gateway API's definitions. A version that no slice is composed of is a
	// *clustermanager.Refusal.
	Slice(ctx context.Context, platformVersion, pin string, gatewayAPI bool) (clustermanager.SliceCharts, error)
	// Tags are the tags of the chart release-<provider>.
	Tags(ctx context.Context, provider string) ([]string, error)
	// Release reads the chart release-<provider> at a version.
	Release(ctx context.Context, provider, version string) (clustermanager.ReleaseChart, error)
}
