// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package frontproxy

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

const (
	// authorityTimeout bounds how long a start waits for the front proxy's authority.
	authorityTimeout  = 10 * time.Second
	authorityInterval = 10 * time.Millisecond
)

// Awaited returns the authorities of client certificates, all of them, with which a server answers nobody before it
// knows the front proxy's. The library reads them while it already answers: requests from the front proxy would be
// anonymous ones, refused with 403, which no client repeats.
func Awaited(all, front dynamiccertificates.CAContentProvider) dynamiccertificates.CAContentProvider {
	return &awaited{CAContentProvider: all, front: front}
}

type awaited struct {
	dynamiccertificates.CAContentProvider

	front dynamiccertificates.CAContentProvider
}

// RunOnce starts to follow the authorities until the context ends, and returns when it has the front proxy's. The
// library calls it once, before it accepts connections.
func (a *awaited) RunOnce(ctx context.Context) error {
	if controller, ok := a.CAContentProvider.(dynamiccertificates.ControllerRunner); ok {
		go controller.Run(ctx, 1)
	}
	return wait.PollUntilContextTimeout(ctx, authorityInterval, authorityTimeout, true, func(context.Context) (bool, error) {
		_, ok := a.front.VerifyOptions()
		return ok, nil
	})
}

// Run does nothing: RunOnce has started all.
func (*awaited) Run(context.Context, int) {}
