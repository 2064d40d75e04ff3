// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/conformance"
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

func dryRuns() []conformance.Check {
	return slices.Concat([]conformance.Check{
		{
			ID: "dry-run-create", Area: areaDryRuns,
			Rule:      "A POST with dryRun=All succeeds as one without it, and creates nothing.",
			Detail:    "What the answer has in it is not looked at.",
			Reference: dryRunDoc, PerResource: true, Verbs: []string{"create", "get"},
			Run: dryRunCreate,
		},
		{
			ID: "dry-run-update", Area: areaDryRuns,
			Rule:      "A PUT with dryRun=All succeeds as one without it, and changes nothing.",
			Detail:    "Adds an annotation to an object. What the answer has in it is not looked at.",
			Reference: dryRunDoc, PerResource: true, Verbs: []string{"create", "get", "update"},
			Run: dryRunUpdate,
		},
		{
			ID: "dry-run-patch", Area: areaDryRuns,
			Rule:      "A PATCH with dryRun=All succeeds as one without it, and changes nothing.",
			Detail:    "Adds an annotation to an object with a merge patch. What the answer has in it is not looked at.",
			Reference: dryRunDoc, PerResource: true, Verbs: []string{"create", "get", "patch"},
			Run: dryRunPatch,
		},
		{
			ID: "dry-run-delete", Area: areaDryRuns,
			Rule:      "A DELETE with dryRun=All succeeds as one without it, and deletes nothing.",
			Detail:    "Says so in the query first, and then in the body, as clients do. The object must not be marked as being deleted either.",
			Reference: dryRunDoc, PerResource: true, Verbs: []string{"create", "get", "delete"},
			Run: dryRunDelete,
		},
		{
			ID: "dry-run-invalid", Area: areaDryRuns,
			Rule:      "A value of dryRun other than All is refused with 422 and a Status, and nothing is done.",
			Detail:    "Sends a POST with dryRun=Unknown: a client that asks for a dry run must never get a real one. 400 is as good.",
			Reference: dryRunDoc, PerResource: true, Verbs: []string{"create", "get"},
			Run: dryRunInvalid,
		},
	}, fieldValidations())
}

func fieldValidations() []conformance.Check {
	verbs := []string{"create", "get"}
	return []conformance.Check{
		{
			ID: "field-validation-strict", Area: areaValidation,
			Rule:      "With fieldValidation=Strict, an object with an unknown field or with a field twice is refused with 400 and a Status that names the field.",
			Detail:    "Creates an object with an unknown field in its metadata, and one with an annotation twice. kubectl asks for this.",
			Reference: validationDoc, PerResource: true, Verbs: verbs,
			Run: fieldValidationStrict,
		},
		{
			ID: "field-validation-warn", Area: areaValidation,
			Rule:      "With fieldValidation=Warn, an object with an unknown field is stored, and the answer has a Warning with the code 299 that names the field.",
			Detail:    "Creates an object with an unknown field in its metadata.",
			Reference: validationDoc, PerResource: true, Verbs: verbs,
			Run: fieldValidationWarn,
		},
		{
			ID: "field-validation-ignore", Area: areaValidation,
			Rule:      "With fieldValidation=Ignore, an object with an unknown field is stored without a warning.",
			Detail:    "Creates an object with an unknown field in its metadata. Warnings about anything else are right.",
			Reference: validationDoc, PerResource: true, Verbs: verbs,
			Run: fieldValidationIgnore,
		},
	}
}

// sendDry sends a request that is a dry run, which has to succeed. The check is left out if the server
// may not do dry runs.
func sendDry(ctx context.Context, p *conformance.Probe, request conformance.Request) (*conformance.Response, error) {
	response, err := p.Send(ctx, request)
	if err == nil && !response.OK() {
		err = dryRunLeft(response)
		if err == nil {
			err = response.WantOK()
		}
	}
	return response, err
}

func dryRunCreate(ctx context.Context, p *conformance.Probe) error {
	object := p.New()
	response, err := sendDry(ctx, p, conformance.Post(p.Collection(), object, "dryRun", metav1.DryRunAll))
	if err != nil {
		return err
	}
	return wantNotStored(ctx, p, response, object.GetName())
}

func dryRunUpdate(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p)
	if err != nil {
		return err
	}
	response, err := putNoted(ctx, p, name, noteOne, "new", "dryRun", metav1.DryRunAll)
	if err != nil {
		return err
	}
	if err := dryRunLeft(response); err != nil {
		return err
	}
	if err := response.WantOK(); err != nil {
		return err
	}
	return wantNotes(ctx, p, response, name, noteOne, "")
}

func dryRunPatch(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p)
	if err != nil {
		return err
	}
	response, err := sendDry(ctx, p, conformance.Patch(p.Path(name), types.MergePatchType, notesPatch(noteOne, "new"), "dryRun", metav1.DryRunAll))
	if err != nil {
		return err
	}
	return wantNotes(ctx, p, response, name, noteOne, "")
}

