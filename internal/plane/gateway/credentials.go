// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/textproto"
	"strings"
	"unicode/utf8"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

const (
	// tokenProtocol is how browsers give a token: they can't set headers of WebSocket
	// requests.
	tokenProtocol   = "base64url.bearer.authorization.k8s.io." //nolint:gosec // A name, no secret.
	protocolHeader  = "Sec-Websocket-Protocol"
	authorization   = "Authorization"
	impersonateUser = "Impersonate-User"
	impersonateUID  = "Impersonate-Uid"
	impersonateGrp  = "Impersonate-Group"
	extraPrefix     = "Impersonate-Extra-"
)

// caller is the user who made a request to a path of the gateway.
type caller struct {
	// token is the bearer token with which the cluster is asked in the caller's name.
	token string
	user  user.Info
}

type callerKey struct{}

func withCaller(ctx context.Context, c *caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// callerFrom returns nil for requests of this process and for public paths.
func callerFrom(ctx context.Context) *caller {
	c, _ := ctx.Value(callerKey{}).(*caller)
	return c
}

// bearerToken returns the token of a request, "" if there is none.
func bearerToken(r *http.Request) string {
	scheme, token, found := strings.Cut(strings.TrimSpace(r.Header.Get(authorization)), " ")
	if found && strings.EqualFold(scheme, "bearer") {
		return strings.TrimSpace(token)
	}
	if !wsstream.IsWebSocketRequest(r) {
		return ""
	}
	for _, protocol := range protocols(r.Header) {
		encoded, found := strings.CutPrefix(protocol, tokenProtocol)
		if !found {
			continue
		}
		if decoded, err := base64.RawURLEncoding.DecodeString(encoded); err == nil && utf8.Valid(decoded) {
			return string(decoded)
		}
	}
	return ""
}

func protocols(h http.Header) []string {
	var all []string
	for _, line := range h.Values(protocolHeader) {
		for _, protocol := range strings.Split(line, ",") {
			all = append(all, textproto.TrimString(protocol))
		}
	}
	return all
}

// hasCertificate reports whether the client showed a certificate.
func hasCertificate(r *http.Request) bool {
	return r.TLS != nil && len(r.TLS.PeerCertificates) > 0
}

// impersonates reports whether a request asks to be made in somebody else's name.
func impersonates(h http.Header) bool {
	for name := range h {
		if strings.HasPrefix(name, "Impersonate-") {
			return true
		}
	}
	return false
}

// impersonate sets the headers that make the cluster take a request as who's.
func impersonate(h http.Header, who user.Info) {
	h.Set(impersonateUser, who.GetName())
	if uid := who.GetUID(); uid != "" {
		h.Set(impersonateUID, uid)
	}
	for _, group := range who.GetGroups() {
		if group != user.AllAuthenticated {
			h.Add(impersonateGrp, group)
		}
	}
	for key, values := range who.GetExtra() {
		for _, value := range values {
			h.Add(extraPrefix+escapeKey(key), value)
		}
	}
}

// escapeKey makes a header name of any key, as kube-apiserver reads it back.
func escapeKey(key string) string {
	var b strings.Builder
	for i := range len(key) {
		c := key[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' {
			b.WriteByte(c)
		} else {
			const hex = "0123456789ABCDEF"
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
