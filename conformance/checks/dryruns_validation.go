// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/docket-project/docket/conformance/runner"
)

func dryrunsValidationRules() []runner.Check {
	return []runner.Check{fieldValidationStrict(), fieldValidationWarn(), fieldValidationIgnore()}
}

func fieldValidationStrict() runner.Check {
	return runner.Check{
		ID: "field-validation-strict", Area: areaValidation,
		Rule:        "With fieldValidation=Strict, an object with an unknown or a duplicate field gets 400 and a Status that names the field.",
		Detail:      "Sends an unknown field in metadata, and a duplicate annotation.",
		Reference:   validationDoc,
		PerResource: true, Verbs: []string{"create", "get"},
		Run: func(p *runner.Probe) {
			unknown := withUnknownField(p)
			other := p.New()
			twice := withFieldTwice(other)
			for _, one := range []struct {
				name, field string
				body        any
			}{
				{unknown.GetName(), unknownField, unknown},
				{other.GetName(), noteOne, twice},
			} {
				response := p.Send(runner.Post(p.Collection(), one.body, "fieldValidation", metav1.FieldValidationStrict)).WantStatus("", http.StatusBadRequest)
				if status, _ := response.Status(); !strings.Contains(status.Message, one.field) {
					response.Fail("a Status whose message has the name of the field, %s", one.field)
				}
				wantNotStored(p, response, one.name)
			}
		},
	}
}

// storeUnknown creates an object with an unknown field, which has to succeed. It returns the answer and
// whether it has a warning with the code 299 that names the field.
func storeUnknown(p *runner.Probe, validation string) (response *runner.Response, warned bool) {
	object := withUnknownField(p)
	response = p.Send(runner.Post(p.Collection(), object, "fieldValidation", validation)).WantOK()
	if !p.Exists(object.GetName()) {
		response.FailBecause("there is no object "+object.GetName(), "that the object exists afterwards")
	}
	warnings, _ := utilnet.ParseWarningHeaders(response.Header.Values("Warning"))
	warned = slices.ContainsFunc(warnings, func(warning utilnet.WarningHeader) bool {
		return warning.Code == warnCode && strings.Contains(warning.Text, unknownField)
	})
	return response, warned
}

func fieldValidationWarn() runner.Check {
	return runner.Check{
		ID: "field-validation-warn", Area: areaValidation,
		Rule:        "With fieldValidation=Warn, an object with an unknown field is stored, and the answer has a Warning with code 299 that names the field.",
		Detail:      "Creates an object with an unknown field in its metadata.",
		Reference:   validationDoc,
		PerResource: true, Verbs: []string{"create", "get"},
		Run: func(p *runner.Probe) {
			response, warned := storeUnknown(p, metav1.FieldValidationWarn)
			if !warned {
				response.Fail("a Warning with the code 299 and the name of the field, %s", unknownField)
			}
		},
	}
}

func fieldValidationIgnore() runner.Check {
	return runner.Check{
		ID: "field-validation-ignore", Area: areaValidation,
		Rule:        "With fieldValidation=Ignore, an object with an unknown field is stored without a warning.",
		Detail:      "Creates an object with an unknown field in its metadata. Warnings about anything else are fine.",
		Reference:   validationDoc,
		PerResource: true, Verbs: []string{"create", "get"},
		Run: func(p *runner.Probe) {
			response, warned := storeUnknown(p, metav1.FieldValidationIgnore)
			if warned {
				response.Fail("no Warning about the field %s", unknownField)
			}
		},
	}
}
