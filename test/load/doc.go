// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command load drives a server of the reports APIs and says how fast it answers:
// ours, CustomResourceDefinitions on a kube-apiserver, or any other that serves the
// same groups. See --help.
//
// Client and server usually share a machine, so that the client must cost little:
// bodies are put together from prepared pieces, answers are searched for the few bytes
// that matter and not decoded.
//
// It checks what it measures. A list that is too short, an event that comes twice or
// not at all, an object that is not as this run last wrote it, any status that is not the
// expected one is a failure, and a run with failures ends with exit code 1. At its end
// it reads all objects once more: what somebody else changed or deleted meanwhile
// was not measured.
package main
