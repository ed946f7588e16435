package mcptools

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// A dry run tells what the call then does, and afterwards that nothing is left to do; it never writes.
func TestADryRunThenTheCallThenADryRun(t *testing.T) {
	t.Parallel()
	reader := chartReader(t)
	for _, of := range everyWrite() {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			l := of.life(t, reader)
			plan := l.done(t, of, map[string]any{"dryRun": true})
			if writes := l.reset(); writes != 0 || len(l.state(t)) != 0 {
				t.Errorf("a dry run wrote: %d", writes)
			}
			made := l.done(t, of, nil)
			if diff := cmp.Diff(of.want, changes(made)); diff != "" || made.Partial {
				t.Errorf("partial %v %s (-want +got)\n%s", made.Partial, made.NextStep, diff)
			}
			if diff := cmp.Diff(changes(made), stripped(changes(plan))); diff != "" {
				t.Errorf("the call differs from its dry run (-call +dry run)\n%s", diff)
			}
			l.reset()
			if again := l.run(t.Context(), t, of, map[string]any{"dryRun": true}); again.Reason == clustermanager.ReasonNotFound {
				return
			}
			for name, more := range map[string]map[string]any{"a dry run once more": {"dryRun": true}, "once more": nil} {
				for _, change := range changes(l.done(t, of, more)) {
					if !strings.HasPrefix(change, "unchanged ") && !strings.HasPrefix(change, "terminating ") {
						t.Errorf("%s: %s", name, change)
					}
				}
			}
			if writes := l.reset(); writes != 0 {
				t.Errorf("a call over what it made wrote %d times", writes)
			}
		})
	}
}

func stripped(words []string) []string {
	for index, word := range words {
		words[index] = strings.TrimPrefix(word, "would-")
	}
	return words
}

// A call whose process dies at any write leaves what the same call finishes.
func TestACallKilledAtEveryWrite(t *testing.T) {
	t.Parallel()
	reader := chartReader(t)
	for _, of := range everyWrite() {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			whole := of.life(t, reader)
			whole.done(t, of, nil)
			want := whole.state(t)
			writes := slices.Clone(whole.writes)
			if len(writes) < len(of.want) {
				t.Fatalf("%d writes of %d objects: %v", len(writes), len(of.want), writes)
			}
			for survived := range writes {
				l := of.life(t, reader)
				ctx, kill := context.WithCancel(t.Context())
				l.meets = func(write int) func(http.ResponseWriter, func()) {
					if write <= survived {
						return nil
					}
					kill()
					return broken
				}
				_ = l.run(ctx, t, of, nil)
				kill()
				l.reset()
				if result := l.run(t.Context(), t, of, nil); result.Reason != "" && result.Reason != clustermanager.ReasonNotFound {
					t.Fatalf("after %d writes, the last %s: %s", survived, writes[max(0, survived-1)], result.Texts)
				}
				if diff := cmp.Diff(want, l.state(t)); diff != "" {
					t.Errorf("after %d writes of %v (-never killed +killed)\n%s", survived, writes, diff)
				}
			}
		})
	}
}

// What is created, listed and removed again leaves nothing behind.
func TestWhatIsMadeGoesAgain(t *testing.T) {
	t.Parallel()
	reader := chartReader(t)
	pool, cluster := map[string]any{"cluster": "wc1", "name": "gpu-l4"}, map[string]any{"organization": "acme", "name": "dev01"}
	for name, test := range map[string]struct {
		create, remove written
		// gone are files of the fixtures that the state lacks, so that the pool is the cluster's last.
		gone []string
		// release is the one that helm-controller takes up and uninstalls; "": no guard asks for that.
		release string
	}{
		"serving": {create: written{tool: "enable_model_serving", arguments: map[string]any{"cluster": "wc1"}}, remove: written{tool: "disable_model_serving", arguments: map[string]any{"cluster": "wc1"}}, release: "wc1-agent-platform"},
		"a pool with serving": {create: written{tool: "create_node_pool", arguments: pool}, remove: written{tool: "delete_node_pool", arguments: pool}, release: "wc1-gpu-l4",
			gone: []string{poolRelease, poolSource, "management/org-acme/machinepool-wc1-gpu-a10g.yaml"}},
		"a cluster": {create: written{tool: "create_cluster", arguments: map[string]any{"organization": "acme", "name": "dev01", "provider": "aws"}}, remove: written{tool: "delete_cluster", arguments: cluster}, release: "dev01"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLife(t, reader, nil, test.gone...)
			made := l.done(t, test.create, nil)
			if test.release != "" {
				if early := l.run(t.Context(), t, test.remove, nil); early.Reason != clustermanager.ReasonRefused || !strings.Contains(early.Texts[0], "helm-controller has not") {
					t.Errorf("a release that nobody has taken up: %s %s", early.Reason, early.Texts)
				}
				l.finalizers(t, test.release, `["finalizers.fluxcd.io"]`)
			}
			if text := l.run(t.Context(), t, written{tool: "list_node_pools", arguments: map[string]any{"cluster": "wc1"}}, nil).Texts[0]; strings.Contains(text, `"wc1-gpu-l4"`) != (test.release == "wc1-gpu-l4") {
				t.Errorf("list_node_pools: %s", text)
			}
			removed := l.done(t, test.remove, nil)
			if len(removed.Objects) < len(made.Objects) || removed.Partial {
				t.Errorf("made %v, removed %v: %s", changes(made), changes(removed), removed.NextStep)
			}
			if test.release != "" {
				l.finalizers(t, test.release, "[]")
			}
			if again := l.run(t.Context(), t, test.remove, nil); again.Reason != clustermanager.ReasonNotFound {
				t.Errorf("again: %s %s", again.Reason, again.Texts)
			}
			for file, object := range l.state(t) {
				if annotations, _ := object.(map[string]any)["metadata"].(map[string]any)["annotations"].(map[string]any); annotations["cluster-manager.giantswarm.io/offline-deleted"] == nil {
					t.Errorf("left: %s", file)
				}
			}
		})
	}
}
