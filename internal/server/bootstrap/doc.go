// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bootstrap makes the objects that an administrator creates in a cluster,
// so that it sends requests for reports to a server of Docket: the identity and the
// rights of that server, its Service, its APIServices, and roles for people and
// producers. `docket bootstrap` prints them, and the server shows them at
// /bootstrap/<group>; both call [Print], and so print the same bytes.
//
// The server itself never creates them: the power to do so is the power to take
// over the cluster.
//
// They are the objects of deploy/base, which are built in, with the [Parameters] in
// their places. [Print] never prints a private key; [Certificate] makes one, and is called
// by the command alone.
//
// There are no goroutines.
package bootstrap
