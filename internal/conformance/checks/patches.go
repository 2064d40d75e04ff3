// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/internal/conformance"
)

const (
	areaPatches = "Patching"

	patchDoc     = "https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply"
	strategicDoc = "https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md"
	codesDoc     = apiConventions + "#http-status-codes"
)

func patches() []conformance.Check {
	verbs := []string{"create", "get", "patch"}
	return []conformance.Check{
		{
			ID: "patch-json", Area: areaPatches,
			Rule:      "A JSON patch adds, replaces and removes what its operations say.",
			Detail:    "Tests, replaces, removes and adds annotations in one patch. Other fields are not looked at.",
			Reference: patchDoc, PerResource: true, Verbs: verbs,
			Run: patchJSON,
		},
		{
			ID: "patch-merge", Area: areaPatches,
			Rule:      "A JSON merge patch sets the fields that it has, removes those that are null in it, and leaves the others.",
			Detail:    "Patches annotations of an object that has three: one is replaced, one removed, one not mentioned.",
			Reference: patchDoc, PerResource: true, Verbs: verbs,
			Run: patchMerge,
		},
		{
			ID: "patch-strategic", Area: areaPatches,
			Rule:      "A strategic merge patch is understood, with its directives, or refused with 415: it is never taken for another type.",
			Detail:    "Replaces all annotations with the directive $patch: replace. Custom resources don't have this type of patch, and need not.",
			Reference: strategicDoc, PerResource: true, Verbs: verbs,
			Run: patchStrategic,
		},
		{
			ID: "patch-failed-test", Area: areaPatches,
			Rule:      "A JSON patch with a test that fails changes nothing.",
			Detail:    "The operation before the test adds an annotation. Kubernetes answers 422; 400 and 409 are as good.",
			Reference: patchDoc, PerResource: true, Verbs: verbs,
			Run: patchFailedTest,
		},
		{
			ID: "patch-malformed", Area: areaPatches,
			Rule:      "A patch that can't be read is answered with 400 and a Status.",
			Detail:    "Sends a merge patch and a JSON patch that end too early. 422 is as good; 5xx would have clients try again.",
			Reference: codesDoc, PerResource: true, Verbs: verbs,
			Run: patchMalformed,
		},
		{
			ID: "patch-media-type", Area: areaPatches,
			Rule:      "A type of patch that the server does not know is answered with 415 and a Status whose reason is UnsupportedMediaType.",
			Detail:    "Patches an object with a type that nobody has.",
			Reference: patchDoc, PerResource: true, Verbs: verbs,
			Run: patchMediaType,
		},
		{
			ID: "patch-missing", Area: areaPatches,
			Rule:      "A patch of an object that does not exist is answered with 404 and a Status whose reason is NotFound.",
			Detail:    "Sends a merge patch and a JSON patch. Server-side apply, which creates objects, has checks of its own.",
			Reference: patchDoc, PerResource: true, Verbs: []string{"patch"},
			Run: patchMissing,
		},
		{
			ID: "patch-conflict", Area: areaPatches,
			Rule:      "A patch that has an old metadata.resourceVersion is answered with 409 and a Status whose reason is Conflict, and changes nothing.",
			Detail:    "Changes an object, and sends a merge patch with the resourceVersion from before.",
			Reference: patchDoc, PerResource: true, Verbs: append([]string{"update"}, verbs...),
			Run: patchConflict,
		},
	}
}

// operation is one of a JSON patch, about an annotation.
func operation(op, note string, value any) map[string]any {
	fields := map[string]any{"op": op, "path": "/metadata/annotations/" + strings.ReplaceAll(note, "/", "~1")}
	if value != nil {
		fields["value"] = value
	}
	return fields
}

func patchJSON(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p, noteOne, "old", noteTwo, "old")
	if err != nil {
		return err
	}
	response, err := p.Send(ctx, conformance.Patch(p.Path(name), types.JSONPatchType, []any{
		operation("test", noteOne, "old"), operation("replace", noteOne, "new"), operation("remove", noteTwo, nil), operation("add", noteThree, "new"),
	}))
	if err != nil {
		return err
	}
	if err := response.WantOK(); err != nil {
		return err
	}
	return wantNotes(ctx, p, response, name, noteOne, "new", noteTwo, "", noteThree, "new")
}

