package managed

import (
	"testing"
	"time"
)

// What a call records while a write is at the provider goes out after it, whatever became of the write.
func TestU10ACallWhileAWriteIsAtTheProvider(t *testing.T) {
	t.Parallel()
	stable := UpdateInput{ReleaseChannel: new(ChannelStable)}
	change := Write{Kind: UpdateCluster, Change: ChangeChannel}
	for name, test := range map[string]struct {
		world  func() *world
		refuse bool
		writes []Write
		events []string
	}{
		"a create": {
			world:  func() *world { return newWorld(t, okInput()) },
			writes: []Write{{Kind: CreateCluster, Pool: FirstNodePoolID(newWorld(t, okInput()).row.ID, "a")}, change},
			events: []string{"created", "ready", "updated"},
		},
		"an update":         {world: func() *world { return changing(t) }, writes: []Write{change, change}, events: []string{"updated"}},
		"an update refused": {world: func() *world { return changing(t) }, refuse: true, writes: []Write{change, change}, events: []string{"updated"}},
	} {
		w := test.world()
		w.between = func() {
			w.update(stable)
			w.refuse = nil
		}
		if test.refuse {
			w.refuse = func(Write) string { return "not that one" }
		}
		w.until(40 * time.Minute)
		w.state(StateReady)
		equal(t, name+": writes", test.writes, w.writes())
		equal(t, name+": events", test.events, w.events())
		equal(t, name+": at the provider", ChannelStable, w.cloud.Channel)
	}
}

// changing is a ready cluster whose channel is to be changed.
func changing(t *testing.T) *world {
	t.Helper()
	w := ready(t, okInput())
	w.update(UpdateInput{ReleaseChannel: new(ChannelRapid)})
	return w
}
