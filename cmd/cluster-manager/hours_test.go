package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clustermanager/cluster-manager/managed"
	"github.com/clustermanager/cluster-manager/managed/store"
	"github.com/clustermanager/cluster-manager/managed/store/storetest"
)

func TestM01HoursArePrintedBesideTheService(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "managed.db")
	service, err := store.Open(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	for _, tenant := range []string{"acme", "other"} {
		row, event := storetest.NewCluster(t, "one", func(in *managed.CreateInput) { in.TenantID = tenant })
		row.AcceptedAt = storetest.Start
		if err := service.Insert(t.Context(), row, 10, event); err != nil {
			t.Fatal(err)
		}
		if _, err := service.Change(t.Context(), row.ID, func(row managed.Cluster) (managed.Cluster, []managed.Event, error) { return row, nil, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := service.Meter(t.Context(), storetest.Start.Add(3*time.Hour), 10); err != nil {
		t.Fatal(err)
	}
	hours := func(arguments ...string) (string, string, int) {
		root := newRoot()
		var out, said bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&said)
		status := run(t.Context(), root, append([]string{"hours"}, arguments...))
		return out.String(), said.String(), status
	}
	out, said, status := hours("--database", database, "--since", "2026-03-01T12:00:00+01:00")
	if lines := strings.Count(out, "\n"); lines != 4 || status != 0 {
		t.Errorf("status %d, %d lines, want 4: %s%s", status, lines, out, said)
	}
	out, _, _ = hours("--database", database, "--since", "2026-03-01T12:00:00Z", "--tenant", "acme")
	row, _ := storetest.NewCluster(t, "one")
	want := `{"usage":"kubernetes.cluster.hours","tenantId":"acme","clusterId":"` + row.ID +
		`","number":2,"from":"2026-03-01T12:00:00Z","to":"2026-03-01T13:00:00Z","quantity":1}` + "\n"
	if out != want {
		t.Errorf("printed %q, want %q", out, want)
	}
	for name, test := range map[string]struct {
		arguments []string
		want      string
	}{
		"no time":     {[]string{"--database", database, "--since", "yesterday"}, "write it as 2026"},
		"no since":    {[]string{"--database", database}, "since"},
		"no database": {[]string{"--since", "2026-03-01T12:00:00Z"}, "none is named"},
		"no file":     {[]string{"--since", "2026-03-01T12:00:00Z", "--database", database + "x"}, "no such file"},
	} {
		if out, said, status := hours(test.arguments...); status == 0 || out != "" || !strings.Contains(said, test.want) {
			t.Errorf("%s: status %d, %q, %q", name, status, out, said)
		}
	}
}
