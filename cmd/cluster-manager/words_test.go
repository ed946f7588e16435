package main

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkWords reports how much of a model's memory a dry run's answer takes, at four bytes a token.
func BenchmarkWords(b *testing.B) {
	opened, err := openSnapshot(b.Context(), snapshotOptions{directory: filepath.Join("..", "..", "fixtures", "installations", "gazelle"), now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = opened.Close() })
	client, err := opened.tools.Client(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Close() })
	for _, call := range []struct{ name, tool, arguments string }{
		{"create_node_pool-dry-run", "create_node_pool", `{"cluster":"wc1","name":"gpu-l4","serving":false,"mode":"commit","dryRun":true}`},
		{"list_clusters-of-the-fixture", "list_clusters", `{}`},
	} {
		b.Run(call.name+"/way=ours", func(b *testing.B) {
			var tokens int
			for b.Loop() {
				result, err := client.Call(b.Context(), call.tool, json.RawMessage(call.arguments), nil)
				if err != nil || result.Reason != "" {
					b.Fatal(err, result.Texts)
				}
				tokens = len(result.Texts[0]) / 4
			}
			b.ReportMetric(float64(tokens), "tokens")
		})
	}
}
