// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook is where kube-apiserver and the controller meet: the TLS server of the admission
// webhook, which every replica has, its certificates, and the ValidatingWebhookConfiguration that
// tells kube-apiserver which requests to send. What is answered is up to the handler it is given.
//
// [Server] serves. Its certificate comes from files that somebody else renews, such as
// cert-manager, or from a Secret that the replicas share and keep renewed themselves: package
// rotation. A new authority signs once the configuration has it ([TrustedBy]).
//
// [Registrar] keeps the configuration right. Its rules are put together from the policies and from
// what the API serves. It is for the leader; two at a time do no harm, since both write the same.
// It never registers what would make kube-apiserver deny requests (failurePolicy Fail) while
// nobody can answer.
//
// Goroutines: those of the HTTP server and one for the certificates, owned by [Server.Run]; one
// informer for the configuration, owned by [Registrar.Run].
package webhook
