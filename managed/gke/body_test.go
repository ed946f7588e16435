package gke

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clustermanager/cluster-manager/managed"
)

// created is the body of the create of an input, as it is on the wire.
func created(t *testing.T, changes ...fields) fields {
	t.Helper()
	w := newWorld(t, nil, changes...)
	w.pass()
	bodies := w.bodies("clusters.create")
	if len(bodies) != 1 {
		t.Fatalf("%d creates, %v", len(bodies), w.sent())
	}
	cluster, _ := bodies[0]["cluster"].(fields)
	return cluster
}

// at is a value by its path; nil when it is not there.
func at(of any, path string) any {
	for _, name := range strings.Split(path, ".") {
		switch value := of.(type) {
		case fields:
			of = value[name]
		case []any:
			if len(value) == 0 || name != "0" {
				return nil
			}
			of = value[0]
		default:
			return nil
		}
	}
	return of
}

// TestWhatTheProviderGets is the wire side of the checks of create.
func TestWhatTheProviderGets(t *testing.T) {
	t.Parallel()
	first := func(changes fields) fields { return pools(pool("a", changes)) }
	blocks := []any{fields{"cidrBlock": "10.0.0.0/8"}, fields{"cidrBlock": "192.0.2.0/24"}}
	const networks = "controlPlaneEndpointsConfig.ipEndpointsConfig.authorizedNetworksConfig"
	for name, test := range map[string]struct {
		input fields
		path  string
		want  any
	}{
		"C17 network":                  {fields{"networkId": networkN}, "network", "n1"},
		"C17 first ready subnet":       {fields{"networkId": networkN}, "subnetwork", "s-a"},
		"C30 a pool's zones":           {first(fields{"zones": []any{"europe-west1-c"}}), "nodePools.0.locations", []any{"europe-west1-c"}},
		"C30 no cluster locations":     {first(fields{"zones": []any{"europe-west1-c"}}), "locations", nil},
		"C33 disk":                     {first(fields{"diskGiB": 65536}), "nodePools.0.config.diskSizeGb", 65536.0},
		"C34 accelerators as a string": {first(fields{"accelerators": fields{"type": "nvidia-l4", "count": 16}}), "nodePools.0.config.accelerators.0", fields{"acceleratorType": "nvidia-l4", "acceleratorCount": "16"}},
		"C35 effect":                   {first(fields{"taints": []any{fields{"key": "k", "effect": "NoSchedule"}}}), "nodePools.0.config.taints.0", fields{"key": "k", "effect": "NO_SCHEDULE"}},
		"C42 version":                  {fields{"version": "1.33"}, "initialClusterVersion", "1.33"},
		"C42 no version":               {nil, "initialClusterVersion", nil},
		"C42 rapid":                    {fields{"releaseChannel": "rapid"}, "releaseChannel.channel", "RAPID"},
		"C42 regular":                  {nil, "releaseChannel.channel", "REGULAR"},
		"C42 stable":                   {fields{"releaseChannel": "stable"}, "releaseChannel.channel", "STABLE"},
		"C42 extended":                 {fields{"releaseChannel": "extended"}, "releaseChannel.channel", "EXTENDED"},
		"C43 private nodes":            {fields{"privateNodes": true}, "networkConfig.defaultEnablePrivateNodes", true},
		"C43 public nodes":             {nil, "networkConfig", nil},
		"C43 two networks":             {fields{"authorizedNetworks": []any{"10.0.0.0/8", "192.0.2.0/24"}}, networks, fields{"enabled": true, "cidrBlocks": blocks}},
		"C43 an empty list":            {fields{"authorizedNetworks": []any{}}, "controlPlaneEndpointsConfig", nil},
		"C43 no list":                  {nil, "controlPlaneEndpointsConfig", nil},
		"C54 autoscaling from 0":       {first(fields{"autoscaling": fields{"minNodes": 0, "maxNodes": 1}}), "nodePools.0.autoscaling", fields{"enabled": true, "minNodeCount": 0.0, "maxNodeCount": 1.0}},
		"C55 disk type":                {first(fields{"diskType": "pd-ssd"}), "nodePools.0.config.diskType", "pd-ssd"},
		"C57 labels":                   {first(fields{"labels": fields{"a": "b"}}), "nodePools.0.config.labels", fields{"a": "b"}},
		"C57 prefer no schedule":       {first(fields{"taints": []any{fields{"key": "k", "value": "v", "effect": "PreferNoSchedule"}}}), "nodePools.0.config.taints.0", fields{"key": "k", "value": "v", "effect": "PREFER_NO_SCHEDULE"}},
		"C57 no execute":               {first(fields{"taints": []any{fields{"key": "k", "effect": "NoExecute"}}}), "nodePools.0.config.taints.0.effect", "NO_EXECUTE"},
		"C58 spot":                     {first(fields{"spot": true}), "nodePools.0.config.spot", true},
		"C58 no spot":                  {nil, "nodePools.0.config.spot", nil},
		"C59 a region's zones":         {fields{"location": "europe-west1"}, "locations", []any{"europe-west1-b", "europe-west1-c"}},
		"C59 the pool has none":        {fields{"location": "europe-west1"}, "nodePools.0.locations", nil},
		"C04 autopilot":                {autopilot, "autopilot.enabled", true},
		"C04 autopilot has no pools":   {autopilot, "nodePools", nil},
		"C04 autopilot has no zones":   {autopilot, "locations", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			equal(t, test.path, test.want, at(created(t, test.input), test.path))
		})
	}
}

