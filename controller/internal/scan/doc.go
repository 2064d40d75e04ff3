// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scan is the background scanner. It decides what to evaluate again and when, and passes the
// results to a [Results]. It knows policies only through package policy, and does not know reports.
//
// What is watched. Every kind that a target of a policy matches, by one reflector that lists once.
// Policies and exceptions are watched by package policies, whose snapshots say which exist; policies
// that other policies match are watched twice. A target means the preferred version of each resource,
// and another version only if it names that one. Package served notices kinds that appear or vanish,
// at once if a watch finds its kind gone. A kind that no policy matches any more is not watched any
// more, and its results are removed. Resources are listed in pages, and kept as compressed JSON without
// managed fields, the last applied configuration and, unless a policy may read it, the status: half a
// kilobyte for a pod of 8 KB. If only policies for admission requests match a kind, its resources are kept
// without the JSON. They are listed again when a policy comes that needs more.
//
// What is evaluated. A pair of policy and resource, when one of these has changed:
//
//   - the fingerprint of the policy, which depends on its exceptions, too. If only the presentation has
//     changed, it is passed on, and nothing is evaluated.
//   - the content of the resource: labels, annotations, and everything except metadata, status and the
//     node of a pod, as in Kyverno. The status counts for kinds whose subresource "status" is the
//     target of a policy. An evaluation sees the status of that moment; where results depend on a
//     status that has changed since, the periodic scan corrects them.
//   - the labels of its namespace, and for policies that read more of it, the rest of it.
//   - an entry of the context cache that the policy reads ([Scanner.EntriesChanged]); such changes are
//     gathered for seconds.
//
// Changes of anything else that policies read, such as other resources, are found by the periodic
// scan, which evaluates everything once in [Config.Interval], a sixtieth at a time.
//
// What is not evaluated: policies for admission requests only. Their results come from the requests
// ([Scanner.Admit]), and count once the object that a request is about exists with the same content. They
// stay until the next request for the object, even if its content or the policy changes and across
// restarts, as long as the object and the policy exist and the policy has a target of that kind. A policy
// that changes between admission only and background begins without results. After a restart it is not
// known which request was the latest. If an object is watched in another version than that of the
// request, only its UID is compared.
//
// What is adopted, with [Config.Adopt]: results of Kyverno's own controllers for policies and rules that are not
// evaluated here. They come by [Scanner.Admit], too, of which each replaces an earlier one of its policy, rule
// and subject. The kinds of their subjects are watched from the first result on, and after a restart those of which
// results are left. A policy that is evaluated in part has two policyStates, in policies and in adopting, each of
// which sets and removes the results of its rules only.
//
// In which order. A changed resource comes before those whose policies changed, those of the first scan,
// and those of the periodic scan. Its policies are evaluated together. A resource is with one worker at
// a time, so that its results are set in the order of its changes.
//
// Slow policies. A worker waits 250 ms for a policy; then another worker continues with the resource. From then
// on the policy is evaluated in a lane of its own (slowlane.go), which two goroutines serve, urgent resources
// first. All lanes together have 32 slots. Evaluations for which no worker waits any more come on top, at most four
// per second and worker. A policy that is quick for long is no longer slow. After three evaluations in a row that
// reach the limit of 30 s, the policy is not evaluated for a minute, then for longer: its results are errors that
// say so. After that, one resource is tried; if it succeeds, all that were left out are evaluated.
//
// What never happens: results are not removed because something could not be listed. While the API does
// not answer, everything stays. A kind that is refused is retried by its reflector; results that earlier
// processes left for it stay until it can be listed, and all other kinds go on. Only namespaces are needed
// by all: without their labels, nothing in a namespace is evaluated.
//
// Three objects, and one way: a reflector brings a resource to the inventory (what there is), which puts it into
// the queue; a worker of the evaluator (who decides) takes it from there, and gives the results to [Results].
// The planner (when to look) tells the inventory what to watch and to queue after a change of policies or kinds.
// The one way back is a resource that changes while a worker has it: the queue hands it out once more.
//
// Goroutines, all owned by [Scanner.Run]: the planner, in the caller's goroutine; the workers; those that evaluate
// slow policies; the periodic scan; and one per reflector. The state of resources is in kind and resourceState, that
// of policies in policyState.
//
// Imports: policy, cluster. Begin at resourcestate.go, the life of one resource as a table.
package scan
