package compose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

func TestLaunchRefusals(t *testing.T) {
	t.Parallel()
	short := func(size, zone string) string {
		return "InsufficientInstanceCapacity: We currently do not have sufficient " + size + " capacity in the Availability Zone you requested (" + zone + ")."
	}
	failedClaim := func(name, of string, more ...string) clustermanager.NodeClaim {
		return clustermanager.NodeClaim{Name: name, Created: clock("06:00:00"), Conditions: []clustermanager.Condition{condition(of, "False", more...)}}
	}
	events := func(list ...clustermanager.LaunchEvent) func(*clustermanager.NodePoolFacts) {
		return func(facts *clustermanager.NodePoolFacts) { facts.Events = clustermanager.Known(list) }
	}
	event := func(claim, at, message string) clustermanager.LaunchEvent {
		return clustermanager.LaunchEvent{Claim: claim, Time: clock(at), Reason: insufficientCapacity, Message: message}
	}
	pinned := func(zones ...string) func(*clustermanager.NodePoolFacts) {
		return withRelease(func(release *clustermanager.PoolReleaseFacts) { release.Zones = zones })
	}
	cached := func(claims ...clustermanager.CacheClaim) func(*clustermanager.NodePoolFacts) {
		return func(facts *clustermanager.NodePoolFacts) { facts.CacheClaims = clustermanager.Known(claims) }
	}
	hand := func(facts *clustermanager.NodePoolFacts) { byHand(facts) }
	const retries = "; it retries while a pod waits"
	for _, test := range []struct {
		name string
		pool clustermanager.NodePoolFacts
		want []string
		not  []string
	}{
		{"Launched first", poolOf(0, withClaims(clustermanager.NodeClaim{Name: "wc1-gpu-aaaaa", Conditions: []clustermanager.Condition{
			condition("Registered", "False", "Later"), condition("Launched", "False", "LaunchFailed", "no  subnet"),
		}})), []string{`1 NodeClaim could not launch, the last (wc1-gpu-aaaaa) at 2026-08-01T09:05:00Z — LaunchFailed; Karpenter: "no subnet"` + retries}, []string{"wider", "(LaunchFailed)"}},
		{"Registered", poolOf(0, withClaims(failedClaim("wc1-gpu-aaaaa", "Registered", "NodeNotFound"))), []string{"— NodeNotFound" + retries}, []string{"Karpenter:"}},
		{"no reason and no message", poolOf(0, withClaims(failedClaim("wc1-gpu-aaaaa", "Launched"))), []string{"the last (wc1-gpu-aaaaa) at 2026-08-01T09:05:00Z" + retries}, []string{"—", "Karpenter:", "()"}},
		{"a message without a reason", poolOf(0, withClaims(failedClaim("wc1-gpu-aaaaa", "Launched", "", short("g6.xlarge", "a")))), []string{"— InsufficientInstanceCapacity for g6.xlarge in a; Karpenter"}, []string{"()"}},
		{"a node class", poolOf(0, events(clustermanager.LaunchEvent{Claim: "wc1-gpu-aaaaa", Time: clock("06:00:00"), Reason: "NodeClassNotReady", Message: "not ready"})), []string{"— NodeClassNotReady; Karpenter"}, []string{"wider"}},
		{"no parsed code", poolOf(0, events(event("wc1-gpu-aaaaa", "06:00:00", "all offerings unavailable"))), []string{`— InsufficientCapacityError; Karpenter: "all offerings unavailable"` + retries + " — wider sizes"}, []string{"every size"}},
		{"another reason", poolOf(0, withClaims(failedClaim("wc1-gpu-aaaaa", "Launched", "LaunchFailed", short("g6.xlarge", "a")+" "+short("g6.xlarge", "a")+" "+short("g6.2xlarge", "b")))),
			[]string{"— InsufficientInstanceCapacity for g6.xlarge, g6.2xlarge in a, b (LaunchFailed);", retries + " — wider sizes"}, []string{"every", "no zone to move to"}},
		{"two pinned zones", poolOf(0, pinned("a", "b"), cached(), events(event("wc1-gpu-aaaaa", "06:00:00", short("g6.xlarge", "a")))),
			[]string{"(g6.xlarge, g6.2xlarge, g6.4xlarge) in a, b, the zones the pool is pinned to (", "the pool is pinned to a, b: re-run create_node_pool on the pool with zones naming one zone with capacity — not refused in this answer: c ("}, []string{"lives in"}},
		{"every zone of the cluster pinned", poolOf(0, pinned("a", "b", "c"), cached(), events(event("wc1-gpu-aaaaa", "06:00:00", short("g6.xlarge", "a")))),
			[]string{"the pool is pinned to a, b, c: every zone the pool may use was refused"}, []string{"not refused"}},
		{"a claim that is not mounted", poolOf(0, pinned("a"), cached(clustermanager.CacheClaim{Namespace: "s", Name: "hf-cache", Phase: "Bound", Volume: "v", Zone: "a"}), events(event("wc1-gpu-aaaaa", "06:00:00", short("g6.xlarge", "a")))),
			[]string{"the model cache claim s/hf-cache (volume v) lives in a: re-run"}, []string{"mounts it:"}},
		{"a claim elsewhere", poolOf(0, pinned("a"), cached(clustermanager.CacheClaim{Name: "hf-cache", Phase: "Bound", Volume: "v", Zone: "b"}), events(event("wc1-gpu-aaaaa", "06:00:00", short("g6.xlarge", "a")))), nil, []string{"lives in"}},
		{"claims unread", poolOf(0, pinned("a"), events(event("wc1-gpu-aaaaa", "06:00:00", short("g6.xlarge", "a")))), []string{"whether a model cache claim lives there is not known: not read"}, nil},
		{"a claim of which that is not known", poolOf(0, pinned("a"), cached(clustermanager.CacheClaim{Name: "hf-cache", Phase: "Bound", Volume: "v", Error: "forbidden"}), events(event("wc1-gpu-aaaaa", "06:00:00", short("g6.xlarge", "a")))),
			[]string{"whether a model cache claim lives there is not known: forbidden"}, nil},
		{"a pin that cannot be read", poolOf(0, withRelease(func(release *clustermanager.PoolReleaseFacts) { release.Fault = "its zones are none" }), events(event("wc1-gpu-aaaaa", "06:00:00", short("g6.xlarge", "a")))),
			[]string{"for g6.xlarge in at least a (which zones the pool may use is not known: its zones are none)"}, []string{"every"}},
		{"a hint outside", poolOf(0, pinned("a"), cached(), events(event("wc1-gpu-aaaaa", "06:00:00", short("g6.xlarge", "a")+" You can currently get g6.xlarge capacity by not specifying an Availability Zone in your request or choosing c, a, b."))),
			[]string{"; the provider names capacity in b, c; Karpenter"}, nil},
		{"a hint inside", poolOf(0, events(event("wc1-gpu-aaaaa", "06:00:00", short("g6.xlarge", "a")+" or choosing b, c."))), nil, []string{"the provider names"}},
		{"a pool made by hand", poolOf(0, hand, events(event("wc1-gpu-aaaaa", "06:00:00", short("m5.xlarge", "a")))), []string{"for m5.xlarge in every zone the pool may use (a, b, c"}, []string{"every size"}},
		{"others beside", poolOf(0, withClaims(failedClaim("wc1-gpu-aaaaa", "Launched", "LaunchFailed"), readyClaim("wc1-gpu-bbbbb", "", ""), clustermanager.NodeClaim{Name: "wc1-gpu-ccccc"})),
			nil, []string{"1 NodeClaim could"}},
		{"others that were there before", poolOf(0, withClaims(failedClaim("wc1-gpu-aaaaa", "Launched", "LaunchFailed", "", "09:30:00"), readyClaim("wc1-gpu-bbbbb", "", ""))),
			[]string{"1 NodeClaim could not launch", "; beside it 0 NodeClaim(s) launching, 1 ready, 0 terminating"}, nil},
		{"event and condition of one claim", poolOf(0, withClaims(failedClaim("wc1-gpu-aaaaa", "Launched", "LaunchFailed")), events(event("wc1-gpu-aaaaa", "06:00:00", "x"))), []string{"1 NodeClaim could not launch"}, nil},
	} {
		step := lifecycleOf(test.pool).Steps
		message := ""
		for _, step := range step {
			if step.Name == clustermanager.StepNodes {
				message = step.Message
			}
		}
		for _, want := range test.want {
			if !strings.Contains(message, want) {
				t.Errorf("%s: %s\nlacks %s", test.name, message, want)
			}
		}
		for _, not := range test.not {
			if strings.Contains(message, not) {
				t.Errorf("%s: %s\nholds %s", test.name, message, not)
			}
		}
	}
}

