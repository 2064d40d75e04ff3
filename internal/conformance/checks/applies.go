// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/internal/conformance"
)

const (
	areaApplies = "Server-side apply"

	applyDoc = "https://kubernetes.io/docs/reference/using-api/server-side-apply/"

	// applyTick is longer than a second, the unit of the times in managedFields.
	applyTick = 1100 * time.Millisecond
)

func applies() []conformance.Check {
	verbs := []string{"create", "get", "patch"}
	return []conformance.Check{
		{
			ID: "apply-creates", Area: areaApplies,
			Rule:      "Server-side apply creates an object that does not exist.",
			Detail:    "Applies a whole object, and reads it. The code of the answer is not looked at as long as it is one of success.",
			Reference: patchDoc, PerResource: true, Verbs: verbs,
			Run: applyCreates,
		},
		{
			ID: "apply-managed-fields", Area: areaApplies,
			Rule:      "After an apply, metadata.managedFields has an entry of the manager with the operation Apply, the version, and the fields that were applied.",
			Detail:    "Applies an annotation to an object, and reads the object.",
			Reference: applyDoc + "#field-management", PerResource: true, Verbs: verbs,
			Run: applyManagedFields,
		},
		{
			ID: "update-managed-fields", Area: areaApplies,
			Rule:      "What POST and PUT write is kept in metadata.managedFields under the manager that fieldManager names, with the operation Update.",
			Detail:    "Creates an object as one manager, adds an annotation with a PUT as another one, and reads the object.",
			Reference: applyDoc + "#apply-and-update", PerResource: true, Verbs: []string{"create", "get", "update"},
			Run: updateManagedFields,
		},
		{
			ID: "apply-conflict", Area: areaApplies,
			Rule:      "An apply of another value to a field of another manager is answered with 409 and a Status that names the field in a cause of the type FieldManagerConflict, and changes nothing.",
			Detail:    "Two managers apply different values to the same annotation.",
			Reference: applyDoc + "#conflicts", PerResource: true, Verbs: verbs,
			Run: applyConflict,
		},
		{
			ID: "apply-force", Area: areaApplies,
			Rule:      "With force=true, an apply takes fields away from other managers.",
			Detail:    "The second manager forces its value on an annotation. It stays when the first one applies a configuration without it.",
			Reference: applyDoc + "#conflicts", PerResource: true, Verbs: verbs,
			Run: applyForce,
		},
		{
			ID: "apply-removes", Area: areaApplies,
			Rule:      "A field that its only manager does not apply any more is removed.",
			Detail:    "A manager applies two annotations, and then one.",
			Reference: applyDoc + "#merge-strategy", PerResource: true, Verbs: verbs,
			Run: applyRemoves,
		},
		{
			ID: "apply-needs-manager", Area: areaApplies,
			Rule:      "An apply without fieldManager is refused with 422 and a Status, and changes nothing.",
			Detail:    "Applies an annotation to an object. 400 is as good.",
			Reference: applyDoc + "#managers", PerResource: true, Verbs: verbs,
			Run: applyNeedsManager,
		},
		{
			ID: "apply-no-change", Area: areaApplies,
			Rule:      "Applying the same again does not change the object: its resourceVersion stays.",
			Detail:    "Applies the same annotation again a second later: the times in managedFields must not change either. It is tried several times, because others may change the object.",
			Reference: applyDoc, PerResource: true, Verbs: verbs, Slow: true,
			Run: applyNoChange,
		},
	}
}

func applyCreates(ctx context.Context, p *conformance.Probe) error {
	object := p.New()
	name := object.GetName()
	response, err := p.Send(ctx, conformance.Patch(p.Path(name), types.ApplyYAMLPatchType, object, "fieldManager", firstManager))
	if err != nil {
		return err
	}
	if err := response.WantOK(); err != nil {
		return err
	}
	exists, err := p.Exists(ctx, name)
	if err == nil && !exists {
		err = response.FailBecause("there is no object "+name, "that the object exists afterwards")
	}
	return err
}

// readManaged reads an object and returns the answer, too.
func readManaged(ctx context.Context, p *conformance.Probe, name string) (*unstructured.Unstructured, *conformance.Response, error) {
	response, err := p.Prepare(ctx, "read the object", conformance.Get(p.Path(name)))
	if err != nil {
		return nil, nil, err
	}
	object, err := response.Object()
	if err != nil {
		return nil, nil, &conformance.SetupError{Wanted: "read the object", Exchange: response.Exchange}
	}
	return object, response, nil
}

// wantManaged returns a failure unless metadata.managedFields has an entry, with an annotation if one
// is named.
func wantManaged(p *conformance.Probe, object *unstructured.Unstructured, response *conformance.Response, manager string, operation metav1.ManagedFieldsOperationType, note string) error {
	entry := managedBy(object, manager, operation)
	expected := fmt.Sprintf("an entry in metadata.managedFields with the manager %s, the operation %s, the apiVersion %s and the fieldsType FieldsV1", manager, operation, p.GroupVersion)
	switch {
	case entry == nil:
		return response.FailBecause("there is none with the manager and the operation", "%s", expected)
	case entry.apiVersion != p.GroupVersion.String():
		return response.FailBecause(fmt.Sprintf("its apiVersion is %v", entry.apiVersion), "%s", expected)
	case entry.fieldsType != "FieldsV1":
		return response.FailBecause(fmt.Sprintf("its fieldsType is %v", entry.fieldsType), "%s", expected)
	case note != "" && !entry.hasNote(note):
		return response.FailBecause(fmt.Sprintf("its fieldsV1 is %v", entry.fields), "%s, with f:metadata.f:annotations.f:%s in its fieldsV1", expected, note)
	}
	return nil
}

