// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/object"
	"github.com/docket-project/docket/conformance/runner"
)

const schemasDoc = customResources + "#specifying-a-structural-schema"

// decidedBySchema leaves out the kinds of Kubernetes: code decides about their values, and their
// schemas tell only a part of it.
func decidedBySchema(resource *runner.Resource) string {
	if group := resource.GroupVersion.Group; !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") {
		return "the kinds of Kubernetes have rules that are not in their schemas"
	}
	return ""
}

// sendShaped sends an object with a value of a shape. It returns the field with it.
func sendShaped(p *runner.Probe, shape object.Shape) (made *unstructured.Unstructured, field string, response *runner.Response) {
	made, field = p.Resource.Maker.Shaped(shape)
	if made == nil {
		runner.Leave("the schema has no field for it")
	}
	made.Object["metadata"] = p.New().Object["metadata"]
	response = p.Send(runner.Post(p.Collection(), made))
	return made, field, response
}

var values = []runner.Check{
	{
		ID: "value-empty-required", Area: "Values and schemas", PerResource: true, Verbs: []string{"create", "get"}, Applies: decidedBySchema,
		Rule:      "A required field must be present: a string may be empty unless its schema restricts it, and is stored as such.",
		Detail:    "Posts an empty string in a required field without minLength, pattern, enum, or format.",
		Reference: schemasDoc,
		Run: func(p *runner.Probe) {
			made, field, response := sendShaped(p, object.EmptyText)
			response.WantOK()
			stored := p.Read(made.GetName())
			if value, there := leavesOf(stored.Object)["."+field]; !there || value != `""` {
				response.FailBecause("what is stored has not", "an object whose %s is empty", field)
			}
		},
	},
	{
		ID: "value-whole-number", Area: "Values and schemas", PerResource: true, Verbs: []string{"create", "get"}, Applies: decidedBySchema,
		Rule:      "A number without a fraction is an integer, however it is written.",
		Detail:    "Posts an object in which an integer is written as 1.0.",
		Reference: schemasDoc,
		Run: func(p *runner.Probe) {
			_, _, response := sendShaped(p, object.WholeNumber)
			response.WantOK()
		},
	},
	{
		ID: "value-null-item", Area: "Values and schemas", PerResource: true, Verbs: []string{"create", "get"}, Applies: decidedBySchema,
		Rule:      "null is not a string: a list of strings that contains null gets 422 or 400 and a Status, and is not stored.",
		Detail:    "Posts an object with such a list, unless the schema says nullable.",
		Reference: schemasDoc,
		Run: func(p *runner.Probe) {
			made, _, response := sendShaped(p, object.NullItem)
			response.WantStatus("", http.StatusUnprocessableEntity, http.StatusBadRequest)
			wantNotStored(p, response, made.GetName())
		},
	},
	{
		ID: "value-type-cause", Area: "Values and schemas", PerResource: true, Verbs: []string{"create", "get"}, Applies: decidedBySchema,
		Rule:      "A value of the wrong type gets 422 and a Status whose causes name the field.",
		Detail:    "Posts an object with a number where the schema requires a string.",
		Reference: schemasDoc,
		Run: func(p *runner.Probe) {
			_, field, response := sendShaped(p, object.WrongType)
			wantInvalid(response, field)
		},
	},
}