func TestARefusalOfAClusterWhoseZonesAreNotKnown(t *testing.T) {
	t.Parallel()
	pool := poolOf(0, func(facts *clustermanager.NodePoolFacts) {
		facts.Events = clustermanager.Known([]clustermanager.LaunchEvent{{
			Claim: "wc1-gpu-aaaaa", Time: clock("06:00:00"), Reason: insufficientCapacity,
			Message: "InsufficientInstanceCapacity: We currently do not have sufficient g6.xlarge capacity in the Availability Zone you requested (a)",
		}})
	})
	l := newLifecycle(clustermanager.NodePoolsSurvey{Network: clustermanager.Unknown[clustermanager.Network]("forbidden")}, pool)
	want := "InsufficientInstanceCapacity for every size of the pool (g6.xlarge, g6.2xlarge, g6.4xlarge) in at least a (which zones the pool may use is not known: forbidden)"
	if diff := cmp.Diff(want, l.lastRefusal().line()); diff != "" {
		t.Error(diff)
	}
	if message := l.launchesFail().Message; strings.Contains(message, "no zone to move to") {
		t.Error(message)
	}
}

// Where to a pinned pool may move is not known without the cluster's node subnets, so no zone is named.
func TestAPinnedPoolOfAClusterWhoseZonesAreNotKnown(t *testing.T) {
	t.Parallel()
	pool := poolOf(0, withRelease(func(release *clustermanager.PoolReleaseFacts) { release.Zones = []string{"a"} }), func(facts *clustermanager.NodePoolFacts) {
		facts.CacheClaims = clustermanager.Known([]clustermanager.CacheClaim{})
		facts.Events = clustermanager.Known([]clustermanager.LaunchEvent{{
			Claim: "wc1-gpu-aaaaa", Time: clock("06:00:00"), Reason: insufficientCapacity,
			Message: "InsufficientInstanceCapacity: We currently do not have sufficient g6.xlarge capacity in the Availability Zone you requested (a)",
		}})
	})
	message := newLifecycle(clustermanager.NodePoolsSurvey{Network: clustermanager.Unknown[clustermanager.Network]("forbidden")}, pool).launchesFail().Message
	const want = " in a, the zone the pool is pinned to ("
	const remedy = " — the pool is pinned to a: re-run create_node_pool on the pool with zones naming one zone with capacity — which zones have node subnets is not known: forbidden — with the cache on "
	if !strings.Contains(message, want) || !strings.Contains(message, remedy) || strings.Contains(message, "no zone to move to") {
		t.Error(message)
	}
}

func TestValuesOfAReleaseThatCannotBeRead(t *testing.T) {
	t.Parallel()
	pool := lifecycleOf(poolOf(0, withRelease(func(release *clustermanager.PoolReleaseFacts) {
		release.Fault, release.Accelerator = "its sizes are none", ""
	})))
	want := []string{"accelerator, sizes, zones and prewarm are not known: its sizes are none"}
	if diff := cmp.Diff(want, pool.Notes); diff != "" || pool.Sizes != nil || pool.Accelerator != "" {
		t.Errorf("%s, %+v", diff, pool)
	}
}