func dryRunDelete(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p)
	if err != nil {
		return err
	}
	options := conformance.DeleteNow()
	options["dryRun"] = []string{metav1.DryRunAll}
	for _, request := range []conformance.Request{
		conformance.Delete(p.Path(name), nil, "dryRun", metav1.DryRunAll),
		conformance.Delete(p.Path(name), options),
	} {
		response, err := sendDry(ctx, p, request)
		if err != nil {
			return err
		}
		after, err := p.Send(ctx, conformance.Get(p.Path(name)))
		if err != nil {
			return err
		}
		object, err := after.Object()
		switch {
		case after.Code == http.StatusNotFound:
			return response.FailBecause("it is gone", "that the object exists afterwards")
		case err != nil:
			return &conformance.SetupError{Wanted: "read the object", Exchange: after.Exchange}
		case object.GetDeletionTimestamp() != nil:
			return response.FailBecause("it has a deletionTimestamp", "that the object is as before")
		}
	}
	return nil
}

func dryRunInvalid(ctx context.Context, p *conformance.Probe) error {
	object := p.New()
	response, err := p.Send(ctx, conformance.Post(p.Collection(), object, "dryRun", "Unknown"))
	if err != nil {
		return err
	}
	if err := response.WantStatus("", http.StatusUnprocessableEntity, http.StatusBadRequest); err != nil {
		return err
	}
	return wantNotStored(ctx, p, response, object.GetName())
}

// withUnknownField returns an object that has one.
func withUnknownField(p *conformance.Probe) (*unstructured.Unstructured, error) {
	object := p.New()
	return object, unstructured.SetNestedField(object.Object, "x", "metadata", unknownField)
}

// withFieldTwice returns the JSON of an object that has an annotation twice.
func withFieldTwice(object *unstructured.Unstructured) ([]byte, error) {
	addNotes(object, noteOne, "1")
	data, err := json.Marshal(object)
	once := []byte(`"` + noteOne + `":"1"`)
	return bytes.Replace(data, once, []byte(string(once)+`,"`+noteOne+`":"2"`), 1), err
}

func fieldValidationStrict(ctx context.Context, p *conformance.Probe) error {
	unknown, err := withUnknownField(p)
	if err != nil {
		return err
	}
	other := p.New()
	twice, err := withFieldTwice(other)
	if err != nil {
		return err
	}
	for _, one := range []struct {
		name, field string
		body        any
	}{
		{unknown.GetName(), unknownField, unknown},
		{other.GetName(), noteOne, twice},
	} {
		response, err := p.Send(ctx, conformance.Post(p.Collection(), one.body, "fieldValidation", metav1.FieldValidationStrict))
		if err != nil {
			return err
		}
		if err := response.WantStatus("", http.StatusBadRequest); err != nil {
			return err
		}
		if status, _ := response.Status(); !strings.Contains(status.Message, one.field) {
			return response.Fail("a Status whose message has the name of the field, %s", one.field)
		}
		if err := wantNotStored(ctx, p, response, one.name); err != nil {
			return err
		}
	}
	return nil
}

// storeUnknown creates an object with an unknown field, which has to succeed. It returns the answer and
// whether it has a warning with the code 299 that names the field.
func storeUnknown(ctx context.Context, p *conformance.Probe, validation string) (response *conformance.Response, warned bool, err error) {
	object, err := withUnknownField(p)
	if err != nil {
		return nil, false, err
	}
	response, err = p.Send(ctx, conformance.Post(p.Collection(), object, "fieldValidation", validation))
	if err != nil {
		return nil, false, err
	}
	if err := response.WantOK(); err != nil {
		return nil, false, err
	}
	exists, err := p.Exists(ctx, object.GetName())
	if err == nil && !exists {
		err = response.FailBecause("there is no object "+object.GetName(), "that the object exists afterwards")
	}
	warnings, _ := utilnet.ParseWarningHeaders(response.Header.Values("Warning"))
	warned = slices.ContainsFunc(warnings, func(warning utilnet.WarningHeader) bool {
		return warning.Code == warnCode && strings.Contains(warning.Text, unknownField)
	})
	return response, warned, err
}

func fieldValidationWarn(ctx context.Context, p *conformance.Probe) error {
	response, warned, err := storeUnknown(ctx, p, metav1.FieldValidationWarn)
	if err == nil && !warned {
		err = response.Fail("a Warning with the code 299 and the name of the field, %s", unknownField)
	}
	return err
}

func fieldValidationIgnore(ctx context.Context, p *conformance.Probe) error {
	response, warned, err := storeUnknown(ctx, p, metav1.FieldValidationIgnore)
	if err == nil && warned {
		err = response.Fail("no Warning about the field %s", unknownField)
	}
	return err
}
