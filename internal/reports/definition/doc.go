// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package definition reads CustomResourceDefinitions from files, and judges them as kube-apiserver does before it
// serves one: [Read], [Check] and [CheckAll] when one comes, [CheckUpdate] when it changes. What kube-apiserver refuses
// is refused here, with its words; conversion by webhooks, which it allows, is refused too. [Reports] has those that
// are built in.
//
// A definition that passed has the defaults and the status of one that kube-apiserver serves.
//
// The package keeps no state and starts no goroutine.
package definition
