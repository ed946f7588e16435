package gke

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"

	clustermanager "github.com/clustermanager/cluster-manager"
	"github.com/clustermanager/cluster-manager/managed"
)

// scope is the one that the API asks for.
const scope = "https://www.googleapis.com/auth/cloud-platform"

// secretTypes are the types that a secret file of a kind may have. Another type is refused: a file that is mounted for one
// purpose does not make the process fetch from an address that the file names for another.
var secretTypes = map[managed.CredentialsKind][]credentials.CredType{
	managed.CredentialsKey:         {credentials.ServiceAccount},
	managed.CredentialsImpersonate: {credentials.ImpersonatedServiceAccount, credentials.ExternalAccount},
}

// Detect are an account's credentials: a service account's key or a configuration for impersonation (Workload Identity) from
// the account's secret file, else those of the environment (Application Default Credentials). Its errors name the
// account and never what the file holds.
func Detect(account managed.Account) (*auth.Credentials, error) {
	options := &credentials.DetectOptions{Scopes: []string{scope}, Logger: silent}
	types := secretTypes[account.Credentials.Kind]
	if types == nil {
		found, err := credentials.DetectDefault(options)
		if err != nil {
			// The library's message may quote the file that it found.
			return nil, accountFault(account, "finding the environment's credentials", errNoDefault)
		}
		return found, nil
	}
	secret, err := os.ReadFile(account.Credentials.SecretFile)
	if err != nil {
		return nil, accountFault(account, "reading its secret", err)
	}
	var of struct {
		Type credentials.CredType `json:"type"`
	}
	if json.Unmarshal(secret, &of) != nil {
		return nil, accountFault(account, "reading its secret", errors.New("the file is no JSON object"))
	}
	for _, kind := range types {
		if of.Type != kind {
			continue
		}
		found, err := credentials.NewCredentialsFromJSON(kind, secret, options)
		if err != nil {
			return nil, accountFault(account, "reading its secret", errors.New("the file is no usable "+string(kind)))
		}
		return found, nil
	}
	return nil, accountFault(account, "reading its secret", fmt.Errorf("the file's type is none of %v", types))
}

var errNoDefault = errors.New("there are none: set GOOGLE_APPLICATION_CREDENTIALS, or give the account a secret file")

// spokenBy tells one set of credentials from another: the kind, and a digest of the secret file as it is now.
func spokenBy(account managed.Account) (string, error) {
	spoken := account.Project + " " + string(account.Credentials.Kind)
	if account.Credentials.SecretFile == "" {
		return spoken, nil
	}
	secret, err := os.ReadFile(account.Credentials.SecretFile)
	if err != nil {
		return "", accountFault(account, "reading its secret", err)
	}
	return fmt.Sprintf("%s %x", spoken, sha256.Sum256(secret)), nil
}

func accountFault(account managed.Account, doing string, err error) error {
	return fmt.Errorf("provider account %s: %s: %w", account.ID, doing, err)
}

// Given are credentials of one access token for every account: for a provider that is a double.
func Given(token clustermanager.Secret) func(managed.Account) (*auth.Credentials, error) {
	return func(managed.Account) (*auth.Credentials, error) {
		return auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: given{token}}), nil
	}
}

type given struct{ token clustermanager.Secret }

func (g given) Token(context.Context) (*auth.Token, error) {
	return &auth.Token{Value: g.token.Reveal()}, nil
}
