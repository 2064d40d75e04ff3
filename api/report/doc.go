// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report holds the types that all served report groups share: one
// result, the counts over results, and references to the checked objects. It
// also defines [Accessor], through which any of the six report kinds can be read
// without knowing its group.
//
// Every field keeps the JSON that clients sent: what was left out stays out, and
// a zero that was written stays written. Fields that other clients write even
// when they are zero are therefore pointers here.
//
// The package is pure data. It imports apimachinery only and starts no goroutine.
//
// +k8s:deepcopy-gen=package
package report
