// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"crypto/tls"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/certificate/rotation"
)

// Team is a server for many browsers, behind a proxy that signs people in. Each request to the cluster is made as the
// person who sent it; nothing is kept between two requests.
type Team struct {
	*site

	gate gate
	// origins are where the pages may come from, besides the host that a request names.
	origins []string
	// keeper has the certificate; nil without encryption.
	keeper *rotation.Keeper
	client tls.ClientAuthType
}

// NewTeam returns a console that asks the cluster of config. For people with tokens it uses only the address and the
// authority in config. Besides IP addresses and the hosts in the options, requests may name only hosts. The options
// must be valid.
func NewTeam(ctx context.Context, config *rest.Config, info Info, hosts []string, o Options, c clock.WithTicker) (*Team, error) {
	t := &Team{}
	for _, host := range o.Hosts {
		hosts = append(hosts, strings.ToLower(hostname(host)))
		t.origins = append(t.origins, "https://"+strings.TrimSuffix(strings.ToLower(host), ":443"))
	}
	files := &tlsFiles{certFile: o.TLSCertFile, keyFile: o.TLSPrivateKeyFile, proxyCAFile: o.ProxyClientCAFile}
	if o.encrypted() {
		if _, err := files.Load(ctx); err != nil {
			return nil, err
		}
		t.keeper = rotation.NewKeeper(rotation.KeeperConfig{Source: files, Clock: c, Whose: "the console's"})
		t.keeper.Load(ctx)
	}
	if o.SignIn == SignInToken {
		t.gate, config = tokenGate{}, rest.AnonymousClientConfig(config)
	} else {
		if config.Impersonate.UserName != "" {
			return nil, fmt.Errorf("--kubeconfig: it acts as %q, so that the console can't act as others: give one without `as`", config.Impersonate.UserName)
		}
		headers := &headerGate{users: o.UserHeaders, groups: o.GroupHeaders}
		if o.ProxyClientCAFile != "" {
			// Asked for, and looked at with each request: probes have none.
			t.client, headers.proven = tls.RequestClientCert, files.isProxy(o.ProxyClientNames)
		}
		t.gate, config = headers, rest.CopyConfig(config)
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return asPerson{next} })
	info.SignIn = o.SignIn
	var err error
	t.site, err = newSite(config, info, hosts)
	return t, err
}

// Serve answers requests until ctx ends. It closes the listener.
func (t *Team) Serve(ctx context.Context, listener net.Listener) error {
	if t.keeper == nil {
		return serve(ctx, listener, t, nil)
	}
	following, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t.keeper.Run(following)
	}()
	err := serve(ctx, listener, t, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: t.keeper.GetCertificate, ClientAuth: t.client})
	stop()
	<-ended
	return err
}

// ServeHTTP implements http.Handler.
func (t *Team) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	switch {
	case r.URL.Path == "/livez" || r.URL.Path == "/readyz" || r.URL.Path == "/healthz":
		t.answerProbe(w, r)
	case !t.knownHost(strings.ToLower(r.Host)):
		writeStatus(w, http.StatusMisdirectedRequest, metav1.StatusReasonForbidden, "the console is not reached by this name; --host has those that it answers to")
	case !t.sameOrigin(r):
		writeStatus(w, http.StatusForbidden, metav1.StatusReasonForbidden, "requests from other pages are refused; --host has the hosts of the console's own")
	case r.URL.Path == "/console.css" && r.Method == http.MethodGet:
		t.files.ServeHTTP(w, r) // The page that says what is missing looks like the others.
	default:
		identity, refused := t.gate.identity(r)
		if refused != nil {
			refuseTeam(w, r, refused)
			return
		}
		t.answer(w, withIdentity(r, identity))
	}
}

// answerProbe says whether the console can be reached. Whether the cluster can is for the pages to say: it is no
// reason to restart the console.
func (t *Team) answerProbe(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if t.keeper != nil && r.URL.Path == "/readyz" && t.keeper.Ready() != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("the certificate has expired")) // An error says that the prober has gone.
		return
	}
	_, _ = w.Write([]byte("ok")) // As above.
}

// sameOrigin reports whether a request is from the console's own page, or from no page. Browsers see HTTPS, whatever
// the proxy speaks with the console; only on one machine they may see HTTP.
func (t *Team) sameOrigin(r *http.Request) bool {
	origin, host := strings.ToLower(r.Header.Get("Origin")), strings.ToLower(r.Host)
	if origin == "" {
		return r.Method == http.MethodGet
	}
	return origin == "https://"+host || slices.Contains(t.origins, origin) || origin == "http://"+host && onThisMachine(hostname(host))
}

func onThisMachine(name string) bool {
	address, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && address.IsLoopback()
}

// refuseTeam says what the proxy has to do.
func refuseTeam(w http.ResponseWriter, r *http.Request, refused *refusal) {
	w.Header().Set(signInHeader, "proxy")
	if r.URL.Path == "/" {
		writePage(w, refused.code, `<title>Docket: sign in</title><link rel="stylesheet" href="/console.css">
<main class="alone"><h1>`+html.EscapeString(refused.what)+`</h1>
<p>`+html.EscapeString(refused.remedy)+`</main>`)
		return
	}
	reason := metav1.StatusReasonUnauthorized
	if refused.code == http.StatusForbidden {
		reason = metav1.StatusReasonForbidden
	}
	writeStatus(w, refused.code, reason, refused.what+" "+refused.remedy)
}
