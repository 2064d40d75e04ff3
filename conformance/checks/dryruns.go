// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaDryRuns    = "Dry runs"
	areaValidation = "Validation of fields"

	dryRunDoc     = "https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run"
	validationDoc = "https://kubernetes.io/docs/reference/using-api/api-concepts/#setting-the-field-validation-level"

	// unknownField is in the metadata of no object. Kinds may have any field elsewhere.
	unknownField = "docketConformance"
	// warnCode is that of warnings for people.
	warnCode = 299
)

// sendDry sends a request that is a dry run, which has to succeed. The check is left out if the server
// may not do dry runs.
func sendDry(p *runner.Probe, request runner.Request) *runner.Response {
	response := p.Send(request)
	if !response.OK() {
		dryRunLeft(response)
	}
	return response.WantOK()
}

var dryRuns = []runner.Check{
	{
		ID: "dry-run-create", Area: areaDryRuns, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "A POST with dryRun=All succeeds like one without it, and creates nothing.",
		Detail:    "The content of the answer is not checked.",
		Reference: dryRunDoc,
		Run: func(p *runner.Probe) {
			object := p.New()
			wantNotStored(p, sendDry(p, runner.Post(p.Collection(), object, "dryRun", metav1.DryRunAll)), object.GetName())
		},
	},
	{
		ID: "dry-run-update", Area: areaDryRuns, PerResource: true, Verbs: []string{"create", "get", "update"},
		Rule:      "A PUT with dryRun=All succeeds like one without it, and changes nothing.",
		Detail:    "Adds an annotation to an object. The content of the answer is not checked.",
		Reference: dryRunDoc,
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			response := putNoted(p, name, noteOne, "new", "dryRun", metav1.DryRunAll)
			dryRunLeft(response)
			response.WantOK()
			wantNotes(p, response, name, noteOne, "")
		},
	},
	{
		ID: "dry-run-patch", Area: areaDryRuns, PerResource: true, Verbs: []string{"create", "get", "patch"},
		Rule:      "A PATCH with dryRun=All succeeds like one without it, and changes nothing.",
		Detail:    "Sends a merge patch. The content of the answer is not checked.",
		Reference: dryRunDoc,
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			response := sendDry(p, runner.Patch(p.Path(name), types.MergePatchType, notesPatch(noteOne, "new"), "dryRun", metav1.DryRunAll))
			wantNotes(p, response, name, noteOne, "")
		},
	},
	{
		ID: "dry-run-delete", Area: areaDryRuns, PerResource: true, Verbs: []string{"create", "get", "delete"},
		Rule:      "A DELETE with dryRun=All succeeds like one without it, and deletes nothing.",
		Detail:    "Sends dryRun in the query, then in the body. The object must not be marked as being deleted either.",
		Reference: dryRunDoc,
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			for _, request := range []runner.Request{
				runner.Delete(p.Path(name), nil, "dryRun", metav1.DryRunAll),
				runner.Delete(p.Path(name), deleteWith("dryRun", []string{metav1.DryRunAll})),
			} {
				response := sendDry(p, request)
				after := p.Send(runner.Get(p.Path(name)))
				if after.Code == http.StatusNotFound {
					response.FailBecause("it is gone", "that the object exists afterwards")
				}
				if after.Object().GetDeletionTimestamp() != nil {
					response.FailBecause("it has a deletionTimestamp", "that the object is as before")
				}
			}
		},
	},
	{
		ID: "dry-run-invalid", Area: areaDryRuns, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "A value of dryRun other than All gets 422 and a Status, and nothing is done.",
		Detail:    "Sends a POST with dryRun=Unknown: a client that asks for a dry run must never get a real one. 400 is accepted, too.",
		Reference: dryRunDoc,
		Run: func(p *runner.Probe) {
			object := p.New()
			response := p.Send(runner.Post(p.Collection(), object, "dryRun", "Unknown")).WantStatus("", http.StatusUnprocessableEntity, http.StatusBadRequest)
			wantNotStored(p, response, object.GetName())
		},
	},
	{
		ID: "field-validation-strict", Area: areaValidation, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "With fieldValidation=Strict, an object with an unknown or a duplicate field gets 400 and a Status that names the field.",
		Detail:    "Sends an unknown field in metadata, and a duplicate annotation.",
		Reference: validationDoc,
		Run: func(p *runner.Probe) {
			unknown, other := withUnknownField(p), p.New()
			wantNamesField(p, unknown.GetName(), unknownField, unknown)
			wantNamesField(p, other.GetName(), noteOne, withFieldTwice(other))
		},
	},
	{
		ID: "field-validation-warn", Area: areaValidation, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "With fieldValidation=Warn, an object with an unknown field is stored, and the answer has a Warning with code 299 that names the field.",
		Detail:    "Creates an object with an unknown field in its metadata.",
		Reference: validationDoc,
		Run: func(p *runner.Probe) {
			response, warned := storeUnknown(p, metav1.FieldValidationWarn)
			if !warned {
				response.Fail("a Warning with the code 299 and the name of the field, %s", unknownField)
			}
		},
	},
	{
		ID: "field-validation-ignore", Area: areaValidation, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "With fieldValidation=Ignore, an object with an unknown field is stored without a warning.",
		Detail:    "Creates an object with an unknown field in its metadata. Warnings about anything else are fine.",
		Reference: validationDoc,
		Run: func(p *runner.Probe) {
			response, warned := storeUnknown(p, metav1.FieldValidationIgnore)
			if warned {
				response.Fail("no Warning about the field %s", unknownField)
			}
		},
	},
}

// wantNamesField fails the check unless an object is refused with the name of a field that is wrong.
func wantNamesField(p *runner.Probe, name, field string, body any) {
	response := p.Send(runner.Post(p.Collection(), body, "fieldValidation", metav1.FieldValidationStrict)).WantStatus("", http.StatusBadRequest)
	if status, _ := response.Status(); !strings.Contains(status.Message, field) {
		response.Fail("a Status whose message has the name of the field, %s", field)
	}
	wantNotStored(p, response, name)
}

// withUnknownField returns an object that has one.
func withUnknownField(p *runner.Probe) *unstructured.Unstructured {
	object := p.New()
	runner.StopOn(unstructured.SetNestedField(object.Object, "x", "metadata", unknownField))
	return object
}

// withFieldTwice returns the JSON of an object that has an annotation twice.
func withFieldTwice(object *unstructured.Unstructured) []byte {
	addNotes(object, noteOne, "1")
	data := runner.Must(json.Marshal(object))
	once := []byte(`"` + noteOne + `":"1"`)
	return bytes.Replace(data, once, []byte(string(once)+`,"`+noteOne+`":"2"`), 1)
}

// storeUnknown creates an object with an unknown field, which has to succeed. It returns the answer and
// whether it has a warning with the code 299 that names the field.
func storeUnknown(p *runner.Probe, validation string) (response *runner.Response, warned bool) {
	object := withUnknownField(p)
	response = p.Send(runner.Post(p.Collection(), object, "fieldValidation", validation)).WantOK()
	wantExists(p, response, object.GetName(), "that the object exists afterwards")
	warnings, _ := utilnet.ParseWarningHeaders(response.Header.Values("Warning"))
	warned = slices.ContainsFunc(warnings, func(warning utilnet.WarningHeader) bool {
		return warning.Code == warnCode && strings.Contains(warning.Text, unknownField)
	})
	return response, warned
}
