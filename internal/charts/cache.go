package charts

import (
	"container/list"
	"sync"
)

// cache keeps charts by their manifest's digest, the ones used last, within a number of bytes. What a digest names never
// changes, so nothing in it is ever out of date.
type cache struct {
	limit int64

	mu sync.Mutex
	// order holds the charts, the one used last in front; byDigest finds them.
	order    *list.List
	byDigest map[string]*list.Element
	size     int64
}

func newCache(limits Limits) *cache {
	return &cache{limit: limits.Cache, order: list.New(), byDigest: map[string]*list.Element{}}
}

// get returns the chart of a digest; nil: it is not kept.
func (c *cache) get(digest string) *Chart {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, there := c.byDigest[digest]
	if !there {
		return nil
	}
	c.order.MoveToFront(element)
	return element.Value.(*Chart)
}

// put keeps a chart, and lets those go that were used least recently until all fit.
func (c *cache) put(chart *Chart) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.byDigest[chart.Digest]; there || chart.size > c.limit {
		return
	}
	c.byDigest[chart.Digest] = c.order.PushFront(chart)
	for c.size += chart.size; c.size > c.limit; {
		oldest := c.order.Remove(c.order.Back()).(*Chart)
		delete(c.byDigest, oldest.Digest)
		c.size -= oldest.size
	}
}
