package offline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	clustermanager "github.com/clustermanager/cluster-manager"
)

const (
	settingsFile        = "cluster-manager.yaml"
	defaultRepositories = "repos"
	defaultCharts       = "charts"
)

// form is what a flag's value must look like.
type form int

const (
	text form = iota
	boolean
	number
	duration
	list
)

// flag is a flag of serve: its form, and the setting that it gives, if decisions depend on it.
type flag struct {
	form form
	set  func(settings *clustermanager.Settings, value string) error
}

// flags are the flags of serve, which are the keys of the file.
var flags = map[string]flag{
	"installation":               {text, setText(func(s *clustermanager.Settings) *string { return &s.Installation })},
	"tenant-service-account":     {text, setText(func(s *clustermanager.Settings) *string { return &s.TenantServiceAccount })},
	"dex-issuer-url":             {text, setText(func(s *clustermanager.Settings) *string { return &s.IssuerURL })},
	"cluster-oidc-client-id":     {text, setText(func(s *clustermanager.Settings) *string { return &s.ClientID })},
	"branch-prefix":              {text, setText(func(s *clustermanager.Settings) *string { return &s.BranchPrefix })},
	"commit-budget":              {duration, setDuration(func(s *clustermanager.Settings) *time.Duration { return &s.CommitBudget })},
	"gpu-operator-dcgm-exporter": {boolean, setDCGMExporter},
	"model-manager-namespace":    {text, setText(func(s *clustermanager.Settings) *string { return &s.ModelManagerNamespace })},
	"models-certificate-issuer":  {text, setText(func(s *clustermanager.Settings) *string { return &s.ModelsCertificateIssuer })},
	"serving-cache-claim":        {text, setText(func(s *clustermanager.Settings) *string { return &s.ServingCacheClaim })},
	"serving-namespace":          {text, setText(func(s *clustermanager.Settings) *string { return &s.ServingNamespace })},
	"slice-chart-version":        {text, setText(func(s *clustermanager.Settings) *string { return &s.SliceChartVersion })},
	"apply-budget":               {duration, setDuration(func(s *clustermanager.Settings) *time.Duration { return &s.ApplyBudget })},
	"git-hosts":                  {list, addGitHosts},

	"allow-private-oauth-urls":    {form: boolean},
	"caller-concurrency":          {form: number},
	"caller-rate":                 {form: number},
	"catalog":                     {form: text},
	"credential-ttl-seconds":      {form: number},
	"database":                    {form: text},
	"deleted-retention":           {form: duration},
	"dex-ca-file":                 {form: text},
	"downstream-oauth":            {form: boolean},
	"enable-oauth":                {form: boolean},
	"events-webhook-secret-file":  {form: text},
	"events-webhook-url":          {form: text},
	"github-api-url":              {form: text},
	"github-app-id":               {form: text},
	"github-app-private-key-file": {form: text},
	"github-authorization-server": {form: text},
	"github-webhook-path":         {form: text},
	"github-webhook-secret-file":  {form: text},
	"in-cluster":                  {form: boolean},
	"kube-context":                {form: text},
	"kubeconfig":                  {form: text},
	"listen":                      {form: text},
	"max-clusters-per-tenant":     {form: number},
	"max-request-bytes":           {form: number},
	"mcp-enabled":                 {form: boolean},
	"mcp-path":                    {form: text},
	"oauth-base-url":              {form: text},
	"oauth-trusted-audiences":     {form: list},
	"read-only":                   {form: boolean},
	"secret-digest-key-file":      {form: text},
	"sso-allow-private-ips":       {form: boolean},
	"stdio":                       {form: boolean},
	"tenant-rate":                 {form: number},
	"tools":                       {form: list},
	"verbose":                     {form: boolean},
	"watcher-token-file":          {form: text},
}

// settingsRead is what the file says.
type settingsRead struct {
	settings     clustermanager.Settings
	caller       clustermanager.Caller
	flags        map[string]string
	repositories string
	charts       string
}

