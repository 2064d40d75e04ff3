// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reach says which requests to the cluster's API the evaluation of a policy may make. The
// controller may read much more than the author of a policy in a namespace: whatever such a policy
// asks for is held to its namespace. No policy writes anything.
//
// The rule is one function, [Scope.Check]. Those who make a request ask it first and say what is
// wrong in the words of their users; [Guarded] asks it once more of what leaves the process, so that a
// call that somebody has forgotten does not get out.
package reach
