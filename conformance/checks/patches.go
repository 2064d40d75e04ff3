// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaPatches = "Patching"

	patchDoc     = "https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply"
	strategicDoc = "https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md"
	codesDoc     = apiConventions + "#http-status-codes"
)

// operation is one of a JSON patch, about an annotation.
func operation(op, note string, value any) map[string]any {
	fields := map[string]any{"op": op, "path": "/metadata/annotations/" + strings.ReplaceAll(note, "/", "~1")}
	if value != nil {
		fields["value"] = value
	}
	return fields
}

var patches = []runner.Check{
	{
		ID: "patch-json", Area: areaPatches, PerResource: true, Verbs: []string{"create", "get", "patch"},
		Rule:      "A JSON patch adds, replaces, and removes what its operations say.",
		Detail:    "Tests, replaces, removes, and adds annotations in one patch. Other fields are not checked.",
		Reference: patchDoc,
		Run: func(p *runner.Probe) {
			name := makeNoted(p, noteOne, "old", noteTwo, "old")
			response := p.Send(runner.Patch(p.Path(name), types.JSONPatchType, []any{
				operation("test", noteOne, "old"), operation("replace", noteOne, "new"), operation("remove", noteTwo, nil), operation("add", noteThree, "new"),
			})).WantOK()
			wantNotes(p, response, name, noteOne, "new", noteTwo, "", noteThree, "new")
		},
	},
	{
		ID: "patch-merge", Area: areaPatches, PerResource: true, Verbs: []string{"create", "get", "patch"},
		Rule:      "A JSON merge patch sets its fields, removes those that it sets to null, and keeps the others.",
		Detail:    "Patches three annotations: replaces one, removes one, and does not mention one.",
		Reference: patchDoc,
		Run: func(p *runner.Probe) {
			name := makeNoted(p, noteOne, "old", noteTwo, "old", noteThree, "old")
			response := p.Send(runner.Patch(p.Path(name), types.MergePatchType, notesPatch(noteOne, "new", noteTwo, nil))).WantOK()
			wantNotes(p, response, name, noteOne, "new", noteTwo, "", noteThree, "old")
		},
	},
	{
		ID: "patch-strategic", Area: areaPatches, PerResource: true, Verbs: []string{"create", "get", "patch"},
		Rule:      "A strategic merge patch is applied, with its directives, or gets 415: it is never taken for another type of patch.",
		Detail:    "Replaces all annotations with the directive $patch: replace. Custom resources don't support this type of patch, and need not.",
		Reference: strategicDoc,
		Run: func(p *runner.Probe) {
			name := makeNoted(p, noteOne, "old")
			response := p.Send(runner.Patch(p.Path(name), types.StrategicMergePatchType, notesPatch("$patch", "replace", noteTwo, "new")))
			if response.Code == http.StatusUnsupportedMediaType {
				response.WantStatus(metav1.StatusReasonUnsupportedMediaType, http.StatusUnsupportedMediaType)
				return
			}
			response.WantSuccess("success, or 415 Unsupported Media Type")
			wantNotes(p, response, name, noteOne, "", noteTwo, "new")
		},
	},
	{
		ID: "patch-failed-test", Area: areaPatches, PerResource: true, Verbs: []string{"create", "get", "patch"},
		Rule:      "A JSON patch with a failing test changes nothing.",
		Detail:    "The operation before the test adds an annotation. Kubernetes returns 422; 400 and 409 are accepted, too.",
		Reference: patchDoc,
		Run: func(p *runner.Probe) {
			name := makeNoted(p, noteOne, "old")
			response := p.Send(runner.Patch(p.Path(name), types.JSONPatchType, []any{
				operation("add", noteTwo, "new"), operation("test", noteOne, "something else"),
			})).WantStatus("", http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusConflict)
			wantNotes(p, response, name, noteOne, "old", noteTwo, "")
		},
	},
	{
		ID: "patch-malformed", Area: areaPatches, PerResource: true, Verbs: []string{"create", "get", "patch"},
		Rule:      "A malformed patch gets 400 and a Status.",
		Detail:    "Sends truncated patches. 422 is accepted, too; 5xx would make clients retry.",
		Reference: codesDoc,
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			for _, patch := range []runner.Request{
				runner.Patch(p.Path(name), types.MergePatchType, []byte(`{"metadata":{"annotations":`)),
				runner.Patch(p.Path(name), types.JSONPatchType, []byte(`[{"op":"add","path":`)),
			} {
				p.Send(patch).WantStatus("", http.StatusBadRequest, http.StatusUnprocessableEntity)
			}
		},
	},
	{
		ID: "patch-media-type", Area: areaPatches, PerResource: true, Verbs: []string{"create", "get", "patch"},
		Rule:      "A patch of an unknown type gets 415 and a Status with reason UnsupportedMediaType.",
		Detail:    "Patches an object with a type that does not exist.",
		Reference: patchDoc,
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			p.Send(runner.Patch(p.Path(name), "application/unknown-patch+json", notesPatch(noteOne, "new"))).WantStatus(metav1.StatusReasonUnsupportedMediaType, http.StatusUnsupportedMediaType)
		},
	},
	{
		ID: "patch-missing", Area: areaPatches, PerResource: true, Verbs: []string{"patch"},
		Rule:      "A patch of an object that does not exist gets 404 and a Status with reason NotFound.",
		Detail:    "Sends a merge patch and a JSON patch. Server-side apply, which creates objects, has its own checks.",
		Reference: patchDoc,
		Run: func(p *runner.Probe) {
			path := p.Path(p.Name())
			for _, patch := range []runner.Request{
				runner.Patch(path, types.MergePatchType, notesPatch(noteOne, "new")),
				runner.Patch(path, types.JSONPatchType, []any{operation("add", noteOne, "new")}),
			} {
				p.Send(patch).WantStatus(metav1.StatusReasonNotFound, http.StatusNotFound)
			}
		},
	},
	{
		ID: "patch-conflict", Area: areaPatches, PerResource: true, Verbs: []string{"update", "create", "get", "patch"},
		Rule:      "A patch with an old metadata.resourceVersion gets 409 and a Status with reason Conflict, and changes nothing.",
		Detail:    "Changes an object, then sends a merge patch with the previous resourceVersion.",
		Reference: patchDoc,
		Run: func(p *runner.Probe) {
			object := p.Make()
			name := object.GetName()
			p.Label(name, noteOne, "changed")
			response := p.Send(runner.Patch(p.Path(name), types.MergePatchType, map[string]any{
				"metadata": map[string]any{"resourceVersion": object.GetResourceVersion(), "annotations": notes(noteOne, "new")},
			})).WantStatus(metav1.StatusReasonConflict, http.StatusConflict)
			wantNotes(p, response, name, noteOne, "")
		},
	},
}
