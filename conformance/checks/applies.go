// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
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

var applies = []runner.Check{
	{
		ID: "apply-creates", Area: areaApplies, PerResource: true, Verbs: []string{"create", "get", "patch"},
		Rule:      "Server-side apply creates an object that does not exist.",
		Detail:    "Applies a complete object and reads it. Any success code will do.",
		Reference: patchDoc,
		Run: func(p *runner.Probe) {
			object := p.New()
			name := object.GetName()
			response := p.Send(runner.Patch(p.Path(name), types.ApplyYAMLPatchType, object, "fieldManager", firstManager)).WantOK()
			wantExists(p, response, name, "that the object exists afterwards")
		},
	},
	{
		ID: "apply-managed-fields", Area: areaApplies, PerResource: true, Verbs: []string{"create", "get", "patch"},
		Rule:      "After an apply, metadata.managedFields has an entry for the manager with the operation Apply, the version, and the fields that were applied.",
		Detail:    "Applies an annotation to an object, then reads the object.",
		Reference: applyDoc + "#field-management",
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			applyFirst(p, name, noteOne, "first")
			response := p.Prepare("read the object", runner.Get(p.Path(name)))
			wantManaged(p, response, firstManager, metav1.ManagedFieldsOperationApply, noteOne)
		},
	},
	{
		ID: "update-managed-fields", Area: areaApplies, PerResource: true, Verbs: []string{"create", "get", "update"},
		Rule:      "Fields written with POST and PUT are recorded in metadata.managedFields under the manager named by fieldManager, with the operation Update.",
		Detail:    "Creates an object as one manager, adds an annotation with PUT as another, then reads the object.",
		Reference: applyDoc + "#apply-and-update",
		Run: func(p *runner.Probe) {
			object := p.New()
			name := object.GetName()
			p.Prepare("create an object", runner.Post(p.Collection(), object, "fieldManager", firstManager))
			put := putNoted(p, name, noteOne, "second", "fieldManager", secondManager)
			if !put.OK() {
				put.Unprepared("change the object")
			}
			response := p.Prepare("read the object", runner.Get(p.Path(name)))
			// The first manager has the labels at least.
			wantManaged(p, response, firstManager, metav1.ManagedFieldsOperationUpdate, "")
			wantManaged(p, response, secondManager, metav1.ManagedFieldsOperationUpdate, noteOne)
		},
	},
	{
		ID: "apply-conflict", Area: areaApplies, PerResource: true, Verbs: []string{"create", "get", "patch"},
		Rule:      "Applying a different value to a field of another manager gets 409 and a Status that names the field in a cause of type FieldManagerConflict. It changes nothing.",
		Detail:    "Two managers apply different values to the same annotation.",
		Reference: applyDoc + "#conflicts",
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			applyFirst(p, name, noteOne, "first")
			response := p.Send(apply(p, secondManager, name, noteOne, "second")).WantStatus(metav1.StatusReasonConflict, http.StatusConflict)
			expected := "a Status that has a cause in details.causes whose reason is FieldManagerConflict and whose field is .metadata.annotations." + noteOne
			wantCause(response, expected, func(cause metav1.StatusCause) bool {
				return cause.Type == metav1.CauseTypeFieldManagerConflict && strings.Contains(cause.Field, noteOne)
			})
			wantNotes(p, response, name, noteOne, "first")
		},
	},
	{
		ID: "apply-force", Area: areaApplies, PerResource: true, Verbs: []string{"create", "get", "patch"},
		Rule:      "With force=true, an apply takes over fields from other managers.",
		Detail:    "The second manager forces its value on an annotation. The annotation must stay when the first manager then applies a configuration without it.",
		Reference: applyDoc + "#conflicts",
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			applyFirst(p, name, noteOne, "first")
			request := apply(p, secondManager, name, noteOne, "second")
			request.Query.Set("force", "true")
			response := p.Send(request).WantOK()
			wantNotes(p, response, name, noteOne, "second")
			// What the first manager gives up now is not its own any more.
			response = applyFirst(p, name)
			wantNotes(p, response, name, noteOne, "second")
		},
	},
	{
		ID: "apply-removes", Area: areaApplies, PerResource: true, Verbs: []string{"create", "get", "patch"},
		Rule:      "A field is removed when its only manager no longer applies it.",
		Detail:    "One manager applies two annotations, then only one of them.",
		Reference: applyDoc + "#merge-strategy",
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			applyFirst(p, name, noteOne, "first", noteTwo, "first")
			wantNotes(p, applyFirst(p, name, noteOne, "first"), name, noteOne, "first", noteTwo, "")
		},
	},
	{
		ID: "apply-needs-manager", Area: areaApplies, PerResource: true, Verbs: []string{"create", "get", "patch"},
		Rule:      "An apply without fieldManager gets 422 and a Status, and changes nothing.",
		Detail:    "Applies an annotation to an object. 400 is accepted, too.",
		Reference: applyDoc + "#managers",
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			request := apply(p, "", name, noteOne, "nobody")
			request.Query.Del("fieldManager")
			wantNotes(p, p.Send(request).WantStatus("", http.StatusUnprocessableEntity, http.StatusBadRequest), name, noteOne, "")
		},
	},
	{
		ID: "apply-no-change", Area: areaApplies, PerResource: true, Verbs: []string{"create", "get", "patch"}, Slow: true,
		Rule:      "Applying the same configuration again does not change the object: its resourceVersion stays the same.",
		Detail:    "Applies an annotation again a second later; the times in managedFields must not change either. Tries several times.",
		Reference: applyDoc,
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			applyFirst(p, name, noteOne, "first")
			for try := 1; ; try++ {
				before := p.Read(name)
				runner.StopOn(p.Pause(p.Context, applyTick))
				response := applyFirst(p, name, noteOne, "first")
				after := p.Read(name)
				switch is, was := after.GetResourceVersion(), before.GetResourceVersion(); {
				case is == was:
					return
				case try == attempts:
					response.FailBecause(fmt.Sprintf("it was %s and is now %s, each of %d times", was, is, try), "that the resourceVersion of the object stays")
				}
			}
		},
	},
}

// wantManaged fails the check unless the object that is answered has an entry in metadata.managedFields, with an
// annotation if one is named.
func wantManaged(p *runner.Probe, response *runner.Response, manager string, operation metav1.ManagedFieldsOperationType, note string) {
	expected := fmt.Sprintf("an entry in metadata.managedFields with the manager %s, the operation %s, the apiVersion %s and the fieldsType FieldsV1", manager, operation, p.GroupVersion)
	entries := response.Object().GetManagedFields()
	at := slices.IndexFunc(entries, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == manager && entry.Operation == operation && entry.Subresource == ""
	})
	if at < 0 {
		response.FailBecause("there is no entry with the manager and the operation", "%s", expected)
	}
	entry, fields := entries[at], map[string]any{}
	switch {
	case entry.APIVersion != p.GroupVersion.String():
		response.FailBecause("its apiVersion is "+entry.APIVersion, "%s", expected)
	case entry.FieldsType != "FieldsV1":
		response.FailBecause("its fieldsType is "+entry.FieldsType, "%s", expected)
	case entry.FieldsV1 != nil:
		json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) //nolint:errcheck // It has no fields then.
	}
	if _, has, err := unstructured.NestedFieldNoCopy(fields, "f:metadata", "f:annotations", "f:"+note); note != "" && (!has || err != nil) {
		response.FailBecause(fmt.Sprintf("its fieldsV1 is %v", fields), "%s, with f:metadata.f:annotations.f:%s in its fieldsV1", expected, note)
	}
}
