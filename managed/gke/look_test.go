package gke

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	container "google.golang.org/api/container/v1"
	"google.golang.org/api/googleapi"

	"github.com/clustermanager/cluster-manager/managed"
)

func TestV01Versions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, location := range []string{"europe-west1-b", "europe-west1"} {
		of, err := w.Versions(t.Context(), w.account, location)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, location, "1.33.5-gke.1162000", of.DefaultVersion)
		equal(t, "valid", []string{
			"1.35.1-gke.1000000", "1.34.3-gke.1200000", "1.34.1-gke.1100000", "1.33.6-gke.1300000", "1.33.5-gke.1162000", "1.32.9-gke.1400000", "1.31.14-gke.1500000",
		}, of.ValidVersions)
		equal(t, "channels", 4, len(of.Channels))
		equal(t, "stable", managed.ChannelVersion{DefaultVersion: "1.33.5-gke.1162000", ValidVersions: []string{"1.33.5-gke.1162000", "1.32.9-gke.1400000"}}, of.Channels[managed.ChannelStable])
	}
}

func TestVersionsAreNewestFirst(t *testing.T) {
	t.Parallel()
	of := versions(&container.ServerConfig{ValidMasterVersions: []string{"1.9.1", "1.33.5-gke.900", "1.33.5-gke.1000"}, Channels: []*container.ReleaseChannelConfig{{Channel: "UNSPECIFIED"}}})
	equal(t, "versions", managed.VersionsAnswer{ValidVersions: []string{"1.33.5-gke.1000", "1.33.5-gke.900", "1.9.1"}, Channels: map[managed.Channel]managed.ChannelVersion{}}, of)
}

func TestOneCallListsAnAccount(t *testing.T) {
	t.Parallel()
	w := ready(t)
	before := len(w.cloud.Requests())
	listing, err := w.List(t.Context(), w.account)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "requests", 1, len(w.cloud.Requests())-before)
	single, known := w.Look(t.Context(), w.account, w.row).Look.Get()
	listed, also := listing.Look(&w.row).Get()
	if !known || !also {
		t.Fatal("one of the two looks knows nothing")
	}
	equal(t, "the listed", single, listed)
	w.cloud.DropZones("europe-west1-b")
	listing, err = w.List(t.Context(), w.account)
	if err != nil {
		t.Fatal(err)
	}
	if of, known := listing.Look(&w.row).Get(); known {
		t.Errorf("its zone is missing, and it shows %v", of)
	}
	w.cloud.DropZones()
	w.cloud.Remove("platform", w.row.Location, managed.ProviderName(w.row.ID))
	listing, err = w.List(t.Context(), w.account)
	if err != nil {
		t.Fatal(err)
	}
	if of, known := listing.Look(&w.row).Get(); !known || of != nil {
		t.Errorf("it is gone, and the listing shows %v, %v", of, known)
	}
}

func TestAnOperationThatIsForgottenIsLost(t *testing.T) {
	t.Parallel()
	w := ready(t)
	w.row.Operation = &managed.Operation{Name: "operation-1", Write: managed.Write{Kind: managed.UpdateCluster}}
	observed := w.Look(t.Context(), w.account, w.row)
	equal(t, "operation", &managed.OperationStatus{Name: "operation-1", Lost: true}, observed.Operation)
}

// TestAnAutopilotClustersPoolsAreTheProviders: a pool that is not ours is neither shown nor taken for a throwaway one.
func TestAnAutopilotClustersPoolsAreTheProviders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, autopilot)
	w.cloud.Edit("platform", w.row.Location, managed.ProviderName(w.row.ID), func(of *container.Cluster) {
		of.NodePools[0].Config.ResourceLabels = of.ResourceLabels
	})
	w.until(15 * time.Minute)
	w.state(managed.StateReady)
	w.told("ready")
	equal(t, "writes", []string{"clusters.create"}, w.sent())
	equal(t, "node version", "1.33.5-gke.1162000", w.row.NodeVersion)
}

func TestErrorsOfTheProvider(t *testing.T) {
	t.Parallel()
	answered := func(code int, reason, message string) error {
		return fmt.Errorf("doing: %w", &googleapi.Error{Code: code, Message: message, Errors: []googleapi.ErrorItem{{Reason: reason}}})
	}
	for name, test := range map[string]struct {
		kind    managed.WriteKind
		err     error
		verdict managed.Verdict
		message string
	}{
		"taken":                   {managed.CreateCluster, nil, managed.Accepted, ""},
		"please wait":             {managed.UpdateCluster, answered(400, "failedPrecondition", "Operation o is currently upgrading cluster c. Please wait and try again once it is done."), managed.Later, ""},
		"incompatible operation":  {managed.DeleteCluster, answered(400, "failedPrecondition", "Cluster is running incompatible operation operation-1."), managed.Later, ""},
		"another precondition":    {managed.UpdateCluster, answered(400, "failedPrecondition", "The key is disabled."), managed.Refused, "The key is disabled."},
		"a bad request":           {managed.CreateCluster, answered(400, "badRequest", "No."), managed.Refused, "No."},
		"not signed in":           {managed.CreateCluster, answered(401, "authError", "Who are you?"), managed.Refused, "Who are you?"},
		"forbidden":               {managed.CreateCluster, answered(403, "forbidden", "Insufficient quota."), managed.Refused, "Insufficient quota."},
		"a rate by 403":           {managed.CreateCluster, answered(403, "rateLimitExceeded", "Slow down."), managed.Later, ""},
		"no such place":           {managed.CreateCluster, answered(404, "notFound", "Not found: projects/p."), managed.Refused, "Not found: projects/p."},
		"gone already":            {managed.DeleteCluster, answered(404, "notFound", "Not found."), managed.Later, ""},
		"a pool's cluster gone":   {managed.CreatePool, answered(404, "notFound", "Not found."), managed.Later, ""},
		"there already":           {managed.CreateCluster, answered(409, "alreadyExists", "Already exists."), managed.Later, ""},
		"aborted":                 {managed.UpdateCluster, answered(409, "aborted", "Changed."), managed.Later, ""},
		"too many":                {managed.UpdateCluster, answered(429, "rateLimitExceeded", "Slow down."), managed.Later, ""},
		"500":                     {managed.UpdateCluster, answered(500, "backendError", "Oh."), managed.Later, ""},
		"504":                     {managed.UpdateCluster, answered(504, "backendError", "Oh."), managed.Later, ""},
		"no words":                {managed.CreateCluster, &googleapi.Error{Code: http.StatusMethodNotAllowed}, managed.Refused, "the provider answered Method Not Allowed"},
		"the network":             {managed.CreateCluster, errors.New("connection reset"), managed.Later, ""},
		"no token of the account": {managed.CreateCluster, errNoToken, managed.Later, ""},
	} {
		verdict, message := judge(test.kind, test.err)
		equal(t, name, []string{string(test.verdict), test.message}, []string{string(verdict), message})
	}
}
