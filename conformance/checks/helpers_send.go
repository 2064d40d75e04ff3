// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/runner"
)

// want returns a failure unless an answer is as it should be.
type want = func(*runner.Response)

// ok wants success.
func ok(response *runner.Response) { response.WantOK() }

// code wants one of these codes.
func code(codes ...int) want {
	return func(response *runner.Response) { response.Want(codes...) }
}

// status wants one of these codes and a Status with the reason, which may be empty for any.
func status(reason metav1.StatusReason, codes ...int) want {
	return func(response *runner.Response) { response.WantStatus(reason, codes...) }
}

// send sends the request that a check is about, and returns the answer, or a failure unless it is as wanted.
func send(p *runner.Probe, request runner.Request, wanted want) *runner.Response {
	response := p.Send(request)
	wanted(response)
	return response
}

// sendEach is send for several requests, whose answers should all be as wanted.
func sendEach(p *runner.Probe, wanted want, requests ...runner.Request) {
	for _, request := range requests {
		send(p, request, wanted)
	}
}

// makeName creates an object and returns its name.
func makeName(p *runner.Probe) string {
	object := p.Make()
	return object.GetName()
}

// wantExists returns a failure unless there is an object of that name after what response answers.
func wantExists(p *runner.Probe, response *runner.Response, name, expected string) {
	if !p.Exists(name) {
		response.FailBecause("there is no object "+name+" afterwards", "%s", expected)
	}
}
