// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/runner"
)

// want returns a failure unless an answer is as it should be.
type want = func(*runner.Response) error

// ok wants success.
func ok(response *runner.Response) error { return response.WantOK() }

// code wants one of these codes.
func code(codes ...int) want {
	return func(response *runner.Response) error { return response.Want(codes...) }
}

// status wants one of these codes and a Status with the reason, which may be empty for any.
func status(reason metav1.StatusReason, codes ...int) want {
	return func(response *runner.Response) error { return response.WantStatus(reason, codes...) }
}

// send sends the request that a check is about, and returns the answer, or a failure unless it is as wanted.
func send(ctx context.Context, p *runner.Probe, request runner.Request, wanted want) (*runner.Response, error) {
	response, err := p.Send(ctx, request)
	if err != nil {
		return nil, err
	}
	return response, wanted(response)
}

// sendEach is send for several requests, whose answers should all be as wanted.
func sendEach(ctx context.Context, p *runner.Probe, wanted want, requests ...runner.Request) error {
	for _, request := range requests {
		if _, err := send(ctx, p, request, wanted); err != nil {
			return err
		}
	}
	return nil
}

// makeName creates an object and returns its name.
func makeName(ctx context.Context, p *runner.Probe) (string, error) {
	object, err := p.Make(ctx)
	if err != nil {
		return "", err
	}
	return object.GetName(), nil
}

// wantExists returns a failure unless there is an object of that name after what response answers.
func wantExists(ctx context.Context, p *runner.Probe, response *runner.Response, name, expected string) error {
	exists, err := p.Exists(ctx, name)
	if err == nil && !exists {
		err = response.FailBecause("there is no object "+name+" afterwards", "%s", expected)
	}
	return err
}