func patchMerge(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p, noteOne, "old", noteTwo, "old", noteThree, "old")
	if err != nil {
		return err
	}
	response, err := p.Send(ctx, conformance.Patch(p.Path(name), types.MergePatchType, notesPatch(noteOne, "new", noteTwo, nil)))
	if err != nil {
		return err
	}
	if err := response.WantOK(); err != nil {
		return err
	}
	return wantNotes(ctx, p, response, name, noteOne, "new", noteTwo, "", noteThree, "old")
}

func patchStrategic(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p, noteOne, "old")
	if err != nil {
		return err
	}
	response, err := p.Send(ctx, conformance.Patch(p.Path(name), types.StrategicMergePatchType, notesPatch("$patch", "replace", noteTwo, "new")))
	if err != nil {
		return err
	}
	if response.Code == http.StatusUnsupportedMediaType {
		return response.WantStatus(metav1.StatusReasonUnsupportedMediaType, http.StatusUnsupportedMediaType)
	}
	if !response.OK() {
		return response.Fail("success, or 415 Unsupported Media Type")
	}
	return wantNotes(ctx, p, response, name, noteOne, "", noteTwo, "new")
}

func patchFailedTest(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p, noteOne, "old")
	if err != nil {
		return err
	}
	response, err := p.Send(ctx, conformance.Patch(p.Path(name), types.JSONPatchType, []any{
		operation("add", noteTwo, "new"), operation("test", noteOne, "something else"),
	}))
	if err != nil {
		return err
	}
	if err := response.WantStatus("", http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusConflict); err != nil {
		return err
	}
	return wantNotes(ctx, p, response, name, noteOne, "old", noteTwo, "")
}

func patchMalformed(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p)
	if err != nil {
		return err
	}
	for _, patch := range []conformance.Request{
		conformance.Patch(p.Path(name), types.MergePatchType, []byte(`{"metadata":{"annotations":`)),
		conformance.Patch(p.Path(name), types.JSONPatchType, []byte(`[{"op":"add","path":`)),
	} {
		response, err := p.Send(ctx, patch)
		if err != nil {
			return err
		}
		if err := response.WantStatus("", http.StatusBadRequest, http.StatusUnprocessableEntity); err != nil {
			return err
		}
	}
	return nil
}

func patchMediaType(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p)
	if err != nil {
		return err
	}
	response, err := p.Send(ctx, conformance.Patch(p.Path(name), "application/unknown-patch+json", notesPatch(noteOne, "new")))
	if err != nil {
		return err
	}
	return response.WantStatus(metav1.StatusReasonUnsupportedMediaType, http.StatusUnsupportedMediaType)
}

func patchMissing(ctx context.Context, p *conformance.Probe) error {
	path := p.Path(p.Name())
	for _, patch := range []conformance.Request{
		conformance.Patch(path, types.MergePatchType, notesPatch(noteOne, "new")),
		conformance.Patch(path, types.JSONPatchType, []any{operation("add", noteOne, "new")}),
	} {
		response, err := p.Send(ctx, patch)
		if err != nil {
			return err
		}
		if err := response.WantStatus(metav1.StatusReasonNotFound, http.StatusNotFound); err != nil {
			return err
		}
	}
	return nil
}

func patchConflict(ctx context.Context, p *conformance.Probe) error {
	object, err := p.Make(ctx)
	if err != nil {
		return err
	}
	name := object.GetName()
	if _, err := p.Label(ctx, name, noteOne, "changed"); err != nil {
		return err
	}
	response, err := p.Send(ctx, conformance.Patch(p.Path(name), types.MergePatchType, map[string]any{
		"metadata": map[string]any{"resourceVersion": object.GetResourceVersion(), "annotations": notes(noteOne, "new")},
	}))
	if err != nil {
		return err
	}
	if err := response.WantStatus(metav1.StatusReasonConflict, http.StatusConflict); err != nil {
		return err
	}
	return wantNotes(ctx, p, response, name, noteOne, "")
}
