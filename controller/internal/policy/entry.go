// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
)

// The kinds of objects that declare entries of the context cache. Both are in [KyvernoGroup].
const (
	CachedContextEntry = "CachedContextEntry"
	GlobalContextEntry = "GlobalContextEntry"
)

// AllowNamespacedPolicies is the annotation, with the value "true", of a GlobalContextEntry that policies
// in a namespace may read. A CachedContextEntry has the field spec.allowNamespacedPolicies.
const AllowNamespacedPolicies = "docket.dev/allow-namespaced-policies"

// AnyName is the name of an [Entry] that a policy computes when it is evaluated.
const AnyName = "*"

// Entry identifies data in the context cache: those of an object, or those that a policy declares itself. It is
// comparable, and has no secrets when it is printed.
type Entry struct {
	// Kind is the kind of object that the policy refers to: a CachedContextEntry (cachedContextEntry) or a
	// GlobalContextEntry (globalReference). If there is no object of that kind, one of the other kind is used.
	// It is empty for a declaration in the policy.
	Kind string
	// Name is the name of the object; [AnyName] if it has variables. It is set only with a Kind.
	Name string
	// Resource is declared in the policy (resourceCache).
	Resource EntryResource
	// Path is declared in the policy (apiCall with cache: true): a path of the cluster's API.
	Path string
	// Service is declared in the policy (apiCall with cache: true, and service).
	Service EntryService
}

// EntryService is a call of a service, in a form in which equal calls are equal. Its texts may have secrets:
// [EntryService.String] leaves them out.
type EntryService struct {
	URL, Method string
	// Headers is a JSON object of texts, Body what is posted; both are empty for none.
	Headers, Body string
	// CABundle has PEM certificates.
	CABundle string
}

// NewEntryService returns a call. No method is GET.
func NewEntryService(address, method string, headers map[string]string, data map[string]any, bundle string) (EntryService, error) {
	s := EntryService{URL: address, Method: cmp.Or(method, http.MethodGet), CABundle: strings.TrimSpace(bundle)}
	if len(headers) > 0 {
		named := make(map[string]string, len(headers))
		for name, value := range headers {
			named[http.CanonicalHeaderKey(name)] = value
		}
		text, err := json.Marshal(named) // In the order of the names.
		if err != nil {
			return s, fmt.Errorf("headers: %w", err)
		}
		s.Headers = string(text)
	}
	if len(data) > 0 {
		text, err := json.Marshal(data)
		if err != nil {
			return s, fmt.Errorf("data: %w", err)
		}
		s.Body = string(text)
	}
	return s, nil
}

// String is the method and the URL, without a user, a password and a query.
func (s EntryService) String() string {
	if s == (EntryService{}) {
		return ""
	}
	address := "of a service"
	if parsed, err := url.Parse(s.URL); err == nil {
		address = (&url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path}).String()
	}
	return s.Method + " " + address
}

// GoString is for %#v, and has no secrets either.
func (s EntryService) GoString() string { return "policy.EntryService{" + s.String() + "}" }

// EntryResource says which resources an entry has, as users write it: the group may begin with
// apis/, the kind may be the plural, group and version may be missing. No namespace means all.
type EntryResource struct {
	Group, Version, Kind, Namespace string
	// LabelSelector and FieldSelector are what the API server selects by, as kubectl takes them.
	LabelSelector, FieldSelector string
	// Filter is a JMESPath expression that is true for what is kept.
	Filter string
}

// Query is a request for data of an entry.
type Query struct {
	Entry Entry
	// Projection names one of the entry's projections or, if Indexes is set, indexes; empty for its data.
	Projection string
	// Indexes tells that the caller can use an [Index] as the result.
	Indexes bool
	// Expression is in JMESPath, without variables; empty for all data.
	Expression string
	// Alias is another name for the data in the expression, in addition to "@": the name of the variable that
	// the result is for. A field of the data with that name takes precedence.
	Alias string
	// Namespace is the namespace of the policy; empty for cluster policies. For policies in a namespace, entries of
	// objects are readable only if they allow it, others only if they are about that namespace.
	Namespace string
}

// Index has the objects of an entry by the keys that its expression gives for each of them. It never changes.
type Index interface {
	// Len is the number of keys, and Keys has them in no order: strings, float64 and bool.
	Len() int
	Keys() iter.Seq[any]
	// Has reports whether an object has a key.
	Has(key any) bool
	// Find returns the objects that have a key, in the order of namespace and name. The types are those of encoding/json.
	Find(key any) ([]any, error)
}

// Entries answers queries.
type Entries interface {
	// Query returns the result of an expression, which is shared and must not be changed. Its types are those of
	// encoding/json: all numbers are float64, which JMESPath can compare. It waits for data that are being loaded
	// until ctx is done. The error says what is wrong with the entry or the expression.
	Query(ctx context.Context, query Query) (any, error)
}
