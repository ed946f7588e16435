package mcptools

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/limits"
)

// admit lets a call in, whose end is told by done, or refuses it for how many its caller makes. A call without a caller is
// let in: what it asks for refuses it.
func (t *Tools) admit(ctx context.Context, tool Tool) (done func(), err error) {
	if t.options.Limits == nil {
		return func() {}, nil
	}
	caller, err := t.options.Caller(ctx)
	if err != nil {
		return func() {}, nil
	}
	done, exceeded := t.options.Limits.Admit(keyOf(caller))
	if exceeded == nil {
		return done, nil
	}
	return nil, turnedAway(tool, exceeded)
}

// keyOf tells callers apart without holding their tokens; all that have none are the process's own.
func keyOf(caller clustermanager.Caller) string {
	token := caller.KubernetesToken.Reveal()
	if token == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(token))
	return string(sum[:])
}

// turnedAway is a refusal that a model can read, and wait by.
func turnedAway(tool Tool, exceeded *limits.Exceeded) error {
	wait := math.Ceil(exceeded.RetryAfter.Seconds()*10) / 10
	again := fmt.Sprintf("nothing was done; call again in %g s", max(wait, 0.1))
	if exceeded.Kind == limits.Concurrency {
		return clustermanager.Refuse("%s: %d calls of yours are running, the most that this server takes of one caller at once: wait for one of them; %s", tool.Name, exceeded.Most, again)
	}
	return clustermanager.Refuse("%s: this server takes %d calls a second of one caller, and you made more: %s", tool.Name, exceeded.Most, again)
}
