// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kyverno evaluates policies with Kyverno's own engines: ClusterPolicy and Policy (kyverno.io) with the classic
// engine, in package classic; ValidatingPolicy, ImageValidatingPolicy, MutatingPolicy and their namespaced kinds
// (policies.kyverno.io) with the CEL engines, in package cel; PolicyException of both groups. Those two, which don't
// import each other, are the only packages that know Kyverno's types. This one puts them together for a program that
// has both.
//
// Results are those of Kyverno's background scan, except that:
//
//   - Rules that mutate or generate give no results, and without [base.Config.Images] neither do rules and policies
//     that verify images.
//   - An image that can't be verified since a registry does not answer gives the outcome error. In Kyverno it mostly
//     fails.
//   - A policy that Kyverno's admission would refuse, or whose CEL does not compile, gives the outcome error for
//     everything that it matches. User info, roles and long names are no reason.
//   - A context without its source (a cluster, a registry, an entry of the context cache) gives the outcome error;
//     Kyverno leaves the variable out, which may end in a pass.
//   - A panic, and an evaluation that runs longer than [base.Config.Timeout], give the outcome error.
//   - The status of a policy is not read: a rule whose check Kyverno has handed to a generated
//     ValidatingAdmissionPolicy is evaluated here.
//
// # Context cache
//
// Rules read [base.Config.Entries] by cachedContextEntry, resourceCache, apiCall with cache: true, and globalReference,
// the last one also in namespaced policies, where Kyverno refuses it. Kyverno's types lack the first three, so that
// such an entry travels through its code as an API call with a method of its own. The values are not copied on their
// way into expressions: a document has them beside those that Kyverno's own JSON document keeps, without a limit for
// their size. Conditions that compare with a long list see the members that matter. In CEL policies globalContext.Get
// reads the same entries, except in namespaced ones, where Kyverno's library refuses it.
//
// # Admission
//
// Verdicts are the same as from Kyverno's webhook: the engine sees the request, both objects, the user, and the kind of
// the resource where the objects of a subresource have another one. A failure denies if the action of the rule, or an
// override for the namespace, says so; an update of an object that violated a rule before passes, as in Kyverno.
// Differences:
//
//   - An error of a CEL policy with failurePolicy Ignore does not deny. In Kyverno it does.
//   - An error denies under failurePolicy Fail only if the rule is to be enforced here.
//   - Rules without operations are asked at all of them, as in Kyverno, but those with patterns or pod security not at
//     deletions, at which Kyverno would only find errors in their variables, and those without subresources not at
//     connections.
//   - A policy that can't be evaluated denies what it matches for every user if it is to be enforced and its
//     failurePolicy is Fail, with its problem as the message. One that can't even be decoded does so for the kinds
//     that it names, never at deletions. One that names no kinds gets no requests.
//   - A policy in a namespace never reviews the Namespace itself.
//   - Numbers in "request.object" are integers where they can be, as in scans.
//
// Policies that verify images or mutate, and rules that verify images, review nothing: that is left to Kyverno.
//
// # Goroutines
//
// Each evaluation runs in a goroutine that its Evaluate or Review waits for. Go can't stop it: after a timeout it
// continues with a canceled context, and may read the subject or the request, until the engine returns. Otherwise it
// waits a second for the next evaluation. A policy with several such leftovers gives errors at once until they end.
// When a Review runs out of time, a second goroutine briefly finds out whether the rules match at all; the same limit
// counts for these. Nothing else is started.
//
// # Process-wide state
//
// Kyverno keeps some state in variables of its packages, which all compilers share: the logger of controller-runtime
// (made silent by the first [base.NewSetup], see there), the feature toggles that come from environment variables, the
// HTTP client of CEL policies, and the library context of CEL policies, which package cel sets and resets under a lock
// while it compiles.
package kyverno
