// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/runner"
)

const areaReads = "Reading"

var reads = []runner.Check{
	{
		ID: "get-object", Area: areaReads, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "GET returns the object, with its kind, apiVersion, name, and namespace.",
		Detail:    "Creates an object and gets it. Nothing else in the object is checked.",
		Reference: apiConventions + "#resources",
		Run: func(p *runner.Probe) {
			object := p.New()
			p.Prepare("create an object", runner.Post(p.Collection(), object))
			wantIdentity(p, p.Send(runner.Get(p.Path(object.GetName()))).Want(http.StatusOK), object.GetName())
		},
	},
	{
		ID: "get-not-found", Area: areaReads, PerResource: true, Verbs: []string{"get"},
		Rule:      "GET of an object that does not exist gets 404 and a Status with reason NotFound.",
		Detail:    "Gets a name that does not exist. The Status must have it in details.name.",
		Reference: apiConventions + "#http-status-codes",
		Run: func(p *runner.Probe) {
			name := p.Name()
			wantNamed(p.Send(runner.Get(p.Path(name))).WantStatus(metav1.StatusReasonNotFound, http.StatusNotFound), name)
		},
	},
}
