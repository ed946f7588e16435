// Command issuer is the identity provider of the test bed: an OpenID Connect provider over TLS whose id_tokens carry
// email and groups, as the providers in front of Kubernetes API servers do.
//
// It promises discovery, keys, the authorization code flow with PKCE and a login form, refresh tokens and userinfo, as
// the library does them. It keeps everything in memory and signs with a key made at its start. It is for tests on
// loopback alone: passwords lie in a file, in plain.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "issuer:", err)
		os.Exit(1)
	}
}

func run() error {
	listen := flag.String("listen", "", "loopback address to serve on; https:// and this is the issuer")
	certificate := flag.String("certificate", "", "file of the serving certificate, PEM")
	key := flag.String("key", "", "file of its key, PEM")
	users := flag.String("users", "", "file of the users: JSON, a list of {email, password, groups}")
	client := flag.String("client", "", "the one client, public, with PKCE")
	redirects := flag.String("redirects", "", "its redirect URIs, separated by commas")
	flag.Parse()

	people, err := readPeople(*users)
	if err != nil {
		return err
	}
	clients := map[string]*storage.Client{*client: storage.NativeClient(*client, strings.Split(*redirects, ",")...)}
	store := &store{Storage: storage.NewStorageWithClients(people, clients), people: people}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	server := &http.Server{
		Addr:              *listen,
		Handler:           exampleop.SetupServer("https://"+*listen, store, logger, false),
		ReadHeaderTimeout: 10 * time.Second,
	}
	if err := server.ListenAndServeTLS(*certificate, *key); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s: %w", *listen, err)
	}
	return nil
}
