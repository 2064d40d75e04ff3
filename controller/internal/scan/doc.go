// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scan is the background scanner: it decides what to evaluate again, and when, and hands
// what was found to a [Results]. It knows policies by package policy alone, and no reports.
//
// What is watched. Policies and exceptions, if the API serves their kinds, and all kinds that the
// targets of a background policy match, each by one reflector that lists once. Policies that
// policies match are watched as both.
// A target means the preferred version of each resource, and another one only if it names
// that. A kind that appears or vanishes is noticed within [Config.DiscoveryInterval], at once if
// a watch finds that it is gone. One that is matched no more is no longer watched, and its
// results go. Resources are kept as JSON without managed fields and the last applied
// configuration, three kilobytes for a pod; an API server without streaming lists costs a
// multiple of that for the time of a list.
//
// What is evaluated. A pair of policy and resource, if one of these has changed:
//
//   - the fingerprint of the policy. Changed exceptions have all policies compiled, and those
//     evaluated whose fingerprint is another one then. A changed presentation is only passed on.
//   - the content of the resource: labels, annotations, and all but metadata, status and the node
//     of a pod, as in Kyverno. The status counts for kinds whose subresource "status" is the
//     target of a policy. An evaluation sees the status that the resource has then, and the
//     periodic scan repairs what follows from those that changed without one.
//   - the labels of its namespace.
//
// Whatever else policies look at, such as other resources, is found by the periodic scan, which
// has everything evaluated once in [Config.Interval], a sixtieth at a time.
//
// In which order. A resource that changed comes before those whose policies changed, those of
// the first scan and those of the periodic one. Its policies are evaluated together. A worker
// has a resource alone, so that results are set in the order of what they are of.
//
// What never happens: results are not removed because something could not be listed. As long as
// the API doesn't answer, everything stays. A kind that is refused is tried again by its
// reflector; what earlier processes found for it stays until it can be listed, and all others go
// on. Only namespaces are needed by all: without their labels, nothing in a namespace is
// evaluated.
//
// Goroutines, all owned by [Scanner.Run]: the planner (plan, in the caller's), which alone
// decides what is watched and compiles policies; one that follows discovery; the workers; the
// periodic scan; and one for each reflector, which the planner starts and stops. State of
// resources is in kind and entry, that of policies in slot.
package scan
