package offline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/internal/settings"
)

const (
	settingsFile        = "cluster-manager.yaml"
	defaultRepositories = "repos"
	defaultCharts       = "charts"
)

// ownSettings are what the file says of the snapshot itself, beside the settings of a server.
type ownSettings struct {
	caller       clustermanager.Caller
	repositories string
	charts       string
}

// readSettings reads the file and what stands above it, and returns every fault.
func readSettings(name string, above []settings.Source) (settings.Resolved, ownSettings, []string) {
	own := ownSettings{repositories: defaultRepositories, charts: defaultCharts}
	takes := map[string]func(any) error{
		"caller": own.takeCaller,
		"repos":  func(value any) error { return takeFolder(&own.repositories, value) },
		"charts": func(value any) error { return takeFolder(&own.charts, value) },
	}
	source, values := settings.Snapshot(name, "caller", "repos", "charts")
	var faults []string
	for _, key := range []string{"caller", "charts", "repos"} {
		if value, there := values[key]; there {
			if err := takes[key](value); err != nil {
				faults = append(faults, fmt.Sprintf("%s: %s: %v", name, key, err))
			}
		}
	}
	resolved, err := settings.Resolve(slices.Concat(above, []settings.Source{source})...)
	if err != nil {
		faults = append(faults, err.Error())
	}
	return resolved, own, faults
}

func (s *ownSettings) takeCaller(value any) error {
	document, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var caller struct {
		Email  string   `json:"email"`
		Groups []string `json:"groups"`
		GitHub string   `json:"github"`
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&caller); err != nil {
		return fmt.Errorf("wants email, groups (a list) and github (a login): %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	s.caller = clustermanager.Caller{Email: caller.Email, Groups: caller.Groups}
	if caller.GitHub != "" {
		s.caller.GitHub = &clustermanager.GitHubIdentity{Login: caller.GitHub}
	}
	return nil
}

func takeFolder(to *string, value any) error {
	folder, is := value.(string)
	if !is || path.IsAbs(folder) {
		return errors.New("wants a folder relative to the snapshot's")
	}
	*to = folder
	return nil
}
