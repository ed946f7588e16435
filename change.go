package clustermanager

// Action is what happened, or would happen, to an object on the installation.
type Action string

const (
	ActionCreate      Action = "create"
	ActionUpdate      Action = "update"
	ActionUnchanged   Action = "unchanged"
	ActionDelete      Action = "delete"
	ActionRetire      Action = "retire"
	ActionTerminating Action = "terminating"
	ActionPending     Action = "pending"
)

// Would is the action of a dry run: "would-" before it, except where nothing would be done.
func (a Action) Would() Action {
	if a == ActionUnchanged || a == ActionTerminating {
		return a
	}
	return "would-" + a
}

// Change is one object of a live write.
type Change struct {
	ObjectReference
	Action Action `json:"action"`
	// Changes are the leaf paths that differ, sorted.
	Changes []string `json:"changes,omitempty"`
}

// DiffAction is what a proposal does to an object of the built tree.
type DiffAction string

const (
	DiffAdd    DiffAction = "add"
	DiffChange DiffAction = "change"
	DiffRemove DiffAction = "remove"
)

// ObjectDiff is one object that differs between the tree as Flux builds it today and as proposed.
type ObjectDiff struct {
	ObjectReference
	Action DiffAction `json:"action"`
	// Changes are the leaf paths that differ, sorted; only for a change. Values are never shown.
	Changes []string `json:"changes,omitempty"`
}
