// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/util/keyutil"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// Where Debian's package has the portal of LemonLDAP::NG, and the scripts and styles of its pages.
const (
	portalFolder  = "/usr/share/lemonldap-ng/portal"
	scriptsFolder = "/usr/share/javascript"
	// portalCommand is of the same package; the portal itself is not a command.
	portalCommand = "/usr/share/lemonldap-ng/bin/purgeCentralCache"
)

// portalPackages are the portal, and what it loads for OpenID Connect without depending on it.
const portalPackages = "liblemonldap-ng-portal-perl,libgd-securityimage-perl,libimage-magick-perl,libio-string-perl,libstring-random-perl"

// Provider is an OpenID provider: LemonLDAP::NG, as Debian has it. Its people come from its demonstration: their
// names are their passwords, dwho has the address dwho@badwolf.org and is in the groups timelords and users, rtyler has
// rtyler@badwolf.org and is in earthlings and users.
type Provider struct {
	// Issuer is its address, and in its tokens.
	Issuer string
	// ClientID and ClientSecret belong to its one client.
	ClientID, ClientSecret string

	authority *authority
	dir       string
	process   process
}

// StartProvider starts a provider with one client, to whose address it sends people back. It ends with the test.
func StartProvider(t testing.TB, redirect string) *Provider {
	t.Helper()
	testkit.NoError(t, testenv.Need(t.Context(), portalCommand+"="+portalPackages))
	p := &Provider{ClientID: "docket-console", ClientSecret: randomToken(), dir: t.TempDir()}
	p.authority = testkit.Must(newAuthority(p.dir, "sign-in"))(t)
	behind := net.JoinHostPort("127.0.0.1", strconv.Itoa(testenv.FreePort(t)))
	// The portal's own server has no TLS, and no files: those are for the web server before it.
	files := http.NewServeMux()
	files.Handle("/", passOn(behind))
	files.Handle("/static/", http.StripPrefix("/static/", http.FileServer(http.Dir(filepath.Join(portalFolder, "htdocs", "static")))))
	files.Handle("/javascript/", http.StripPrefix("/javascript/", http.FileServer(http.Dir(scriptsFolder))))
	p.Issuer = "https://" + net.JoinHostPort("localhost", strconv.Itoa(serveTLS(t, p.authority, "localhost", files)))
	settings := testkit.Must(p.configure(redirect))(t)
	host, port, _ := net.SplitHostPort(behind)
	p.process = process{
		path:      "plackup",
		arguments: []string{"--host", host, "--port", port, "--no-default-middleware", filepath.Join(portalFolder, "htdocs", "index.psgi")},
		env:       []string{"LLNG_DEFAULTCONFFILE=" + settings},
	}
	testkit.NoError(t, p.process.start(t.Context(), func(ctx context.Context, _ *output) bool {
		return answers(ctx, "http://"+behind+"/.well-known/openid-configuration")
	}))
	t.Cleanup(func() {
		if err := p.process.end(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		p.process.log(t)
	})
	return p
}

// Accepted lets kube-apiserver accept the provider's tokens, in which people have their addresses and groups.
func (p *Provider) Accepted() ClusterOption {
	return APIServerArguments("--oidc-issuer-url="+p.Issuer, "--oidc-client-id="+p.ClientID, "--oidc-ca-file="+p.authority.file,
		"--oidc-username-claim=email", "--oidc-groups-claim=groups")
}

// configure writes what an administrator sets up in the Manager, and returns the path of the file that leads there.
func (p *Provider) configure(redirect string) (string, error) {
	private, public, err := signingKey()
	if err != nil {
		return "", err
	}
	for _, folder := range []string{"settings", "cache", "sessions", "persistent", "locks"} {
		if err := os.Mkdir(filepath.Join(p.dir, folder), 0o700); err != nil {
			return "", err
		}
	}
	const client = "console"
	sessions := func(folder string) map[string]any {
		return map[string]any{"Directory": filepath.Join(p.dir, folder), "LockDirectory": filepath.Join(p.dir, "locks")}
	}
	settings, err := json.Marshal(map[string]any{
		"cfgNum": 1, "cfgDate": 1, "cfgAuthor": "a test", "key": randomToken(),
		"portal": p.Issuer + "/", "domain": "localhost", "securedCookie": 1,
		"authentication": "Demo", "userDB": "Same", "passwordDB": "Null", "demoExportedVars": map[string]any{"cn": "cn", "mail": "mail", "uid": "uid"},
		"locationRules": map[string]any{}, "exportedHeaders": map[string]any{}, // It protects no pages of its own.
		"portalDisplayResetPassword": 0, "portalDisplayRegister": 0, // They send mail.
		"globalStorage": "Apache::Session::File", "globalStorageOptions": sessions("sessions"),
		"persistentStorage": "Apache::Session::File", "persistentStorageOptions": sessions("persistent"),
		"issuerDBOpenIDConnectActivation": 1, "oidcServiceMetaDataIssuer": p.Issuer,
		"oidcServicePrivateKeySig": private, "oidcServicePublicKeySig": public, "oidcServiceKeyIdSig": "one",
		"oidcRPMetaDataOptions": map[string]any{client: map[string]any{
			"oidcRPMetaDataOptionsClientID": p.ClientID, "oidcRPMetaDataOptionsClientSecret": p.ClientSecret, "oidcRPMetaDataOptionsRedirectUris": redirect,
			"oidcRPMetaDataOptionsIDTokenSignAlg": "RS256", "oidcRPMetaDataOptionsRefreshToken": 1, "oidcRPMetaDataOptionsUserIDAttr": "uid",
			"oidcRPMetaDataOptionsIDTokenForceClaims": 1, // The cluster has nothing else to go by.
		}},
		"oidcRPMetaDataExportedVars":       map[string]any{client: map[string]any{"email": "mail", "name": "cn", "groups": "groups;array;always"}},
		"oidcRPMetaDataOptionsExtraClaims": map[string]any{client: map[string]any{"profile": "groups"}},
	})
	if err != nil {
		return "", err
	}
	main := filepath.Join(p.dir, "lemonldap-ng.ini")
	return main, errors.Join(
		os.WriteFile(filepath.Join(p.dir, "settings", "lmConf-1.json"), settings, 0o600),
		os.WriteFile(main, []byte(fmt.Sprintf(`[all]
logLevel = info
[configuration]
type = File
dirName = %s
localStorage = Cache::FileCache
localStorageOptions = {'namespace' => 'settings', 'default_expires_in' => 600, 'cache_root' => '%s', 'cache_depth' => 3}
[portal]
staticPrefix = /static
templateDir = %s
`, filepath.Join(p.dir, "settings"), filepath.Join(p.dir, "cache"), filepath.Join(portalFolder, "templates"))), 0o600),
	)
}

// signingKey returns a new key of the kind that all clients understand, and its public half.
func signingKey() (private, public string, err error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", "", err
	}
	privatePEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return "", "", err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return "", "", err
	}
	return string(privatePEM), strings.TrimSpace(string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))), nil
}
