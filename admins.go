package clustermanager

// Admins are users and groups, sorted, each once.
type Admins struct {
	Users  []string `json:"users,omitempty"`
	Groups []string `json:"groups,omitempty"`
}
