// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package frontproxy lets an extension API server take its cluster's API server at its
// word: a request that came with the front proxy's certificate was authorized there
// already, by the same attributes, and is not authorized again.
//
// [Authenticator] marks the users of such requests, [Authorizer] allows what they
// asked the front proxy for, and nothing else. Neither starts a goroutine. [Awaited] lets the
// server wait for the authority of that certificate before it answers.
//
// Why this gives no one more rights (docs/adr/0021-front-proxy.md): the holder of the
// front proxy's key may name any user in its headers, including members of system:masters,
// about whom authorizers are never asked.
package frontproxy
