package compose

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// clusterValues is what a pool takes from the cluster's effective values. What is a credential is a Secret here and
// leaves for the values Secret alone.
type clusterValues struct {
	baseDomain        string
	managementCluster string
	ipamMode          string
	// mirrors are the endpoints of each registry host, in their order.
	mirrors map[string]any
	// credentials are username, password and auth by endpoint, whichever are set.
	credentials map[string]map[string]clustermanager.Secret
	// proxy is nil without one. sealedProxy holds the addresses of it that carry credentials themselves.
	proxy       map[string]any
	sealedProxy map[string]clustermanager.Secret
}

// sealed says whether the pool needs a values Secret.
func (v clusterValues) sealed() bool { return len(v.credentials) > 0 || len(v.sealedProxy) > 0 }

// readValues takes what the pool needs from the effective values. A part in an unexpected form is refused by its path;
// its content is never told, since it may be a credential.
func (d *decision) readValues() error {
	effective, _ := d.survey.Values.Get()
	values := effective.Values.Reveal()
	d.values.baseDomain = text(values, "global", "connectivity", "baseDomain")
	d.values.managementCluster = managementCluster(values, d.survey.Settings)
	d.values.ipamMode = text(values, "global", "connectivity", "cilium", "ipamMode")
	for _, read := range []func(map[string]any) error{d.readRegistries, d.readProxy} {
		if err := read(values); err != nil {
			return clustermanager.Refuse("%s: its values cannot be read: %v; correct it in %s and run the call again", d.cluster(), err, owner(effective))
		}
	}
	return nil
}

// managementCluster is the name in the values, else the installation's.
func managementCluster(values map[string]any, settings clustermanager.Settings) string {
	if name := text(values, "global", "managementCluster"); name != "" {
		return name
	}
	return settings.Installation
}

// Faults of a value, told with its path and without the value.
var (
	errNoMap      = errors.New("is no mapping")
	errNoList     = errors.New("is no list")
	errNoString   = errors.New("is no string")
	errNoEndpoint = errors.New("names no endpoint")
	errUserinfo   = errors.New("holds credentials in its address, which belong under credentials")
)

func at(path string, fault error) error { return fmt.Errorf("%s %w", path, fault) }

const (
	registriesPath = "global.components.containerd.containerRegistries"
	proxyPath      = "global.connectivity.proxy"
)

// readRegistries fills mirrors and credentials.
func (d *decision) readRegistries(values map[string]any) error {
	d.values.mirrors = map[string]any{}
	d.values.credentials = map[string]map[string]clustermanager.Secret{}
	registries, err := mapping(registriesPath, lookup(values, strings.Split(registriesPath, ".")...))
	if err != nil {
		return err
	}
	for _, host := range slices.Sorted(maps.Keys(registries)) {
		path := fmt.Sprintf("%s[%q]", registriesPath, host)
		entries, ok := registries[host].([]any)
		if !ok && registries[host] != nil {
			return at(path, errNoList)
		}
		endpoints := []any{}
		for i, entry := range entries {
			endpoint, err := d.readEndpoint(fmt.Sprintf("%s[%d]", path, i), entry)
			if err != nil {
				return err
			}
			endpoints = append(endpoints, endpoint)
		}
		d.values.mirrors[host] = endpoints
	}
	return nil
}

// readEndpoint reads {endpoint, credentials{username, password, auth}} and returns the endpoint.
func (d *decision) readEndpoint(path string, entry any) (string, error) {
	fields, err := mapping(path, entry)
	if err != nil {
		return "", err
	}
	endpoint, _ := fields["endpoint"].(string)
	switch {
	case endpoint == "":
		return "", at(path, errNoEndpoint)
	case strings.Contains(endpoint, "@"):
		return "", at(path+".endpoint", errUserinfo)
	}
	given, err := mapping(path+".credentials", fields["credentials"])
	if err != nil {
		return "", err
	}
	credentials := map[string]clustermanager.Secret{}
	for _, key := range []string{"username", "password", "auth"} {
		value, ok := given[key].(string)
		switch {
		case !ok && given[key] != nil:
			return "", at(path+".credentials."+key, errNoString)
		case value != "":
			credentials[key] = clustermanager.NewSecret(value)
		}
	}
	d.addCredentials(endpoint, credentials)
	return endpoint, nil
}

// addCredentials keeps the first of an endpoint that stands under several hosts; one that differs is told.
func (d *decision) addCredentials(endpoint string, credentials map[string]clustermanager.Secret) {
	first, there := d.values.credentials[endpoint]
	switch {
	case len(credentials) == 0:
	case !there:
		d.values.credentials[endpoint] = credentials
	case !maps.EqualFunc(first, credentials, clustermanager.Secret.Equal):
		d.warn("%s: its values hold different credentials for registry endpoint %s under several hosts; the pool takes those of the first host in alphabetical order", d.cluster(), endpoint)
	}
}

// readProxy fills the proxy when it is enabled. An address with credentials goes to the values Secret instead.
func (d *decision) readProxy(values map[string]any) error {
	given, err := mapping(proxyPath, lookup(values, strings.Split(proxyPath, ".")...))
	if err != nil {
		return err
	}
	if enabled, _ := given["enabled"].(bool); !enabled {
		return nil
	}
	d.values.proxy = map[string]any{"enabled": true}
	d.values.sealedProxy = map[string]clustermanager.Secret{}
	for _, key := range []string{"httpProxy", "httpsProxy"} {
		address, ok := given[key].(string)
		switch {
		case !ok && given[key] != nil:
			return at(proxyPath+"."+key, errNoString)
		case strings.Contains(address, "@"):
			d.values.sealedProxy[key] = clustermanager.NewSecret(address)
		case address != "":
			d.values.proxy[key] = address
		}
	}
	exceptions, err := noProxy(given["noProxy"])
	if err != nil {
		return at(proxyPath+".noProxy", err)
	}
	if exceptions != "" {
		d.values.proxy["noProxy"] = exceptions
	}
	return nil
}

// noProxy reads a string, a list, or a mapping with the list under addresses.
func noProxy(value any) (string, error) {
	switch value := value.(type) {
	case nil:
		return "", nil
	case string:
		return value, nil
	case map[string]any:
		return noProxy(value["addresses"])
	case []any:
		var addresses []string
		for _, entry := range value {
			address, ok := entry.(string)
			if !ok {
				return "", fmt.Errorf("has an entry that %w", errNoString)
			}
			addresses = append(addresses, address)
		}
		return strings.Join(addresses, ","), nil
	}
	return "", errNoString
}

// lookup is the value at a path, nil when the path leads nowhere.
func lookup(values map[string]any, path ...string) any {
	var value any = values
	for _, key := range path {
		fields, _ := value.(map[string]any)
		value = fields[key]
	}
	return value
}

// text is the string at a path, "" for anything else.
func text(values map[string]any, path ...string) string {
	value, _ := lookup(values, path...).(string)
	return value
}

// mapping is the value at the path as a map; nil is an empty one.
func mapping(path string, value any) (map[string]any, error) {
	fields, ok := value.(map[string]any)
	if !ok && value != nil {
		return nil, at(path, errNoMap)
	}
	return fields, nil
}

// owner names the object in which a person changes the cluster's values.
func owner(values clustermanager.EffectiveValues) string {
	if values.Owner == "" {
		return "the cluster's values"
	}
	return "the values of " + values.Owner
}
