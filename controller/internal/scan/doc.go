// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scan is the background scanner: it decides what to evaluate again, and when, and hands
// what was found to a [Results]. It knows policies by package policy alone, and no reports.
//
// What is watched. All kinds that the targets of a policy match, each by one reflector that lists
// once; policies and exceptions are watched by package policies, whose snapshots say which there
// are. Policies that policies match are watched as both.
// A target means the preferred version of each resource, and another one only if it names
// that. A kind that appears or vanishes is noticed as package served does, at once if
// a watch finds that it is gone. One that is matched no more is no longer watched, and its
// results go. Resources are kept as JSON without managed fields and the last applied
// configuration, three kilobytes for a pod; an API server without streaming lists costs a
// multiple of that for the time of a list. Where only policies for admission requests match a kind,
// its resources are kept without the JSON, and listed again if another policy comes.
//
// What is evaluated. A pair of policy and resource, if one of these has changed:
//
//   - the fingerprint of the policy, which its exceptions have a part in. A changed presentation
//     is only passed on.
//   - the content of the resource: labels, annotations, and all but metadata, status and the node
//     of a pod, as in Kyverno. The status counts for kinds whose subresource "status" is the
//     target of a policy. An evaluation sees the status that the resource has then, and the
//     periodic scan repairs what follows from those that changed without one.
//   - the labels of its namespace, and for policies that look at more of it, that too.
//   - an entry of the context cache that the policy reads ([Scanner.EntriesChanged]), gathered for
//     seconds.
//
// Whatever else policies look at, such as other resources, is found by the periodic scan, which
// has everything evaluated once in [Config.Interval], a sixtieth at a time.
//
// What is not evaluated: policies that are for admission requests alone. Their results are what
// such requests have given ([Scanner.Admit]), once the object that a request is about exists as it
// was there. They stay until the next request for the object, whatever becomes of its content or
// the policy in between, also across a restart, and as long as the object, the policy and a target
// of it for that kind exist. A policy that is for requests alone and then for existing resources,
// or the reverse, begins without results. Which request was the latest is not known across a
// restart. For an object in another version than the one that is watched, its UID has to do.
//
// In which order. A resource that changed comes before those whose policies changed, those of
// the first scan and those of the periodic one. Its policies are evaluated together. A worker
// has a resource alone, so that results are set in the order of what they are of.
//
// Slow policies. A worker waits 250 ms for a policy. One that takes longer is evaluated aside from then
// on: its resources wait in a queue of its own (pace), which two goroutines serve, urgent ones first,
// and the workers go on with all else. All slow policies together have 32 places for evaluations, which
// change hands after each resource; what workers leave when they learn that a policy is slow is beside
// them, four a second and worker. In that queue a twin stands for a resource, so that results of
// the policy are set in the order of what they are of there, too. Three evaluations in a row that reach
// the limit of 30 s, and the policy is left alone for a minute, then longer: its results are errors that
// say so, one resource tries it again, and once it is well, all that were left out are evaluated.
//
// What never happens: results are not removed because something could not be listed. As long as
// the API doesn't answer, everything stays. A kind that is refused is retried by its
// reflector; what earlier processes found for it stays until it can be listed, and all others go
// on. Only namespaces are needed by all: without their labels, nothing in a namespace is
// evaluated.
//
// Goroutines, all owned by [Scanner.Run]: the planner (plan, in the caller's), which alone
// decides what is watched, and looks at results of requests that wait; the workers; those that
// evaluate slow policies; the periodic scan; and one for each reflector, which the planner starts and stops. State of
// resources is in kind and entry, that of policies in slot.
package scan
