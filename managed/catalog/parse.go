// Package catalog reads the catalogue of the managed clusters API: provider accounts, pools, offers, networks, budgets
// and bindings, from one YAML file.
//
// The package promises: a file with an unknown or doubled field, an unknown reference, a second document or none is refused
// with all its faults; a [File] that turns faulty while it is used keeps what it had and says why. Secrets are no part
// of the file: an account names a mounted one.
//
// It leaves out what the entries mean to a call (package managed), and whether an account's secret can be read.
package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v2"

	"github.com/clustermanager/cluster-manager/managed"
)

// Parse reads a catalogue and holds it against itself. The error has every fault, one a line.
func Parse(data []byte) (*managed.Catalogue, error) {
	if err := oneDocument(data); err != nil {
		return nil, err
	}
	var catalogue managed.Catalogue
	if err := yaml.UnmarshalStrict(data, &catalogue); err != nil {
		return nil, fmt.Errorf("decoding: %w", err)
	}
	if err := check(&catalogue); err != nil {
		return nil, err
	}
	return &catalogue, nil
}

// oneDocument refuses a second document, and none: a file half written is no catalogue.
func oneDocument(data []byte) error {
	decoder := goyaml.NewDecoder(bytes.NewReader(data))
	for count := 0; ; count++ {
		var document any
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF) && count == 1:
			return nil
		case err == nil && document == nil, errors.Is(err, io.EOF):
			return errors.New("decoding: the file is empty: a catalogue of nothing is {}")
		case err != nil:
			return fmt.Errorf("decoding: %w", err)
		case count > 0:
			return errors.New("decoding: a second document: the catalogue is one")
		}
	}
}

