package manageddemo

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func TestTheDemoShowsTwoClustersLives(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := Run(t.Context(), &out, "", "test"); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	text := out.String()
	at := 0
	for _, want := range []string{
		`"state":"pending"`, "provider: POST", "provisioning", " ready ", "an Autopilot cluster", " ready ", "UNAVAILABLE", "make testbed",
		`"state":"updating"`, "provider: PUT", "desiredReleaseChannel", "desiredMasterVersion", " ready ", "provider: DELETE", " deleted ",
		"kubernetes.cluster.created", "kubernetes.cluster.ready", "kubernetes.cluster.updated", "kubernetes.cluster.deleted", "kubernetes.cluster.hours", "Done in",
	} {
		found := strings.Index(text[at:], want)
		if found < 0 {
			t.Fatalf("%q does not follow in\n%s", want, text)
		}
		at += found
	}
	if strings.Contains(text, "NOT SIGNED") || strings.Contains(text, "Bearer") {
		t.Errorf("an event is not signed, or a token shows:\n%s", text)
	}
	if events := regexp.MustCompile(`(?m)  kubernetes\.cluster\.\S+ +kcl_`).FindAllString(text, -1); len(events) != 9 {
		t.Errorf("%d events, want 9: two lives of created, ready, deleting, deleted, and an update", len(events))
	}
}
