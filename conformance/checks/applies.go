// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaApplies = "Server-side apply"

	applyDoc = "https://kubernetes.io/docs/reference/using-api/server-side-apply/"

	// applyTick is longer than a second, the unit of the times in managedFields.
	applyTick = 1100 * time.Millisecond
)

func applies() []runner.Check {
	return slices.Concat([]runner.Check{applyCreates(), applyManagedFields(), updateManagedFields()}, appliesConflictsRules())
}

func applyCreates() runner.Check {
	return runner.Check{
		ID: "apply-creates", Area: areaApplies,
		Rule:        "Server-side apply creates an object that does not exist.",
		Detail:      "Applies a complete object and reads it. Any success code will do.",
		Reference:   patchDoc,
		PerResource: true, Verbs: []string{"create", "get", "patch"},
		Run: func(p *runner.Probe) {
			object := p.New()
			name := object.GetName()
			response := p.Send(runner.Patch(p.Path(name), types.ApplyYAMLPatchType, object, "fieldManager", firstManager)).WantOK()
			wantExists(p, response, name, "that the object exists afterwards")
		},
	}
}

// readManaged reads an object and returns the answer, too.
func readManaged(p *runner.Probe, name string) (*unstructured.Unstructured, *runner.Response) {
	response := p.Prepare("read the object", runner.Get(p.Path(name)))
	object := response.Object()
	return object, response
}

// wantManaged returns a failure unless metadata.managedFields has an entry, with an annotation if one
// is named.
func wantManaged(p *runner.Probe, object *unstructured.Unstructured, response *runner.Response, manager string, operation metav1.ManagedFieldsOperationType, note string) {
	entry := managedBy(object, manager, operation)
	expected := fmt.Sprintf("an entry in metadata.managedFields with the manager %s, the operation %s, the apiVersion %s and the fieldsType FieldsV1", manager, operation, p.GroupVersion)
	switch {
	case entry == nil:
		response.FailBecause("there is no entry with the manager and the operation", "%s", expected)
	case entry.apiVersion != p.GroupVersion.String():
		response.FailBecause(fmt.Sprintf("its apiVersion is %v", entry.apiVersion), "%s", expected)
	case entry.fieldsType != "FieldsV1":
		response.FailBecause(fmt.Sprintf("its fieldsType is %v", entry.fieldsType), "%s", expected)
	case note != "" && !entry.hasNote(note):
		response.FailBecause(fmt.Sprintf("its fieldsV1 is %v", entry.fields), "%s, with f:metadata.f:annotations.f:%s in its fieldsV1", expected, note)
	}
}

func applyManagedFields() runner.Check {
	return runner.Check{
		ID: "apply-managed-fields", Area: areaApplies,
		Rule:        "After an apply, metadata.managedFields has an entry for the manager with the operation Apply, the version, and the fields that were applied.",
		Detail:      "Applies an annotation to an object, then reads the object.",
		Reference:   applyDoc + "#field-management",
		PerResource: true, Verbs: []string{"create", "get", "patch"},
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			applyFirst(p, name, noteOne, "first")
			object, response := readManaged(p, name)
			wantManaged(p, object, response, firstManager, metav1.ManagedFieldsOperationApply, noteOne)
		},
	}
}

func updateManagedFields() runner.Check {
	return runner.Check{
		ID: "update-managed-fields", Area: areaApplies,
		Rule:        "Fields written with POST and PUT are recorded in metadata.managedFields under the manager named by fieldManager, with the operation Update.",
		Detail:      "Creates an object as one manager, adds an annotation with PUT as another, then reads the object.",
		Reference:   applyDoc + "#apply-and-update",
		PerResource: true, Verbs: []string{"create", "get", "update"},
		Run: func(p *runner.Probe) {
			object := p.New()
			name := object.GetName()
			p.Prepare("create an object", runner.Post(p.Collection(), object, "fieldManager", firstManager))
			put := putNoted(p, name, noteOne, "second", "fieldManager", secondManager)
			if !put.OK() {
				put.Unprepared("change the object")
			}
			object, response := readManaged(p, name)
			// The first manager has the labels at least.
			wantManaged(p, object, response, firstManager, metav1.ManagedFieldsOperationUpdate, "")
			wantManaged(p, object, response, secondManager, metav1.ManagedFieldsOperationUpdate, noteOne)
		},
	}
}
