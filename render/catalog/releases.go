package catalog

import "strings"

// ReleaseChartURL is the OCI address, without a tag, of the chart that a release of the provider line is installed from.
// It is published beside the node pool's.
func ReleaseChartURL(provider string) string {
	url := loaded().GPUNodePool.URL
	return url[:strings.LastIndex(url, "/")+1] + "release-" + provider
}
