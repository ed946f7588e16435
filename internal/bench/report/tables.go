package main

// table is the part of a report about one benchmark.
type table struct {
	benchmark, title, text string
	columns                []column
	claims                 []claim
}

// column is a unit as a table shows it.
type column struct{ unit, title string }

// claim is a figure to beat: at most or at least the limit.
type claim struct {
	text  string
	value func(*results) (float64, bool)
	limit float64
	least bool
}

var (
	timeColumn   = column{"ns/op", "time"}
	cpuColumn    = column{"cpu-ns/op", "CPU"}
	peakColumn   = column{"peak-bytes", "peak memory"}
	allocColumns = []column{{"B/op", "allocated"}, {"allocs/op", "allocations"}}
)

// ofLarge is one median of ours in the large repository.
func ofLarge(unit string) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) { return r.median(large+"ours", unit) }
}

// ratio is one median over another.
func ratio(name, unit, over, overUnit string) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) {
		above, found := r.median(name, unit)
		below, both := r.median(over, overUnit)
		return above / below, found && both && below != 0
	}
}

// slope is the difference of two medians over a number of steps.
func slope(name, from, unit string, steps float64) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) {
		above, found := r.median(name, unit)
		below, both := r.median(from, unit)
		return (above - below) / steps, found && both
	}
}

const (
	small      = "Propose/files=1000/latency=0s/way="
	medium     = "Propose/files=10000/latency=0s/way="
	mediumSlow = "Propose/files=10000/latency=30ms/way="
	large      = "Propose/files=100000/latency=0s/way="
)

