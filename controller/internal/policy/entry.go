// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import "context"

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

// Entry names data of the context cache: those of an object, or those that a policy declares
// itself. It is comparable.
type Entry struct {
	// Kind says how the policy refers to an object: as a CachedContextEntry (cachedContextEntry)
	// or as a GlobalContextEntry (globalReference). Where there is no object of that kind, one of
	// the other kind serves. It is empty for a declaration in the policy.
	Kind string
	// Name is that of the object; [AnyName] if it has variables. Only with a Kind.
	Name string
	// Resource is declared in the policy (resourceCache).
	Resource EntryResource
	// Path is declared in the policy (apiCall with cache: true): a path of the cluster's API.
	Path string
}

// EntryResource says which resources an entry has, as users write it: the group may begin with
// apis/, the kind may be the plural, group and version may be missing. No namespace means all.
type EntryResource struct {
	Group, Version, Kind, Namespace string
}

// Query asks for data of an entry.
type Query struct {
	Entry Entry
	// Projection names one of a GlobalContextEntry's projections; empty for its data.
	Projection string
	// Expression is in JMESPath, without variables; empty for all data.
	Expression string
	// Alias is a name by which the expression may call the data itself, beside "@": that of the
	// variable that the result is for. A field of that name in the data wins.
	Alias string
	// Namespace is that of the policy that asks; empty for cluster policies. Entries of objects answer
	// it only if they are open to such policies, others only if they are about the namespace.
	Namespace string
}

// Entries answers queries.
type Entries interface {
	// Query returns the result of an expression. It belongs to all: nobody may change it. It is
	// what encoding/json makes of JSON: all numbers are float64, which JMESPath compares. Data that are being loaded are
	// waited for as long as ctx lasts. The error says what is wrong with the entry, or with the
	// expression.
	Query(ctx context.Context, query Query) (any, error)
}
