package service

import (
	"sync"
	"time"
)

// limiter counts the calls of each tenant: as many in a second as the rate, and as many at once.
type limiter struct {
	rate float64

	counting sync.Mutex
	tenants  map[string]bucket
}

// bucket is what a tenant has left.
type bucket struct {
	left float64
	at   time.Time
}

// manyTenants is from where on tenants that have all their calls left are forgotten.
const manyTenants = 10_000

func newLimiter(rate int) *limiter {
	return &limiter{rate: float64(rate), tenants: map[string]bucket{}}
}

// take counts a call, or says how long to wait for the next one.
func (l *limiter) take(tenant string, now time.Time) (wait time.Duration, within bool) {
	if l.rate == 0 {
		return 0, true
	}
	l.counting.Lock()
	defer l.counting.Unlock()
	if len(l.tenants) >= manyTenants {
		l.forget(now)
	}
	left := l.left(tenant, now)
	if left < 1 {
		return time.Duration((1 - left) / l.rate * float64(time.Second)), false
	}
	l.tenants[tenant] = bucket{left: left - 1, at: now}
	return 0, true
}

func (l *limiter) left(tenant string, now time.Time) float64 {
	of, known := l.tenants[tenant]
	if !known {
		return l.rate
	}
	return min(l.rate, of.left+max(0, now.Sub(of.at).Seconds())*l.rate)
}

func (l *limiter) forget(now time.Time) {
	for tenant := range l.tenants {
		if l.left(tenant, now) == l.rate {
			delete(l.tenants, tenant)
		}
	}
}
