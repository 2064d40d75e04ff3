// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conformancetest proves that checks can fail: it starts proxies that break a good server and
// runs checks on them. Only tests import it.
package conformancetest
