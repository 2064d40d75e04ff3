// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"net/http"
	"strings"
)

// gate finds out who makes a request.
type gate interface {
	// identity returns the headers that tell the cluster who asks. They are for this request, and kept for no other.
	identity(r *http.Request) (http.Header, *refusal)
}

// refusal says why somebody is not let in, and what to do.
type refusal struct {
	code         int
	what, remedy string
}

func unauthorized(what, remedy string) *refusal {
	return &refusal{code: http.StatusUnauthorized, what: what, remedy: remedy}
}

const (
	authorization    = "Authorization"
	impersonateUser  = "Impersonate-User"
	impersonateGroup = "Impersonate-Group"
	// systemPrefix begins the names of users and groups that belong to the cluster.
	systemPrefix = "system:"
	// authenticated is the group of everybody. The cluster adds it by itself.
	authenticated = "system:authenticated"
)

// tokenGate passes the token of a request on. The cluster says whose it is.
type tokenGate struct{}

func (tokenGate) identity(r *http.Request) (http.Header, *refusal) {
	const remedy = "The proxy in front of the console has to sign people in, and to send their ID token with each request, once: Authorization: Bearer TOKEN."
	given := r.Header.Values(authorization)
	switch {
	case len(given) == 0:
		return nil, unauthorized("The request came without a token.", remedy)
	case len(given) > 1:
		return nil, unauthorized("The request came with several tokens.", remedy)
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	if !strings.EqualFold(scheme, "bearer") || strings.TrimSpace(token) == "" {
		return nil, unauthorized("The request came with credentials that are no bearer token.", remedy)
	}
	return http.Header{authorization: {given[0]}}, nil
}

// headerGate believes the proxy who somebody is, and has the console act as that person.
type headerGate struct {
	users, groups []string
	// proven says why a request may be of somebody else than the proxy; nil where nobody else can connect.
	proven func(*http.Request) error
}

func (g *headerGate) identity(r *http.Request) (http.Header, *refusal) {
	if g.proven != nil {
		if err := g.proven(r); err != nil {
			return nil, unauthorized("The request is not from the proxy: "+err.Error()+".",
				"The proxy in front of the console has to show a client certificate of the authority in --proxy-client-ca-file, with a name in --proxy-client-names.")
		}
	}
	user, refused := g.user(r.Header)
	if refused != nil {
		return nil, refused
	}
	identity := http.Header{impersonateUser: {user}}
	for _, name := range g.groups {
		for _, line := range r.Header.Values(name) {
			for group := range strings.SplitSeq(line, ",") {
				switch group = strings.TrimSpace(group); {
				case group == "" || group == authenticated:
				case strings.HasPrefix(group, systemPrefix):
					return nil, notActedAs("group", group)
				default:
					identity[impersonateGroup] = append(identity[impersonateGroup], group)
				}
			}
		}
	}
	return identity, nil
}

// user returns the name in the first header that is there.
func (g *headerGate) user(header http.Header) (string, *refusal) {
	remedy := fmt.Sprintf("The proxy in front of the console has to sign people in, and to send their name with each request, once, in place of what browsers send: %s.",
		strings.Join(g.users, " or "))
	for _, name := range g.users {
		given := header.Values(name)
		if len(given) == 0 {
			continue
		}
		// HTTP/2 keeps spaces around a value that the cluster would remove.
		user := strings.TrimSpace(given[0])
		switch {
		// Proxies may join two headers by a comma, as oauth2-proxy does where it adds to what browsers send.
		case len(given) > 1 || strings.Contains(user, ","):
			return "", unauthorized("The request came with several names.", remedy)
		case user == "":
			return "", unauthorized("The request came with an empty name.", remedy)
		case strings.HasPrefix(user, systemPrefix):
			return "", notActedAs("user", user)
		}
		return user, nil
	}
	return "", unauthorized("The request came without a name.", remedy)
}

func notActedAs(kind, name string) *refusal {
	return &refusal{
		code: http.StatusForbidden, what: fmt.Sprintf("The console does not act as the %s %q.", kind, name),
		remedy: "Names that begin with " + systemPrefix + " belong to the cluster. The proxy has to leave them out, or to give people other names.",
	}
}
