// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package statedir is what a single-user server has on a machine: an address, and a folder
// that only its owner can open, with everything that is kept between runs:
//
//	ca.crt ca.key                  authority for the serving certificate; made once
//	serving.crt serving.key        replaced when they expire or the address changes
//	front-proxy-ca.crt .key        authority for the next; made once
//	front-proxy-client.crt .key    shown to the servers behind an aggregator
//	token                          the owner's bearer token; made once
//	kubeconfig                     address, authority and token; written at each start
//	docket.db                      the database, unless another one is used
//	lock                           held while a process uses the folder
package statedir
