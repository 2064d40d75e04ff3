// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package base has what the compilers of Kyverno's classic policies and of its CEL policies share: the configuration,
// what is known of a policy before it is evaluated, exceptions, the limits of an evaluation, and how registries are
// asked. It imports no package of Kyverno's module, of which the two may need different versions in different programs.
package base
