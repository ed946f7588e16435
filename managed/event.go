package managed

import (
	"encoding/json"
	"fmt"
	"time"
)

// EventType is the name of an event, the type of its CloudEvent.
type EventType string

const (
	EventCreated           EventType = "kubernetes.cluster.created"
	EventReady             EventType = "kubernetes.cluster.ready"
	EventUpdated           EventType = "kubernetes.cluster.updated"
	EventError             EventType = "kubernetes.cluster.error"
	EventDeleting          EventType = "kubernetes.cluster.deleting"
	EventDeleted           EventType = "kubernetes.cluster.deleted"
	EventCredentialsIssued EventType = "kubernetes.cluster.credentials-issued"
)

// EventSource is the source of every CloudEvent.
const EventSource = "/compute/kubernetes"

// Event is what is published, before the outbox gives it an id.
type Event struct {
	Type EventType
	// Subject is the id of what it tells of; Cluster the cluster that orders it.
	Subject, Cluster, Tenant string
	Time                     time.Time
	// Data is a [ClusterAnswer], or [CredentialsIssued].
	Data any
}

// CredentialsIssued is the data of the event of that name. It has no token.
type CredentialsIssued struct {
	ClusterID string `json:"clusterId"`
	TenantID  string `json:"tenantId"`
	Role      Role   `json:"role"`
	// Subject is the service account that the token speaks as, Identity the caller.
	Subject    string    `json:"subject"`
	Identity   string    `json:"identity"`
	TTLSeconds int       `json:"ttlSeconds"`
	ExpiresAt  time.Time `json:"expiresAt"`
}

// cloudEvent is CloudEvents 1.0 in structured mode.
type cloudEvent struct {
	SpecVersion string    `json:"specversion"`
	ID          string    `json:"id"`
	Source      string    `json:"source"`
	Type        EventType `json:"type"`
	Subject     string    `json:"subject"`
	Time        time.Time `json:"time"`
	Tenant      string    `json:"tenantid"`
	ContentType string    `json:"datacontenttype"`
	Data        any       `json:"data"`
}

// CloudEvent is the event as it is delivered: CloudEvents 1.0 in structured mode. The id is the outbox's.
func (e Event) CloudEvent(id string) ([]byte, error) {
	body, err := json.Marshal(cloudEvent{
		SpecVersion: "1.0", ID: id, Source: EventSource, Type: e.Type, Subject: e.Subject, Time: clock(e.Time),
		Tenant: e.Tenant, ContentType: "application/json", Data: e.Data,
	})
	if err != nil {
		return nil, fmt.Errorf("event %s of %s: encoding: %w", e.Type, e.Subject, err)
	}
	return body, nil
}

// clusterEvent tells of a cluster as it stands in the record.
func clusterEvent(kind EventType, row *Cluster, now time.Time) Event {
	return Event{Type: kind, Subject: row.ID, Cluster: row.ID, Tenant: row.TenantID, Time: now, Data: row.Answer()}
}

// Issued is the event of credentials that were minted for a caller, as a service account's on the cluster.
func (c *Cluster) Issued(identity, account string, role Role, ttl time.Duration, expires, now time.Time) Event {
	return Event{
		Type: EventCredentialsIssued, Subject: c.ID, Cluster: c.ID, Tenant: c.TenantID, Time: now,
		Data: CredentialsIssued{
			ClusterID: c.ID, TenantID: c.TenantID, Role: role, Subject: account, Identity: identity,
			TTLSeconds: int(ttl / time.Second), ExpiresAt: clock(expires),
		},
	}
}
