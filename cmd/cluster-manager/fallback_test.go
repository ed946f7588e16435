package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// oldGit makes the forge's git one that knows version 0 of the protocol alone.
type oldGit struct{}

func (oldGit) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Del("Git-Protocol")
	return http.DefaultTransport.RoundTrip(request)
}

func TestProposalByAnOldGitServer(t *testing.T) {
	opened, err := openSnapshot(t.Context(), snapshotOptions{
		directory: filepath.Join("..", "..", "fixtures", "installations", "gazelle"), keep: t.TempDir(), now: time.Now, transport: oldGit{},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	}()
	client, err := opened.tools.Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	arguments := json.RawMessage(`{"cluster":"wc1","name":"gpu-l4","serving":false,"mode":"commit"}`)
	for range 2 {
		result, err := client.Call(t.Context(), "create_node_pool", arguments, nil)
		if err != nil || result.Reason != "" {
			t.Fatalf("%v %s", err, result.Texts)
		}
		var answer clustermanager.WriteResult
		if err := json.Unmarshal([]byte(result.Texts[0]), &answer); err != nil {
			t.Fatal(err)
		}
		if answer.Commit == nil || answer.Commit.Number != 1 || !answer.Commit.Proof.Built {
			t.Fatalf("no proven pull request: %s", result.Texts[0])
		}
		if !slices.ContainsFunc(answer.Warnings, func(warning string) bool {
			return strings.Contains(warning, "sends whole branches alone") && strings.HasSuffix(warning, "let the git server speak protocol version 2, and set uploadpack.allowFilter there")
		}) {
			t.Errorf("warnings: %q", answer.Warnings)
		}
	}
	if pushes := opened.forge.ReceivePacks(); pushes != 1 {
		t.Errorf("%d pushes", pushes)
	}
}
