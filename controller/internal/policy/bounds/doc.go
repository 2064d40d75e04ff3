// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bounds limits what the evaluations of policies read from outside: from the API of the cluster and from
// registries. The authors of policies and pods choose what is read, and decoding it takes a multiple of its length.
//
// One answer has a limit by its kind ([Read]), all answers of an evaluation have one ([Account]), and so have all
// evaluations of the process at one time ([Budget]). All of them count before anything is decoded.
package bounds