// readSettings reads the file and returns every fault of it, each naming the file.
func readSettings(name string) (settingsRead, []string) {
	read := settingsRead{
		settings: clustermanager.DefaultSettings(), flags: map[string]string{}, repositories: defaultRepositories, charts: defaultCharts,
	}
	values, err := decodeSettings(name)
	if err != nil {
		return read, []string{fmt.Sprintf("%s: %v", name, err)}
	}
	var faults []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if err := read.take(key, values[key]); err != nil {
			faults = append(faults, fmt.Sprintf("%s: %s: %v", name, key, err))
		}
	}
	return read, faults
}

// decodeSettings returns the file's keys. Numbers keep the text that they were written in.
func decodeSettings(name string) (map[string]any, error) {
	content, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the file does not exist, so the folder is no snapshot")
	}
	if err != nil {
		return nil, err
	}
	document, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var values map[string]any
	if err := decoder.Decode(&values); err != nil {
		return nil, errors.New("the file is not a mapping")
	}
	return values, nil
}

// take reads one key. A key without a value is unset.
func (s *settingsRead) take(key string, value any) error {
	switch {
	case value == nil:
		return nil
	case key == "caller":
		return s.takeCaller(value)
	case key == "repos":
		return takeFolder(&s.repositories, value)
	case key == "charts":
		return takeFolder(&s.charts, value)
	}
	flag, known := flags[key]
	if !known {
		return errors.New("no such setting")
	}
	plain, err := flag.form.plain(value)
	if err != nil {
		return err
	}
	s.flags[key] = plain
	if flag.set == nil {
		return nil
	}
	return flag.set(&s.settings, plain)
}

func (s *settingsRead) takeCaller(value any) error {
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
	folder, err := text.plain(value)
	if err != nil {
		return err
	}
	if path.IsAbs(folder) {
		return errors.New("wants a folder relative to the snapshot's")
	}
	*to = folder
	return nil
}

// plain returns the value as the command line would give it, or what the form wants.
func (f form) plain(value any) (string, error) {
	if elements, is := value.([]any); is && f == list {
		var texts []string
		for _, element := range elements {
			plain, err := text.plain(element)
			if err != nil {
				return "", err
			}
			texts = append(texts, plain)
		}
		return strings.Join(texts, ","), nil
	}
	var plain string
	switch value := value.(type) {
	case string:
		plain = value
	case bool, json.Number:
		plain = fmt.Sprint(value)
	default:
		return "", errors.New("wants one value")
	}
	return plain, f.check(plain)
}

func (f form) check(plain string) error {
	switch f {
	case boolean:
		if _, err := strconv.ParseBool(plain); err != nil {
			return fmt.Errorf("%q is neither true nor false", plain)
		}
	case number:
		if _, err := strconv.Atoi(plain); err != nil {
			return fmt.Errorf("%q is no whole number", plain)
		}
	case duration:
		if value, err := time.ParseDuration(plain); err != nil || value < 0 {
			return fmt.Errorf("%q is no duration such as 9s", plain)
		}
	}
	return nil
}

func setText(field func(*clustermanager.Settings) *string) func(*clustermanager.Settings, string) error {
	return func(settings *clustermanager.Settings, value string) error {
		*field(settings) = value
		return nil
	}
}

func setDuration(field func(*clustermanager.Settings) *time.Duration) func(*clustermanager.Settings, string) error {
	return func(settings *clustermanager.Settings, value string) (err error) {
		*field(settings), err = time.ParseDuration(value)
		return err
	}
}

func setDCGMExporter(settings *clustermanager.Settings, value string) (err error) {
	settings.GPUOperatorDCGMExporter, err = strconv.ParseBool(value)
	return err
}

// addGitHosts adds "host=API root" pairs to the hosts that are there. A host that is there may stand alone.
func addGitHosts(settings *clustermanager.Settings, value string) error {
	for entry := range strings.SplitSeq(value, ",") {
		host, root, _ := strings.Cut(strings.TrimSpace(entry), "=")
		host = strings.ToLower(host)
		if _, there := settings.GitHosts[host]; there && root == "" {
			continue
		}
		api, err := url.Parse(root)
		if err != nil || host == "" || api.Host == "" || (api.Scheme != "https" && api.Scheme != "http") {
			return errors.New("wants host=API root, such as ghe.example.com=https://ghe.example.com/api/v3")
		}
		settings.GitHosts[host] = root
	}
	return nil
}
