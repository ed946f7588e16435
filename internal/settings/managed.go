package settings

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Defaults of the managed clusters API, from its reference.
const (
	DefaultMaxClustersPerTenant = 10
	DefaultCredentialTTL        = time.Hour
	DefaultTenantRate           = 20
)

// Managed are the settings of the managed clusters API. It is served where both Database and Catalog are set.
type Managed struct {
	// Database is a file's path for SQLite, or a postgres:// URL, which may have a password.
	Database clustermanager.Secret
	// Catalog is the file of accounts, pools, offers, networks, budgets and bindings.
	Catalog string
	// MaxClusters is how many clusters a tenant may have that are not deleted.
	MaxClusters int
	// CredentialTTL is how long credentials live that name no time: 600 to 86400 seconds.
	CredentialTTL time.Duration
	// TenantRate is how many calls a tenant has in a second; 0: no limit.
	TenantRate int
	// DeletedRetention is after what time deleted records go; 0: never.
	DeletedRetention time.Duration
	// EventsURL takes the events, signed with the secret in EventsSecretFile; "": they are kept and read.
	EventsURL, EventsSecretFile string
}

// Served says whether the API is served.
func (m Managed) Served() bool { return m.Database.Reveal() != "" && m.Catalog != "" }

// Missing is the setting without which the one that is given has no use; "": both are given, or none.
func (m Managed) Missing() string {
	switch {
	case m.Database.Reveal() != "" && m.Catalog == "":
		return "catalog"
	case m.Database.Reveal() == "" && m.Catalog != "":
		return "database"
	}
	return ""
}

// managed are the settings of the managed clusters API.
func managed() []Setting {
	rows := []Setting{
		{Name: "database", Variable: "CLUSTER_MANAGER_DATABASE", Form: Text, Help: "records of managed clusters: a file (SQLite) or postgres://…; with --catalog it switches their API on", take: func(r *Resolved, value string) error {
			r.Managed.Database = clustermanager.NewSecret(value)
			return nil
		}},
		{Name: "catalog", Variable: "CLUSTER_MANAGER_CATALOG", Form: Path, Help: "file of what managed clusters are made in: accounts, pools, offers, networks, budgets, bindings", take: takeText(func(r *Resolved) *string { return &r.Managed.Catalog })},
		{Name: "max-clusters-per-tenant", Variable: "CLUSTER_MANAGER_MAX_CLUSTERS_PER_TENANT", Form: Number, Default: strconv.Itoa(DefaultMaxClustersPerTenant), Help: "managed clusters that a tenant may have", take: takeWhole(func(r *Resolved) *int { return &r.Managed.MaxClusters }, 1)},
		{Name: "credential-ttl-seconds", Variable: "CLUSTER_MANAGER_CREDENTIAL_TTL_SECONDS", Form: Number, Default: strconv.Itoa(int(DefaultCredentialTTL / time.Second)), Help: "how long credentials of a managed cluster live that name no time, 600 to 86400", take: takeCredentialTTL},
		{Name: "tenant-rate", Variable: "CLUSTER_MANAGER_TENANT_RATE", Form: Number, Default: strconv.Itoa(DefaultTenantRate), Help: "calls of the managed clusters API that a tenant has in a second; 0: no limit", take: takeWhole(func(r *Resolved) *int { return &r.Managed.TenantRate }, 0)},
		{Name: "deleted-retention", Variable: "CLUSTER_MANAGER_DELETED_RETENTION", Form: Duration, Default: "0", Help: "after what time records of deleted clusters go; 0: never", take: func(r *Resolved, value string) (err error) {
			r.Managed.DeletedRetention, err = time.ParseDuration(value)
			return err
		}},
		{Name: "events-webhook-url", Variable: "CLUSTER_MANAGER_EVENTS_WEBHOOK_URL", Form: Text, Help: "where events of managed clusters are sent", take: takeEventsURL},
		{Name: "events-webhook-secret-file", Variable: "CLUSTER_MANAGER_EVENTS_WEBHOOK_SECRET_FILE", Form: Path, Help: "file with the secret that signs them", take: takeText(func(r *Resolved) *string { return &r.Managed.EventsSecretFile })},
	}
	for i := range rows {
		rows[i].Scope = Listener
	}
	return rows
}

func takeText(field func(*Resolved) *string) func(*Resolved, string) error {
	return func(r *Resolved, value string) error {
		*field(r) = value
		return nil
	}
}

// takeWhole takes a whole number that is not below a least one.
func takeWhole(field func(*Resolved) *int, least int) func(*Resolved, string) error {
	return func(r *Resolved, value string) (err error) {
		if *field(r), err = strconv.Atoi(value); err != nil || *field(r) < least {
			return fmt.Errorf("%s is below %d, or too large", value, least)
		}
		return nil
	}
}

func takeCredentialTTL(r *Resolved, value string) error {
	seconds, err := strconv.Atoi(value)
	if err != nil || seconds < 600 || seconds > 86400 {
		return fmt.Errorf("%s is not 600 to 86400", value)
	}
	r.Managed.CredentialTTL = time.Duration(seconds) * time.Second
	return nil
}

// takeEventsURL repeats nothing of the URL, which may have a password.
func takeEventsURL(r *Resolved, value string) error {
	r.Managed.EventsURL = value
	of, err := url.Parse(value)
	if value != "" && (err != nil || of.Host == "" || of.Scheme != "https" && of.Scheme != "http") {
		return errors.New("it is no URL such as https://events.example.com/hook")
	}
	return nil
}

// completeManaged are the faults of settings that do not go together.
func (r *Resolved) completeManaged() []string {
	switch {
	case r.Managed.EventsURL != "" && r.Managed.EventsSecretFile == "":
		return []string{"setting events-webhook-secret-file: events are signed, so events-webhook-url needs it"}
	case r.Managed.EventsURL == "" && r.Managed.EventsSecretFile != "":
		return []string{"setting events-webhook-url: events-webhook-secret-file has no use without it"}
	}
	return nil
}
