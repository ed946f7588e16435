package managed

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

func decoded(t *testing.T, value any) map[string]any {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal(encode(t, value), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func nulls(of map[string]any) []string {
	names := []string{}
	for name, value := range of {
		if value == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestG04EveryFieldIsThere(t *testing.T) {
	t.Parallel()
	pending := newWorld(t, okInput())
	cluster := decoded(t, pending.row.Answer())
	equal(t, "fields", reflect.TypeFor[ClusterAnswer]().NumField(), len(cluster))
	equal(t, "pending's nulls", []string{
		"controlPlaneVersion", "deletedAt", "endpoint", "kubernetesVersion", "message", "networkId", "nodeVersion", "projectId", "readyAt",
	}, nulls(cluster))
	pool := cluster["nodePools"].([]any)[0].(map[string]any)
	equal(t, "a pending pool's nulls", []string{
		"accelerators", "autoscaling", "deletedAt", "diskGiB", "diskType", "message", "nodeVersion", "readyAt",
	}, nulls(pool))
	equal(t, "extensions", `{"deletionProtection":false,"maintenanceWindow":null,"path":null,"paused":false,"repository":null,"source":"api"}`,
		string(encode(t, cluster["extensions"])))

	ready := ready(t, okInput())
	equal(t, "ready's nulls", []string{"controlPlaneVersion", "deletedAt", "message", "networkId", "projectId"}, nulls(decoded(t, ready.row.Answer())))
	ready.cloud.Status, ready.cloud.Message = StatusDegraded, "no capacity"
	ready.until(time.Hour)
	equal(t, "message", "no capacity", decoded(t, ready.row.Answer())["message"].(string))

	in := okInput()
	in.Mode, in.Location, in.NodePools = ModeAutopilot, "europe-west1", nil
	equal(t, "autopilot's pools", "[]", string(encode(t, newWorld(t, in).row.Answer().NodePools)))
}

func TestC59ZonesAndNodes(t *testing.T) {
	t.Parallel()
	in := okInput()
	in.Location = "europe-west1"
	pool := newWorld(t, in).row.Answer().NodePools[0]
	equal(t, "zones", []string{"europe-west1-b", "europe-west1-c"}, pool.Zones)
	equal(t, "nodes", 2, pool.Nodes)
	pool = newWorld(t, okInput()).row.Answer().NodePools[0]
	equal(t, "zones", []string{"europe-west1-b"}, pool.Zones)
	equal(t, "nodes", 1, pool.Nodes)
}

func TestC41TheAccountIsThePools(t *testing.T) {
	t.Parallel()
	for pool, account := range map[string]string{poolP: "PA", poolT: "TA"} {
		in := okInput()
		in.PoolID = pool
		equal(t, pool, account, newWorld(t, in).row.Answer().ProviderAccountID)
	}
}

func TestAnAnswerSharesNothingWithTheRecord(t *testing.T) {
	t.Parallel()
	in := okInput()
	in.NodePools[0].Labels = map[string]string{"a": "b"}
	in.NodePools[0].Autoscaling = &Autoscaling{MinNodes: 0, MaxNodes: 2}
	w := newWorld(t, in)
	answer := w.row.Answer()
	answer.NodePools[0].Labels["a"], answer.NodePools[0].Autoscaling.MaxNodes = "changed", 9
	in.NodePools[0].Labels["a"] = "changed too"
	equal(t, "label", "b", w.row.NodePools[0].Labels["a"])
	equal(t, "bounds", 2, w.row.NodePools[0].Autoscaling.MaxNodes)
}

func TestUpdatedAtIsTheLastChangeOfTheAnswer(t *testing.T) {
	t.Parallel()
	w := ready(t, okInput())
	before := w.row.UpdatedAt
	w.until(2 * time.Hour)
	equal(t, "nothing changed", before, w.row.UpdatedAt)
	w.cloud.Endpoint = "203.0.113.77"
	w.until(3 * time.Hour)
	if !w.row.UpdatedAt.After(before) {
		t.Error("the endpoint changed and updatedAt did not")
	}
}

func TestE03EventsAsTheyAreDelivered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, okInput())
	body, err := w.saved[0].CloudEvent("7")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	data := got["data"].(map[string]any)
	equal(t, "data", decoded(t, w.row.Answer()), data)
	delete(got, "data")
	equal(t, "event", map[string]any{
		"specversion": "1.0", "id": "7", "source": "/compute/kubernetes", "type": "kubernetes.cluster.created", "subject": w.row.ID,
		"time": "2026-03-01T10:00:00Z", "tenantid": "acme", "datacontenttype": "application/json",
	}, got)

	issued := w.row.Issued(alice.ID, ServiceAccountName(alice.ID, RoleEdit), RoleEdit, time.Hour, start.Add(time.Hour), start)
	equal(t, "type", EventCredentialsIssued, issued.Type)
	equal(t, "K08 data", map[string]any{
		"clusterId": w.row.ID, "tenantId": "acme", "role": "edit", "subject": ServiceAccountName(alice.ID, RoleEdit), "identity": alice.ID,
		"ttlSeconds": 3600.0, "expiresAt": "2026-03-01T11:00:00Z",
	}, decoded(t, issued.Data))
}

func TestK01TheKubeconfig(t *testing.T) {
	t.Parallel()
	row := Cluster{ID: "kcl_x", Name: "one", Endpoint: "203.0.113.10", Authority: "made for the test"}
	text, err := NewKubeconfig(&row, "bc-u-0000000000000000-view", clustermanager.NewSecret("token-made-for-the-test"))
	if err != nil {
		t.Fatal(err)
	}
	type named = map[string]any
	var got map[string]any
	if err := yaml.Unmarshal([]byte(text.Reveal()), &got); err != nil {
		t.Fatal(err)
	}
	equal(t, "kubeconfig", map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "one",
		"clusters": []any{named{"name": "one", "cluster": named{"server": "https://203.0.113.10", "certificate-authority-data": "bWFkZSBmb3IgdGhlIHRlc3Q="}}},
		"users":    []any{named{"name": "bc-u-0000000000000000-view", "user": named{"token": "token-made-for-the-test"}}},
		"contexts": []any{named{"name": "one", "context": named{"cluster": "one", "user": "bc-u-0000000000000000-view"}}},
	}, got)
}

func TestK08ATokenIsNeverPrinted(t *testing.T) {
	t.Parallel()
	answer := CredentialsAnswer{Kubeconfig: clustermanager.NewSecret("token-made-for-the-test"), Role: RoleView, ExpiresAt: start}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("answered", "answer", answer)
	for _, printed := range []string{fmt.Sprintf("%v %+v %#v", answer, answer, answer), string(encode(t, answer)), log.String()} {
		if strings.Contains(printed, "token-made") {
			t.Errorf("printed %q", printed)
		}
	}
	equal(t, "to the caller", `{"kubeconfig":"token-made-for-the-test","expiresAt":"2026-03-01T10:00:00Z","role":"view"}`, string(encode(t, answer.Reveal())))
}
