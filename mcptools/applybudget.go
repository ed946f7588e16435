package mcptools

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/live/session"
)

// maxFirstAnswer is how much longer than its budget a call in mode apply may take for the first answer of a workload
// cluster, which a connection that is opened cold makes slow. What gives up on a call does so at ten seconds.
const maxFirstAnswer = 1500 * time.Millisecond

// bounds is the time that a call may take, once its mode is known.
type bounds struct {
	setting string
	limit   time.Duration

	mu sync.Mutex
	// firstAnswer is what the first answers of workload clusters took, which mode apply does not count; counting says
	// that it is measured.
	firstAnswer time.Duration
	counting    bool
}

// within bounds the call by a setting.
func (c Call) within(ctx context.Context, setting string, limit, beyond time.Duration) (context.Context, context.CancelFunc) {
	if c.bounds != nil {
		c.bounds.setting, c.bounds.limit, c.bounds.counting = setting, limit, beyond > 0
	}
	return context.WithDeadline(ctx, c.Start.Add(limit+beyond))
}

// hear waits for the first answer of a workload cluster, in a mode that does not count it. What goes wrong is for the
// reads to tell.
func (c Call) hear(client *session.Client) {
	if c.bounds == nil || !c.bounds.counting {
		return
	}
	c.bounds.mu.Lock()
	defer c.bounds.mu.Unlock()
	started := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), maxFirstAnswer-c.bounds.firstAnswer)
	defer cancel()
	_ = client.Discovery.RESTClient().Get().AbsPath("/version").Do(ctx).Error()
	c.bounds.firstAnswer = min(maxFirstAnswer, c.bounds.firstAnswer+time.Since(started))
}

// budget is the time that writes to the installation may take.
func (c Call) budget() clustermanager.Budget {
	if c.bounds == nil {
		return clustermanager.Budget{Start: c.Start}
	}
	c.bounds.mu.Lock()
	defer c.bounds.mu.Unlock()
	return clustermanager.Budget{Start: c.Start.Add(c.bounds.firstAnswer), Limit: c.bounds.limit}
}

// explainTime says of a call that its time ran out, and where.
func (c Call) explainTime(tool, step string, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) || step == "" || c.bounds == nil || c.bounds.setting == "" {
		return err
	}
	return fmt.Errorf("%s: the %s that a call may take (setting %s) ran out at the step %q: %w", tool, c.bounds.limit, c.bounds.setting, step, err)
}