func applyManagedFields(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p)
	if err != nil {
		return err
	}
	if _, err := applyFirst(ctx, p, name, noteOne, "first"); err != nil {
		return err
	}
	object, response, err := readManaged(ctx, p, name)
	if err != nil {
		return err
	}
	return wantManaged(p, object, response, firstManager, metav1.ManagedFieldsOperationApply, noteOne)
}

func updateManagedFields(ctx context.Context, p *conformance.Probe) error {
	object := p.New()
	name := object.GetName()
	if _, err := p.Prepare(ctx, "create an object", conformance.Post(p.Collection(), object, "fieldManager", firstManager)); err != nil {
		return err
	}
	put, err := putNoted(ctx, p, name, noteOne, "second", "fieldManager", secondManager)
	if err != nil {
		return err
	}
	if !put.OK() {
		return &conformance.SetupError{Wanted: "change the object", Exchange: put.Exchange}
	}
	object, response, err := readManaged(ctx, p, name)
	if err != nil {
		return err
	}
	// The first manager has the labels at least.
	if err := wantManaged(p, object, response, firstManager, metav1.ManagedFieldsOperationUpdate, ""); err != nil {
		return err
	}
	return wantManaged(p, object, response, secondManager, metav1.ManagedFieldsOperationUpdate, noteOne)
}

func applyConflict(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p)
	if err != nil {
		return err
	}
	if _, err := applyFirst(ctx, p, name, noteOne, "first"); err != nil {
		return err
	}
	response, err := p.Send(ctx, apply(p, secondManager, name, noteOne, "second"))
	if err != nil {
		return err
	}
	if err := response.WantStatus(metav1.StatusReasonConflict, http.StatusConflict); err != nil {
		return err
	}
	status, _ := response.Status()
	names := func(cause metav1.StatusCause) bool {
		return cause.Type == metav1.CauseTypeFieldManagerConflict && strings.Contains(cause.Field, noteOne)
	}
	if status.Details == nil || !slices.ContainsFunc(status.Details.Causes, names) {
		return response.Fail("a Status that has a cause in details.causes whose reason is FieldManagerConflict and whose field is .metadata.annotations.%s", noteOne)
	}
	return wantNotes(ctx, p, response, name, noteOne, "first")
}

func applyForce(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p)
	if err != nil {
		return err
	}
	if _, err := applyFirst(ctx, p, name, noteOne, "first"); err != nil {
		return err
	}
	request := apply(p, secondManager, name, noteOne, "second")
	request.Query.Set("force", "true")
	response, err := p.Send(ctx, request)
	if err != nil {
		return err
	}
	if err := response.WantOK(); err != nil {
		return err
	}
	if err := wantNotes(ctx, p, response, name, noteOne, "second"); err != nil {
		return err
	}
	// What the first manager gives up now is not its own any more.
	response, err = applyFirst(ctx, p, name)
	if err != nil {
		return err
	}
	return wantNotes(ctx, p, response, name, noteOne, "second")
}

func applyRemoves(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p)
	if err != nil {
		return err
	}
	if _, err := applyFirst(ctx, p, name, noteOne, "first", noteTwo, "first"); err != nil {
		return err
	}
	response, err := applyFirst(ctx, p, name, noteOne, "first")
	if err != nil {
		return err
	}
	return wantNotes(ctx, p, response, name, noteOne, "first", noteTwo, "")
}

func applyNeedsManager(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p)
	if err != nil {
		return err
	}
	request := apply(p, "", name, noteOne, "nobody")
	request.Query.Del("fieldManager")
	response, err := p.Send(ctx, request)
	if err != nil {
		return err
	}
	if err := response.WantStatus("", http.StatusUnprocessableEntity, http.StatusBadRequest); err != nil {
		return err
	}
	return wantNotes(ctx, p, response, name, noteOne, "")
}

func applyNoChange(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p)
	if err != nil {
		return err
	}
	if _, err := applyFirst(ctx, p, name, noteOne, "first"); err != nil {
		return err
	}
	for try := 1; ; try++ {
		before, err := p.Read(ctx, name)
		if err != nil {
			return err
		}
		if err := p.Pause(ctx, applyTick); err != nil {
			return err
		}
		response, err := applyFirst(ctx, p, name, noteOne, "first")
		if err != nil {
			return err
		}
		after, err := p.Read(ctx, name)
		if err != nil {
			return err
		}
		switch is, was := after.GetResourceVersion(), before.GetResourceVersion(); {
		case is == was:
			return nil
		case try == attempts:
			return response.FailBecause(fmt.Sprintf("it was %s and is %s, and that each of %d times", was, is, try), "that the resourceVersion of the object stays")
		}
	}
}
