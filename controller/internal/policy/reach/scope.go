// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/docket-project/docket/controller/internal/policy/bounds"
)

// Scope is what the evaluation of a policy may ask of the cluster's API. The zero Scope belongs to a cluster policy: it
// may read what the controller may read.
type Scope struct {
	// Namespace is the only one that a namespaced policy reads; empty for cluster policies.
	Namespace string
}

// Error says why a request is not made.
type Error struct{ cause error }

// Error implements error.
func (e *Error) Error() string { return e.cause.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

func refuse(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Refused reports whether an error says that a request may not be made, or its answer not be read.
func Refused(err error) bool {
	var refused *Error
	return errors.As(err, &refused) || bounds.Exceeded(err)
}

const (
	// maxAnswer is how many bytes an answer to a cluster policy may have, and maxNamespacedAnswer one to a namespaced
	// policy.
	maxAnswer           = 32 << 20
	maxNamespacedAnswer = 16 << 20
)

// MaxAnswer returns how many bytes an answer of the API may have.
func (s Scope) MaxAnswer() int64 {
	if s.Namespace == "" {
		return maxAnswer
	}
	return maxNamespacedAnswer
}

type scopeKey struct{}

// With returns a context whose requests are held to the scope.
func With(ctx context.Context, scope Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, scope)
}

// Of returns the scope of a context, if it has one.
func Of(ctx context.Context) (Scope, bool) {
	scope, ok := ctx.Value(scopeKey{}).(Scope)
	return scope, ok
}

// Check returns an [*Error] if the path, with its query, may not be asked for with the method.
func (s Scope) Check(method, text string) error {
	target, err := url.Parse(text)
	if err != nil || target.Host != "" || target.Scheme != "" || target.Opaque != "" || target.User != nil || !strings.HasPrefix(target.Path, "/") {
		return s.held(refuse("%q is not a path of the API: it begins with /api or /apis, as for kubectl get --raw", text))
	}
	return s.held(s.check(method, target))
}

// held says of a refusal what a namespaced policy may do.
func (s Scope) held(err error) error {
	if err == nil || s.Namespace == "" {
		return err
	}
	return refuse("a namespaced policy may only read its own namespace, by a plain path below namespaces/%s: %w", s.Namespace, err)
}

// CheckNamespace returns an [*Error] if what is in a namespace may not be read; the empty one stands
// for what is in none, and for all of them.
func (s Scope) CheckNamespace(namespace string) error {
	if s.Namespace == "" || namespace == s.Namespace {
		return nil
	}
	return s.held(refuse("the request is for the namespace %q", namespace))
}

// CheckServices returns an [*Error] if services may not be called.
func (s Scope) CheckServices() error {
	if s.Namespace == "" {
		return nil
	}
	return s.held(refuse("services are called by cluster policies, and by entries of the context cache"))
}

// check is the rule.
func (s Scope) check(method string, target *url.URL) error {
	if method != http.MethodGet && method != http.MethodPost {
		return refuse("method %s: policies only read: use GET, or POST to ask for an access review", method)
	}
	if method == http.MethodGet && s.Namespace == "" {
		return nil
	}
	asked, err := parse(target)
	if err != nil {
		return err
	}
	if method == http.MethodPost && !asked.review() {
		return refuse("POST %s: policies write nothing: POST is only for the reviews of authorization.k8s.io and authentication.k8s.io", target.Path)
	}
	if s.Namespace == "" {
		return nil
	}
	if asked.namespace != s.Namespace {
		return refuse("%s is outside of it; what a CachedContextEntry has is another way, if it is open to namespaced policies", target.Path)
	}
	if asked.connects() {
		return refuse("%s connects to an object: read it instead", target.Path)
	}
	return nil
}

// request is what a path names.
type request struct {
	group, namespace            string
	resource, name, subresource string
	// queried reports whether there is a query.
	queried bool
}

// parse reads a path that all servers read in the same way.
func parse(target *url.URL) (*request, error) {
	notPlain := func(why string) (*request, error) {
		return nil, refuse("%q %s", target.String(), why)
	}
	if target.RawPath != "" || target.Fragment != "" || target.RawFragment != "" {
		return notPlain("has characters that are escaped, or a fragment")
	}
	path, rooted := strings.CutPrefix(target.Path, "/")
	if !rooted {
		return notPlain("does not begin with one slash")
	}
	parts := strings.Split(path, "/")
	for _, part := range parts {
		if part == "" || part == "." || part == ".." || strings.IndexFunc(part, special) >= 0 {
			return notPlain("has an empty or relative segment, or characters that have to be escaped")
		}
	}
	if err := checkQuery(target); err != nil {
		return nil, err
	}
	out := &request{queried: target.RawQuery != "" || target.ForceQuery}
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		out.group, parts = parts[1], parts[3:]
	default:
		return notPlain("names no resource")
	}
	// A namespace has subresources itself, which are no resources in it.
	own := out.group == "" && len(parts) == 3 && (parts[2] == "status" || parts[2] == "finalize")
	if parts[0] == "namespaces" && len(parts) > 2 && !own {
		out.namespace, parts = parts[1], parts[2:]
	}
	for i, field := range []*string{&out.resource, &out.name, &out.subresource} {
		if i < len(parts) {
			*field = parts[i]
		}
	}
	const most = 3
	if len(parts) > most {
		return notPlain("has more segments than a resource, a name and a subresource")
	}
	return out, nil
}

// special reports whether a character has a meaning of its own in a path, or is not written as it is.
func special(r rune) bool {
	letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	return !letter && !strings.ContainsRune("-._~:@", r)
}

// readParameters select what a list has. All others, such as watch, make something else of a request.
var readParameters = []string{"labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch"}

func checkQuery(target *url.URL) error {
	query, err := url.ParseQuery(target.RawQuery)
	if err != nil {
		return refuse("%s: the query can't be read: %w", target.Path, err)
	}
	for name := range query {
		if !slices.Contains(readParameters, name) {
			return refuse("%s: the query has %q: leave it out; a query may have %s", target.Path, name, strings.Join(readParameters, ", "))
		}
	}
	return nil
}

// review reports whether the request asks a question by a POST, which stores nothing.
func (r *request) review() bool {
	return (r.group == "authorization.k8s.io" || r.group == "authentication.k8s.io") &&
		strings.HasSuffix(r.resource, "reviews") && r.name == "" && r.subresource == "" && !r.queried
}

// connects reports whether the request reaches what an object stands for.
func (r *request) connects() bool {
	return slices.Contains([]string{"proxy", "exec", "attach", "portforward"}, r.subresource)
}
