package managed

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
)

// check finds what no bound of one field tells: networks that are none, names and zones given twice, autoscaling bounds
// that cross. Stricter than the provider only where it would always refuse.
func (in *CreateInput) check([]FieldFault) []FieldFault {
	var found faults
	found.networks(in.AuthorizedNetworks)
	var names []string
	for i, pool := range in.NodePools {
		path := "nodePools[" + strconv.Itoa(i) + "]"
		names = append(names, pool.Name)
		found.pool(pool, path)
	}
	found.twice(names, "nodePools", ".name")
	return found
}

func (in *UpdateInput) check(shape []FieldFault) []FieldFault {
	var found faults
	if in.AuthorizedNetworks != nil {
		found.networks(*in.AuthorizedNetworks)
	}
	if len(shape) == 0 && in.Version == nil && in.ReleaseChannel == nil && in.AuthorizedNetworks == nil && in.Description == nil {
		found.add("", "nothing to change: name version, releaseChannel, authorizedNetworks or description")
	}
	return found
}

func (f *faults) pool(pool NodePoolInput, path string) {
	if bounds := pool.Autoscaling; bounds != nil && bounds.MinNodes > bounds.MaxNodes {
		f.add(path+".autoscaling.minNodes", "is above maxNodes")
	}
	f.twice(pool.Zones, path+".zones", "")
}

// twice finds what stands in a list a second time. Empty words are faults of their own already.
func (f *faults) twice(words []string, path, member string) {
	seen := map[string]bool{}
	for i, word := range words {
		if seen[word] && word != "" {
			f.add(path+"["+strconv.Itoa(i)+"]"+member, "is given twice")
		}
		seen[word] = true
	}
}

// networks takes IPv4 ranges without host bits.
func (f *faults) networks(ranges []string) {
	for i, text := range ranges {
		path := "authorizedNetworks[" + strconv.Itoa(i) + "]"
		prefix, err := netip.ParsePrefix(text)
		switch {
		case err != nil || !prefix.Addr().Is4():
			f.add(path, "must be an IPv4 range such as 10.0.0.0/8")
		case prefix != prefix.Masked():
			f.add(path, "has host bits: write %s", prefix.Masked())
		}
	}
}

// Hash is the SHA-256 of the canonical input, in hexadecimal: every field that was given, with the defaults filled in,
// null, an empty list and an empty map as absent. Two bodies of one hash want the same cluster.
func (in CreateInput) Hash() (string, error) {
	data, err := json.Marshal(in)
	if err != nil {
		return "", fmt.Errorf("%s: hashing: %w", Create, err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(data)), nil
}