// shapes are what an entry's text must look like; those of ids that callers name are the reference's.
var shapes = map[string]*regexp.Regexp{
	"id":     regexp.MustCompile(`^[A-Za-z0-9._-]{1,63}$`),
	"tenant": regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`),
	"pool":   regexp.MustCompile(`^pool_[0-9a-hjkmnp-tv-z]{26,52}$`),
	"net":    regexp.MustCompile(`^net_[0-9a-hjkmnp-tv-z]{26,52}$`),
	"zone":   regexp.MustCompile(`^[a-z]+(-[a-z0-9]+)+-[a-z]$`),
	"region": regexp.MustCompile(`^[a-z]+(-[a-z0-9]+)+$`),
	"name":   regexp.MustCompile(`^.+$`),
	"user":   regexp.MustCompile(`^[^|]+\|.+$`),
}

// checker collects faults, each with the path of its entry.
type checker struct {
	faults []error
	// seen are the keys of each list of entries, by list and key.
	seen map[string]bool
}

func (c *checker) add(path, format string, arguments ...any) {
	c.faults = append(c.faults, fmt.Errorf("%s: "+format, append([]any{path}, arguments...)...))
}

func (c *checker) shape(path, kind, text string) {
	if !shapes[kind].MatchString(text) {
		c.add(path, "%q does not match %s", text, shapes[kind])
	}
}

func (c *checker) oneOf(path, text string, words ...string) {
	if !slices.Contains(words, text) {
		c.add(path, "%q is none of %s", text, strings.Join(words, ", "))
	}
}

func (c *checker) once(list, path, key string) {
	if c.seen[list+" "+key] {
		c.add(path, "%s is there twice", key)
	}
	c.seen[list+" "+key] = true
}

func check(catalogue *managed.Catalogue) error {
	c := &checker{seen: map[string]bool{}}
	for i, account := range catalogue.Accounts {
		c.account(fmt.Sprintf("accounts[%d]", i), account)
	}
	for i, pool := range catalogue.Pools {
		path := fmt.Sprintf("pools[%d]", i)
		c.shape(path+".id", "pool", pool.ID)
		c.once("pools", path+".id", pool.ID)
		c.known(path+".account", "accounts", pool.Account)
		c.oneOf(path+".kind", string(pool.Kind), string(managed.PoolProvider), string(managed.PoolHost))
		c.oneOf(path+".billing", string(pool.Billing),
			string(managed.BillingNone), string(managed.BillingMetered), string(managed.BillingPlatformFee))
	}
	for i, offer := range catalogue.Offers {
		c.offer(fmt.Sprintf("offers[%d]", i), offer, catalogue)
	}
	for i, network := range catalogue.Networks {
		c.network(fmt.Sprintf("networks[%d]", i), network)
	}
	for i, budget := range catalogue.Budgets {
		path := fmt.Sprintf("budgets[%d].tenant", i)
		c.shape(path, "tenant", budget.Tenant)
		c.once("budgets", path, budget.Tenant)
	}
	for i, binding := range catalogue.Bindings {
		c.binding(fmt.Sprintf("bindings[%d]", i), binding)
	}
	return errors.Join(c.faults...)
}

func (c *checker) known(path, list, key string) {
	if !c.seen[list+" "+key] {
		c.add(path, "%q is none of the %s", key, list)
	}
}

func (c *checker) account(path string, account managed.Account) {
	c.shape(path+".id", "id", account.ID)
	c.once("accounts", path+".id", account.ID)
	c.shape(path+".provider", "id", account.Provider)
	if account.Tenant != "" {
		c.shape(path+".tenant", "tenant", account.Tenant)
	}
	for i, zone := range account.Zones {
		at := fmt.Sprintf("%s.zones[%d]", path, i)
		c.shape(at, "zone", zone)
		c.once(path+".zones", at, zone)
	}
	for i, text := range account.Egress {
		if _, err := netip.ParsePrefix(text); err != nil {
			c.add(fmt.Sprintf("%s.egress[%d]", path, i), "%q is no range such as 192.0.2.0/24", text)
		}
	}
	if account.Provider != managed.ProviderGCP {
		return
	}
	c.shape(path+".project", "name", account.Project)
	if len(account.Zones) == 0 {
		c.add(path+".zones", "is empty: an account is configured with at least one")
	}
	c.credentials(path+".credentials", account.Credentials)
}

// credentials without a kind are the default ones.
func (c *checker) credentials(path string, credentials managed.AccountCredentials) {
	kind := credentials.Kind
	if kind != "" {
		c.oneOf(path+".kind", string(kind), string(managed.CredentialsDefault), string(managed.CredentialsKey), string(managed.CredentialsImpersonate))
	}
	switch secret := kind == managed.CredentialsKey || kind == managed.CredentialsImpersonate; {
	case secret && credentials.SecretFile == "":
		c.add(path+".secretFile", "is required with kind %s", kind)
	case !secret && credentials.SecretFile != "":
		c.add(path+".secretFile", "has no use without kind key or impersonate")
	}
}

func (c *checker) offer(path string, offer managed.Offer, catalogue *managed.Catalogue) {
	c.known(path+".pool", "pools", offer.Pool)
	c.shape(path+".tenant", "tenant", offer.Tenant)
	c.once("offers", path, offer.Pool+" to "+offer.Tenant)
	for i, region := range offer.ExcludedRegions {
		c.shape(fmt.Sprintf("%s.excludedRegions[%d]", path, i), "region", region)
	}
	for _, pool := range catalogue.Pools {
		if account, _ := catalogue.Account(pool.Account); pool.ID == offer.Pool && account.Tenant != "" {
			c.add(path+".pool", "%s is on an account of %s's own: only a platform account's pool is offered", offer.Pool, account.Tenant)
		}
	}
}

func (c *checker) network(path string, network managed.Network) {
	c.shape(path+".id", "net", network.ID)
	c.once("networks", path+".id", network.ID)
	c.shape(path+".tenant", "tenant", network.Tenant)
	c.known(path+".account", "accounts", network.Account)
	if network.Provisioned {
		c.shape(path+".network", "name", network.Network)
	}
	for i, subnet := range network.Subnets {
		at := fmt.Sprintf("%s.subnets[%d]", path, i)
		c.shape(at+".name", "name", subnet.Name)
		c.shape(at+".region", "region", subnet.Region)
		c.once(path+".subnets", at, subnet.Region+"/"+subnet.Name)
	}
}

func (c *checker) binding(path string, binding managed.Binding) {
	c.shape(path+".tenant", "tenant", binding.Tenant)
	c.oneOf(path+".role", string(binding.Role), string(managed.TenantViewer), string(managed.TenantOperator))
	for i, user := range binding.Users {
		c.shape(fmt.Sprintf("%s.users[%d]", path, i), "user", user)
	}
	for i, group := range binding.Groups {
		c.shape(fmt.Sprintf("%s.groups[%d]", path, i), "name", group)
	}
}
