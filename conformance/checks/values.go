// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/broken"
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

func values() []rule {
	return []rule{valueEmptyRequired{}, valueWholeNumber{}, valueNullItem{}, valueTypeCause{}}
}

type valueEmptyRequired struct{}

func (r valueEmptyRequired) check() runner.Check {
	return runner.Check{
		ID: "value-empty-required", Area: "Values and schemas",
		Rule:        "A required field must be present: a string may be empty unless its schema restricts it, and is stored as such.",
		Detail:      "Posts an object with an empty string in a required field whose schema has no minLength, pattern, enum, or format.",
		Reference:   schemasDoc,
		PerResource: true, Verbs: []string{"create", "get"}, Applies: decidedBySchema, Run: r.run,
	}
}

func (valueEmptyRequired) run(p *runner.Probe) {
	made, field, response := sendShaped(p, object.EmptyText)
	response.WantOK()
	stored := p.Read(made.GetName())
	if value, there := leavesOf(stored.Object)["."+field]; !there || value != `""` {
		response.FailBecause("what is stored has not", "an object whose %s is empty", field)
	}
}

func (valueEmptyRequired) broken() broken.Server {
	return broken.That("takes empty strings for missing ones", broken.OnSentObject(broken.Method(http.MethodPost, broken.Collection, broken.Sends(broken.JSONType)), func(object map[string]any) {
		spec, _ := object["spec"].(map[string]any)
		for name, value := range spec {
			if value == "" {
				delete(spec, name)
			}
		}
	}))
}

type valueWholeNumber struct{}

func (r valueWholeNumber) check() runner.Check {
	return runner.Check{
		ID: "value-whole-number", Area: "Values and schemas",
		Rule:        "A number without a fraction is an integer, however it is written.",
		Detail:      "Posts an object in which an integer is written as 1.0.",
		Reference:   schemasDoc,
		PerResource: true, Verbs: []string{"create", "get"}, Applies: decidedBySchema, Run: r.run,
	}
}

func (valueWholeNumber) run(p *runner.Probe) {
	_, _, response := sendShaped(p, object.WholeNumber)
	response.WantOK()
}

func (valueWholeNumber) broken() broken.Server {
	return broken.That("reads numbers with a point into no integers", broken.Instead(broken.Method(http.MethodPost, broken.Collection, broken.Sends(broken.JSONType)), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if !fractionOfZero.Match(broken.BodyOf(r)) {
			next.ServeHTTP(w, r)
			return
		}
		broken.Refuse(w, http.StatusBadRequest, "BadRequest", "cannot unmarshal number 1.0 into type int64")
	}))
}

// fractionOfZero is a number as no program of Go writes integers.
var fractionOfZero = regexp.MustCompile(`:[0-9]+\.0[,}]`) //nolint:gochecknoglobals // A constant.

type valueNullItem struct{}

func (r valueNullItem) check() runner.Check {
	return runner.Check{
		ID: "value-null-item", Area: "Values and schemas",
		Rule:        "null is not a string: a list of strings that contains null gets 422 or 400 and a Status, and is not stored.",
		Detail:      "Posts an object with such a list, unless the schema says nullable.",
		Reference:   schemasDoc,
		PerResource: true, Verbs: []string{"create", "get"}, Applies: decidedBySchema, Run: r.run,
	}
}

func (valueNullItem) run(p *runner.Probe) {
	made, _, response := sendShaped(p, object.NullItem)
	response.WantStatus("", http.StatusUnprocessableEntity, http.StatusBadRequest)
	wantNotStored(p, response, made.GetName())
}

func (valueNullItem) broken() broken.Server {
	return broken.That("takes null in a list for an empty string", broken.OnSentObject(broken.Method(http.MethodPost, broken.Collection, broken.Sends(broken.JSONType)), func(object map[string]any) {
		spec, _ := object["spec"].(map[string]any)
		for _, value := range spec {
			list, _ := value.([]any)
			for i := range list {
				if list[i] == nil {
					list[i] = ""
				}
			}
		}
	}))
}

type valueTypeCause struct{}

func (r valueTypeCause) check() runner.Check {
	return runner.Check{
		ID: "value-type-cause", Area: "Values and schemas",
		Rule:        "A value of the wrong type gets 422 and a Status whose causes name the field.",
		Detail:      "Posts an object with a number where the schema requires a string.",
		Reference:   schemasDoc,
		PerResource: true, Verbs: []string{"create", "get"}, Applies: decidedBySchema, Run: r.run,
	}
}

func (valueTypeCause) run(p *runner.Probe) {
	_, field, response := sendShaped(p, object.WrongType)
	wantInvalid(response, field)
}

func (valueTypeCause) broken() broken.Server {
	return broken.That("does not say which field has a wrong type", broken.OnAnswer(broken.Method(http.MethodPost, broken.Collection, broken.Sends(broken.JSONType)), func(_ *http.Request, a *broken.Answer) {
		if a.Code != http.StatusUnprocessableEntity {
			return
		}
		a.Edit(func(status map[string]any) {
			details := broken.FieldsOf(status, "details")
			causes, _ := details["causes"].([]any)
			for _, one := range causes {
				cause, _ := one.(map[string]any)
				if field, _ := cause["field"].(string); strings.HasPrefix(field, "spec.") {
					delete(cause, "field")
				}
			}
		})
	}))
}
