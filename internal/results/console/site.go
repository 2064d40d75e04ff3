// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"embed"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/results/resultsapi"
)

//go:embed web
var web embed.FS

// contentSecurityPolicy allows the console's own files and requests, and nothing else: no script in a page, no frame,
// no form that is sent.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// protect sets the headers that all answers have.
func protect(header http.Header) {
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}

// site is everything that a signed-in browser can reach: the pages, and the cluster.
type site struct {
	hosts []string
	info  Info
	// proxy sends requests of browsers to the cluster.
	proxy, files http.Handler
	// server is the address of the cluster, and transport sends requests there with the credentials of the console.
	server    *url.URL
	transport http.RoundTripper
	// reviews are where the cluster says whom it takes somebody for.
	reviews authenticationv1client.SelfSubjectReviewsGetter
	streams streams
}

func newSite(config *rest.Config, info Info, hosts []string) (*site, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	unlimited := rest.CopyConfig(config)
	unlimited.QPS = -1
	reviews, err := authenticationv1client.NewForConfig(unlimited)
	if err != nil {
		return nil, err
	}
	files, err := fs.Sub(web, "web")
	if err != nil {
		return nil, err
	}
	info.Kinds = resultsapi.Kinds(registry.Groups(), info.Kinds...)
	return &site{
		hosts: hosts, info: info, proxy: onlyAllowed(info.Kinds, newProxy(transport, server, info.SignIn != "")), server: server, transport: transport,
		files: http.FileServerFS(files), reviews: reviews,
	}, nil
}

// knownHost reports whether a request names the console by an address, or by a name that is known. Other names may be
// those of a page that has its name point here, to read what only this machine can.
func (s *site) knownHost(host string) bool {
	name := host
	if without, _, err := net.SplitHostPort(host); err == nil {
		name = without
	}
	_, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil || slices.Contains(s.hosts, name)
}

// answer serves a browser that is signed in.
func (s *site) answer(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/api"):
		s.proxy.ServeHTTP(w, r)
	case r.Method != http.MethodGet:
		writeStatus(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "only GET is answered here")
	case r.URL.Path == infoPath:
		writeJSON(w, http.StatusOK, s.info)
	case r.URL.Path == changesPath:
		s.changes(w, r)
	default:
		s.files.ServeHTTP(w, r)
	}
}
