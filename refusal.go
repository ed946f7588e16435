package clustermanager

import (
	"errors"
	"fmt"
)

// Reason is the class of an error result, as _meta["cluster-manager/reason"] carries it.
type Reason string

const (
	ReasonInvalidArguments Reason = "invalidArguments"
	ReasonRefused          Reason = "refused"
	ReasonNotFound         Reason = "notFound"
	ReasonError            Reason = "error"
)

// Refusal is a "no" that was decided, with its way out. It is known before the first write.
type Refusal struct {
	// Message is one sentence: what is refused, why, and the way out.
	Message string
	// Block is the structured block, answered as {"refused": …}; nil where none is defined.
	Block *RefusalBlock
}

// RefusalBlock is what a program reads of a refusal. The arrays are never null.
type RefusalBlock struct {
	Nodes       []string `json:"nodes"`
	Idle        []string `json:"idle,omitempty"`
	Models      []string `json:"models"`
	Unscheduled []string `json:"unscheduled,omitempty"`
	Hint        string   `json:"hint"`
	// ReadFrom is cluster or machinePool.
	ReadFrom    string            `json:"readFrom"`
	CacheZone   *CacheZoneBlock   `json:"cacheZone,omitempty"`
	CacheClaims *CacheClaimsBlock `json:"cacheClaims,omitempty"`
	CacheOn     *CacheOnBlock     `json:"cacheOn,omitempty"`
}

// Error is the message.
func (r *Refusal) Error() string { return r.Message }

// Refuse makes a refusal without a block.
func Refuse(format string, arguments ...any) *Refusal {
	return &Refusal{Message: fmt.Sprintf(format, arguments...)}
}

// NotFound says that what the call names does not exist.
type NotFound struct {
	// What names it: kind and name, such as "Cluster org-acme/wc1".
	What string
	// Suffix sends the reader on, such as "correct the name or the namespace".
	Suffix string
	// Block is the structured block, answered as {"notFound": …}; nil where none is defined.
	Block *NotFoundBlock
}

// NotFoundBlock is what a program reads of a removal that found nothing left: it is complete.
type NotFoundBlock struct {
	Cluster     string `json:"cluster"`
	Namespace   string `json:"namespace"`
	NothingLeft bool   `json:"nothingLeft"`
}

// Error is "<what> not found" and the suffix.
func (n *NotFound) Error() string {
	if n.Suffix == "" {
		return n.What + " not found"
	}
	return n.What + " not found: " + n.Suffix
}

// InvalidArguments says what the input schema refuses.
type InvalidArguments struct {
	Message string
}

// Error is the message.
func (i *InvalidArguments) Error() string { return i.Message }

// ReasonOf classes an error; nil has no class.
func ReasonOf(err error) Reason {
	var refusal *Refusal
	var notFound *NotFound
	var invalid *InvalidArguments
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refusal):
		return ReasonRefused
	case errors.As(err, &notFound):
		return ReasonNotFound
	case errors.As(err, &invalid):
		return ReasonInvalidArguments
	}
	return ReasonError
}