func TestC41EveryCallNamesTheAccountsProject(t *testing.T) {
	t.Parallel()
	for poolID, project := range map[string]string{poolP: "platform", poolT: "acme-own"} {
		w := newWorld(t, nil, fields{"poolId": poolID})
		w.until(w.row.NextLook.Sub(start) + 3*managed.LookConverging)
		w.delete()
		w.until(w.row.NextLook.Sub(start) + 3*managed.LookConverging)
		w.state(managed.StateDeleted)
		for _, request := range w.cloud.Requests() {
			if !strings.HasPrefix(request.Path, "/v1/projects/"+project+"/") {
				t.Errorf("%s goes to %s", poolID, request.Path)
			}
		}
	}
}

// TestR08BodiesAreThoseOfGcloud holds our create of two intents against what gcloud sends for them.
func TestR08BodiesAreThoseOfGcloud(t *testing.T) {
	t.Parallel()
	network := fields{"networkId": networkN}
	for file, input := range map[string][]fields{
		"standard": {network, {"name": "c1", "version": "1.33", "privateNodes": true, "authorizedNetworks": []any{"10.0.0.0/8"}}, pools(pool("default-pool", fields{
			"autoscaling": fields{"minNodes": 0, "maxNodes": 3}, "diskGiB": 100, "diskType": "pd-balanced", "spot": true,
			"labels": fields{"a": "b"}, "taints": []any{fields{"key": "k", "value": "v", "effect": "NoSchedule"}},
			"accelerators": fields{"type": "nvidia-l4", "count": 1},
		}))},
		"autopilot": {autopilot, {"name": "c2", "releaseChannel": "stable"}},
	} {
		data, err := os.ReadFile("../../fixtures/gke/recorded/" + file + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var recorded fields
		if err := json.Unmarshal(data, &recorded); err != nil {
			t.Fatal(err)
		}
		theirs, _ := recorded["cluster"].(fields)
		if theirs["autopilot"] != nil {
			delete(theirs, "nodePools")
		}
		ours := created(t, input...)
		id, _ := at(ours, "resourceLabels."+managed.LabelCluster).(string)
		equal(t, "name", managed.ProviderName(id), ours["name"].(string))
		// The names of the two worlds differ, what they are given to does not.
		ours["name"] = theirs["name"]
		if theirs["subnetwork"] != nil {
			theirs["subnetwork"] = "s-a"
		}
		text, err := json.Marshal(plain(theirs, "oauthScopes", "upgradeSettings"))
		if err != nil {
			t.Fatal(err)
		}
		theirs = nil
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "kcl_recorded", id)), &theirs); err != nil {
			t.Fatal(err)
		}
		equal(t, file, any(theirs), plain(ours, managed.LabelNodePool))
	}
}

// plain is a body without the fields of the names, and without what is false.
func plain(of any, without ...string) any {
	switch value := of.(type) {
	case fields:
		for _, name := range slices.Collect(maps.Keys(value)) {
			if slices.Contains(without, name) || value[name] == false {
				delete(value, name)
				continue
			}
			value[name] = plain(value[name], without...)
		}
	case []any:
		for i := range value {
			value[i] = plain(value[i], without...)
		}
	}
	return of
}

func TestDNSEndpointGoesOutWhereTheAccountHasIt(t *testing.T) {
	t.Parallel()
	dns := fields{"allowExternalTraffic": true}
	networks := []string{"10.0.0.0/8"}
	row, account := record(t)
	account.DNSEndpoint = true
	body := func(of any) any {
		data, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		var out any
		if err := json.Unmarshal(data, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	equal(t, "create, no networks", any(fields{"dnsEndpointConfig": dns}), at(body(createBody(account, &row, row.FirstPool())), "cluster.controlPlaneEndpointsConfig"))
	row.AuthorizedNetworks = networks
	block := fields{"enabled": true, "cidrBlocks": []any{fields{"cidrBlock": "10.0.0.0/8"}}}
	want := any(fields{"dnsEndpointConfig": dns, "ipEndpointsConfig": fields{"authorizedNetworksConfig": block}})
	equal(t, "create", want, at(body(createBody(account, &row, row.FirstPool())), "cluster.controlPlaneEndpointsConfig"))
	equal(t, "update", want, at(body(updateBody(account, &row, managed.ChangeNetworks)), "update.desiredControlPlaneEndpointsConfig"))
	account.DNSEndpoint = false
	equal(t, "update, setting off", nil, at(body(updateBody(account, &row, managed.ChangeNetworks)), "update.desiredControlPlaneEndpointsConfig.dnsEndpointConfig"))
}