var tables = []table{
	{
		benchmark: "Propose", title: "B1: a whole proposal",
		text: "`create_node_pool` in mode commit: survey of an offline installation, plan, partial fetch, files, sealed Secret, proof, push, pull " +
			"request. The peers clone at depth 1 (sparse: `--filter=blob:none --sparse` and the cluster's directory), write the same files, run " +
			"`sops`, commit and push; they prove nothing and open no pull request. Both speak to the same `git http-backend` on loopback, over " +
			"a link that counts bytes and, in one part, takes 30 ms for a round trip; TLS is left out. Ours has no connection when it begins. " +
			"\"From the fetch on\" is the call without survey and plan, and the whole of a peer. Memory of ours is the peak over the idle process, " +
			"of a peer that of its largest process. \"flat\" has all 10,000 clusters in one directory, whose tree alone is 360 KB.",
		columns: []column{
			timeColumn, {"git-ns/op", "from the fetch on"}, cpuColumn, peakColumn, {"idle-bytes", "idle"}, {"down-bytes/op", "down"}, {"up-bytes/op", "up"},
			{"fetched-bytes/op", "git's answers"}, {"git-requests/op", "git requests"}, {"api-requests/op", "API calls"},
		},
		claims: []claim{
			{text: "from the fetch on, over the sparse clone, 10,000 files: ≤ 0.5", value: ratio(medium+"ours", "git-ns/op", medium+"sparse", "ns/op"), limit: 0.5},
			{text: "the same with 30 ms of latency: ≤ 0.5", value: ratio(mediumSlow+"ours", "git-ns/op", mediumSlow+"sparse", "ns/op"), limit: 0.5},
			{text: "the same, 100,000 files: ≤ 0.5", value: ratio(large+"ours", "git-ns/op", large+"sparse", "ns/op"), limit: 0.5},
			{text: "time from the fetch on, 100,000 files over 1,000: ≤ 1.2", value: ratio(large+"ours", "git-ns/op", small+"ours", "git-ns/op"), limit: 1.2},
			{text: "requests, 100,000 files over 1,000: ≤ 1.2", value: ratio(large+"ours", "git-requests/op", small+"ours", "git-requests/op"), limit: 1.2},
			{text: "bytes of git's answers, 100,000 files over 1,000: ≤ 1.2", value: ratio(large+"ours", "fetched-bytes/op", small+"ours", "fetched-bytes/op"), limit: 1.2},
			{text: "bytes of git's answers, 100,000 files: ≤ 65,536", value: ofLarge("fetched-bytes/op"), limit: 64 << 10},
			{text: "API calls: ≤ 5", value: ofLarge("api-requests/op"), limit: 5},
			{text: "peak memory over idle, in MiB: ≤ 64", value: inMiB(ofLarge("peak-bytes")), limit: 64},
			{text: "files left on the disk: 0", value: ofLarge("files-left"), limit: 0},
		},
	},
	{
		benchmark: "TreeEdit", title: "B2: editing the tree",
		text: "Staging four files six directories deep. Ours has the trees on the way at hand, as in a call. git: `read-tree`, `hash-object -w`, " +
			"`update-index`, `write-tree` with an index of its own in the bare repository. go-git: `Worktree.Add` of the four in a clone at depth 1 in " +
			"memory, which makes no tree yet.",
		columns: append([]column{timeColumn, cpuColumn, peakColumn}, allocColumns...),
		claims: []claim{
			{text: "`Worktree.Add` over ours, 10,000 files: ≥ 100", value: ratio("TreeEdit/files=10000/way=go-git", "ns/op", "TreeEdit/files=10000/way=ours", "ns/op"), limit: 100, least: true},
			{text: "git over ours, 10,000 files: ≥ 5", value: ratio("TreeEdit/files=10000/way=git", "ns/op", "TreeEdit/files=10000/way=ours", "ns/op"), limit: 5, least: true},
			{text: "ours, 100,000 files over 1,000: ≤ 1.5", value: ratio("TreeEdit/files=100000/way=ours", "ns/op", "TreeEdit/files=1000/way=ours", "ns/op"), limit: 1.5},
		},
	},
	{
		benchmark: "Prove", title: "B3: writing and proving",
		text: "Files of a plan of two objects, then the Kustomization's path as Flux builds it, before and after, and the difference object by object. " +
			"The peer is `kustomize build` of both, one after the other, from a disk; it compares nothing. Both give the same objects.",
		columns: append([]column{timeColumn, cpuColumn, peakColumn}, allocColumns...),
		claims: []claim{
			{text: "ours over the peer, 40 objects: ≤ 0.3", value: ratio("Prove/objects=40/way=ours", "ns/op", "Prove/objects=40/way=kustomize", "ns/op"), limit: 0.3},
			{text: "ours over the peer, 1,000 objects: ≤ 0.9", value: ratio("Prove/objects=1000/way=ours", "ns/op", "Prove/objects=1000/way=kustomize", "ns/op"), limit: 0.9},
		},
	},
	{
		benchmark: "Seal", title: "B4: sealing",
		text: "A Secret of 1 KB by the last of 50 rules, each of which names all the recipients. The peer is `sops encrypt`. What either writes last in a " +
			"round is opened with `sops decrypt`.",
		columns: append([]column{timeColumn, cpuColumn, peakColumn}, allocColumns...),
		claims: []claim{
			{text: "the peer over ours, 1 recipient: ≥ 15", value: ratio("Seal/recipients=1/way=sops", "ns/op", "Seal/recipients=1/way=ours", "ns/op"), limit: 15, least: true},
			{text: "each further recipient, in ms: ≤ 0.25", value: inMilliseconds(slope("Seal/recipients=20/way=ours", "Seal/recipients=1/way=ours", "ns/op", 19)), limit: 0.25},
		},
	},
	{
		benchmark: "Apply", title: "B5: writing to an installation",
		text: "Sources and releases of pools, half of each, on a real API server with Flux's definitions. Ours reads all of them, decides and writes what " +
			"differs, with an Event at each release it wrote. kubectl is `apply --server-side --force-conflicts` of the same objects from one file, a process " +
			"a run. \"serial\" is a server-side apply of each object from this process, one after the other. Bringing the objects to their state before is " +
			"not timed.",
		columns: []column{timeColumn, {"writes/op", "writes"}},
		claims: []claim{
			{text: "ours over kubectl, 200 objects to create: ≤ 0.7", value: ratio("Apply/objects=200/state=create/way=ours", "ns/op", "Apply/objects=200/state=create/way=kubectl", "ns/op"), limit: 0.7},
			{text: "ours over kubectl, 200 objects unchanged: ≤ 0.7", value: ratio("Apply/objects=200/state=unchanged/way=ours", "ns/op", "Apply/objects=200/state=unchanged/way=kubectl", "ns/op"), limit: 0.7},
			{text: "ours over kubectl, 200 objects, one drifted: ≤ 0.7", value: ratio("Apply/objects=200/state=drifted=1/way=ours", "ns/op", "Apply/objects=200/state=drifted=1/way=kubectl", "ns/op"), limit: 0.7},
			{text: "writes of 200 objects, one drifted: 1", value: func(r *results) (float64, bool) {
				return r.median("Apply/objects=200/state=drifted=1/way=ours", "writes/op")
			}, limit: 1},
		},
	},
	{
		benchmark: "Fleet", title: "B7: reading an installation",
		text: "`list_clusters` without its answer: every cluster with a serving slice, pools, a backend, a Gateway with its certificate, a webhook and " +
			"four cache claims, an API server each; every answer takes 20 ms. The servers are in memory and say again what real ones said, so no " +
			"connection counts. The peer makes the same requests one by one and reads no answer. In one row a cluster never answers.",
		columns: append([]column{timeColumn, cpuColumn, {"requests/op", "requests"}}, allocColumns...),
		claims: []claim{
			{text: "50 clusters, in round trips of 20 ms: ≤ 4", value: scaled(median("Fleet/clusters=50/unreachable=false/way=ours", "ns/op"), 20e6), limit: 4},
			{text: "one by one over ours, 50 clusters: ≥ 10", value: ratio("Fleet/clusters=50/unreachable=false/way=one-by-one", "ns/op", "Fleet/clusters=50/unreachable=false/way=ours", "ns/op"), limit: 10, least: true},
			{text: "with a cluster that never answers, in s (its budget is 5): ≤ 5.2", value: scaled(median("Fleet/clusters=50/unreachable=true/way=ours", "ns/op"), 1e9), limit: 5.2},
		},
	},
	{
		benchmark: "Words", title: "B8: words",
		text:    "What a model reads, at four bytes a token: the tools, and two large answers.",
		columns: []column{{"tokens", "tokens"}},
		claims: []claim{
			{text: "tools/list: ≤ 9,000", value: median("Words/tools-list/way=ours", "tokens"), limit: 9000},
			{text: "the same without output schemas: ≤ 5,000", value: median("Words/tools-list-without-output-schemas/way=ours", "tokens"), limit: 5000},
		},
	},
	{
		benchmark: "Managed", title: "B10: managed clusters",
		text: "10,000 clusters on 20 accounts in SQLite, ten minutes of a virtual clock: every second what is due is done. In one row 3 % of the clusters " +
			"never get ready and the others are ready, in the other none ever does. CPU is that of the whole process, database included, as a part of one " +
			"core in the clock's time; \"late\" is the longest time between two looks beyond 30 s and 5 min. Reads are records by their id, 50 in flight; " +
			"PostgreSQL is on the same machine.",
		columns: []column{
			{"core-percent", "CPU, % of a core"}, {"late-s", "late, s"}, {"lists/min", "lists a minute"}, {"calls-twice", "writes sent twice"}, {"p50-ns", "p50"}, {"p99-ns", "p99"},
		},
		claims: []claim{
			{text: "CPU with 3 % converging, in % of a core: < 50", value: median("Managed/part=passes/converging=3%/way=ours", "core-percent"), limit: 50},
			{text: "late with 3 % converging, in s: ≤ 1", value: median("Managed/part=passes/converging=3%/way=ours", "late-s"), limit: 1},
			{text: "CPU with all converging, in % of a core: < 50", value: median("Managed/part=passes/converging=100%/way=ours", "core-percent"), limit: 50},
			{text: "late with all converging, in s: ≤ 1", value: median("Managed/part=passes/converging=100%/way=ours", "late-s"), limit: 1},
			{text: "writes sent twice: 0", value: median("Managed/part=passes/converging=100%/way=ours", "calls-twice"), limit: 0},
			{text: "p50 of a read with 50 in flight, SQLite, in ms: ≤ 5", value: inMilliseconds(median("Managed/part=reads/database=sqlite/way=ours", "p50-ns")), limit: 5},
			{text: "the same, PostgreSQL: ≤ 5", value: inMilliseconds(median("Managed/part=reads/database=postgres/way=ours", "p50-ns")), limit: 5},
		},
	},
}

// median is one median.
func median(name, unit string) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) { return r.median(name, unit) }
}

func inMiB(value func(*results) (float64, bool)) func(*results) (float64, bool) {
	return scaled(value, 1<<20)
}

func inMilliseconds(value func(*results) (float64, bool)) func(*results) (float64, bool) {
	return scaled(value, 1e6)
}

func scaled(value func(*results) (float64, bool), by float64) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) {
		unscaled, found := value(r)
		return unscaled / by, found
	}
}
