package managed

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"slices"
)

// Prefixes of ids. After it stand 52 characters of Crockford's base32 in lower case, a SHA-256.
const (
	PrefixCluster  = "kcl_"
	PrefixNodePool = "knp_"
)

// Labels that our objects carry at the provider; their values are our ids.
const (
	LabelCluster  = "better-compute-cluster"
	LabelNodePool = "better-compute-node-pool"
)

// AccessNamespace is the namespace of the service accounts that credentials are minted for.
const AccessNamespace = "better-compute-access"

// throwawayPool is the name of the node pool that only opens a cluster whose pools are all empty.
const throwawayPool = "bc-first"

// providerNameLength is how many characters of an id a provider's name takes: 120 bits.
const providerNameLength = 24

// crockford has no i, l, o and u.
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// ClusterID derives a cluster's id: the same tenant, caller and idempotency key give the same id, others another one.
func ClusterID(tenant, caller, idempotencyKey string) string {
	return derive(PrefixCluster, "cluster", tenant, caller, idempotencyKey)
}

// NodePoolID derives the id of a node pool that a call of its own made.
func NodePoolID(tenant, cluster, caller, idempotencyKey string) string {
	return derive(PrefixNodePool, "node pool", tenant, cluster, caller, idempotencyKey)
}

// FirstNodePoolID derives the id of a node pool that was made with its cluster. It is never that of [NodePoolID].
func FirstNodePoolID(cluster, name string) string {
	return derive(PrefixNodePool, "first node pool", cluster, name)
}

// derive hashes the parts, each framed by its length, so that no two lists of parts give the same bytes.
func derive(prefix string, parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		hash.Write([]byte(part))
	}
	return prefix + crockford.EncodeToString(hash.Sum(nil))
}

// ProviderName is the cluster's name at the provider: bc-k- and 24 characters of the id.
func ProviderName(cluster string) string {
	return "bc-k-" + cluster[len(PrefixCluster):min(len(cluster), len(PrefixCluster)+providerNameLength)]
}

// ServiceAccountName is the account on a cluster that speaks for a caller in a role, in [AccessNamespace]. Its
// ClusterRoleBinding has the same name.
func ServiceAccountName(identity string, role Role) string {
	sum := sha256.Sum256([]byte(identity))
	return "bc-u-" + hex.EncodeToString(sum[:8]) + "-" + string(role)
}

// ThrowawayPoolName is a name that no pool of the cluster has.
func ThrowawayPoolName(taken []string) string {
	name := throwawayPool
	for slices.Contains(taken, name) {
		name += "x"
	}
	return name
}
