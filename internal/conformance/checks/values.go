// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/conformance"
	"github.com/docket-project/docket/internal/conformance/object"
)

const schemasDoc = customResources + "#specifying-a-structural-schema"

// values are about what schemas allow. Custom resources have no other rules, and whoever takes their
// place gets what their clients send.
func values() []conformance.Check {
	list := []conformance.Check{
		{
			ID:     "value-empty-required",
			Rule:   "A required field is one that is there: a string may be empty unless its schema says more, and is stored so.",
			Detail: "Sends an object in which a required string is empty whose schema has no minLength, pattern, enum or format.",
			Run:    valueEmptyRequired,
		},
		{
			ID:     "value-whole-number",
			Rule:   "A number without a fraction is an integer, however it is written.",
			Detail: "Sends an object in which an integer is written as 1.0.",
			Run:    valueWholeNumber,
		},
		{
			ID:     "value-null-item",
			Rule:   "null is no string: a list of strings with null in it is refused with 422 or 400 and a Status, and not stored.",
			Detail: "Sends an object with such a list, unless the schema says nullable.",
			Run:    valueNullItem,
		},
		{
			ID:     "value-type-cause",
			Rule:   "A value of a wrong type is answered with 422 and a Status whose causes name the field.",
			Detail: "Sends an object with a number where the schema wants a string.",
			Run:    valueTypeCause,
		},
	}
	for i := range list {
		list[i].Area, list[i].Reference = "Values and schemas", schemasDoc
		list[i].PerResource, list[i].Verbs, list[i].Applies = true, []string{"create", "get"}, decidedBySchema
	}
	return list
}

// decidedBySchema leaves out the kinds of Kubernetes: code decides about their values, and their
// schemas tell only a part of it.
func decidedBySchema(resource *conformance.Resource) string {
	if group := resource.GroupVersion.Group; !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") {
		return "the kinds of Kubernetes have rules that are not in their schemas"
	}
	return ""
}

// sendShaped sends an object with a value of a shape. It returns the field with it.
func sendShaped(ctx context.Context, p *conformance.Probe, shape object.Shape) (made *unstructured.Unstructured, field string, response *conformance.Response, err error) {
	made, field = p.Resource.Maker.Shaped(shape)
	if made == nil {
		return nil, "", nil, conformance.Leave("the schema has no field for it")
	}
	made.Object["metadata"] = p.New().Object["metadata"]
	response, err = p.Send(ctx, conformance.Post(p.Collection(), made))
	return made, field, response, err
}

func valueEmptyRequired(ctx context.Context, p *conformance.Probe) error {
	made, field, response, err := sendShaped(ctx, p, object.EmptyText)
	if err != nil {
		return err
	}
	if err := response.WantOK(); err != nil {
		return err
	}
	stored, err := p.Read(ctx, made.GetName())
	if err != nil {
		return err
	}
	if value, there := leavesOf(stored.Object)["."+field]; !there || value != `""` {
		return response.FailBecause("what is stored has not", "an object whose %s is empty", field)
	}
	return nil
}

func valueWholeNumber(ctx context.Context, p *conformance.Probe) error {
	_, _, response, err := sendShaped(ctx, p, object.WholeNumber)
	if err != nil {
		return err
	}
	return response.WantOK()
}

func valueNullItem(ctx context.Context, p *conformance.Probe) error {
	made, _, response, err := sendShaped(ctx, p, object.NullItem)
	if err != nil {
		return err
	}
	if err := response.WantStatus("", http.StatusUnprocessableEntity, http.StatusBadRequest); err != nil {
		return err
	}
	return wantNotStored(ctx, p, response, made.GetName())
}

func valueTypeCause(ctx context.Context, p *conformance.Probe) error {
	_, field, response, err := sendShaped(ctx, p, object.WrongType)
	if err != nil {
		return err
	}
	return wantInvalid(response, field)
}
