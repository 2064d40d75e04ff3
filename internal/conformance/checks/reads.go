// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/conformance"
)

const areaReads = "Reading"

func reads() []conformance.Check {
	return []conformance.Check{
		{
			ID: "get-object", Area: areaReads,
			Rule:        "GET of an object answers it, with its kind, apiVersion, name, and namespace.",
			Detail:      "Makes an object and gets it. What else the object has is not looked at.",
			Reference:   apiConventions + "#resources",
			PerResource: true, Verbs: []string{"create", "get"},
			Run: getObject,
		},
		{
			ID: "get-not-found", Area: areaReads,
			Rule:        "An object that does not exist is answered with 404 and a Status whose reason is NotFound.",
			Detail:      "Gets a name that nobody has. The Status has to name it in details.name.",
			Reference:   apiConventions + "#http-status-codes",
			PerResource: true, Verbs: []string{"get"},
			Run: getNotFound,
		},
	}
}

func getObject(ctx context.Context, p *conformance.Probe) error {
	object := p.New()
	if _, err := p.Prepare(ctx, "create an object", conformance.Post(p.Collection(), object)); err != nil {
		return err
	}
	response, err := p.Send(ctx, conformance.Get(p.Path(object.GetName())))
	if err != nil {
		return err
	}
	if err := response.Want(http.StatusOK); err != nil {
		return err
	}
	return wantIdentity(p, response, object.GetName())
}

func getNotFound(ctx context.Context, p *conformance.Probe) error {
	name := p.Name()
	response, err := p.Send(ctx, conformance.Get(p.Path(name)))
	if err != nil {
		return err
	}
	if err := response.WantStatus(metav1.StatusReasonNotFound, http.StatusNotFound); err != nil {
		return err
	}
	if status, _ := response.Status(); status.Details == nil || status.Details.Name != name {
		return response.Fail("a Status whose details.name is %q", name)
	}
	return nil
}
