// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/conformance/broken"
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

func patches() []rule {
	return []rule{
		patchJSON{},
		patchMerge{},
		patchStrategic{},
		patchFailedTest{},
		patchMalformed{},
		patchMediaType{},
		patchMissing{},
		patchConflict{},
	}
}

type patchJSON struct{}

func (r patchJSON) check() runner.Check {
	return runner.Check{
		ID: "patch-json", Area: areaPatches,
		Rule:        "A JSON patch adds, replaces, and removes what its operations say.",
		Detail:      "Tests, replaces, removes, and adds annotations in one patch. Other fields are not checked.",
		Reference:   patchDoc,
		PerResource: true, Verbs: []string{"create", "get", "patch"}, Run: r.run,
	}
}

func (patchJSON) run(p *runner.Probe) {
	name := makeNoted(p, noteOne, "old", noteTwo, "old")
	response := p.Send(runner.Patch(p.Path(name), types.JSONPatchType, []any{
		operation("test", noteOne, "old"), operation("replace", noteOne, "new"), operation("remove", noteTwo, nil), operation("add", noteThree, "new"),
	}))
	response.WantOK()
	wantNotes(p, response, name, noteOne, "new", noteTwo, "", noteThree, "new")
}

func (patchJSON) broken() broken.Server {
	return broken.That("leaves out the operation remove of JSON patches", onOperations(func(operation string) bool { return operation != "remove" }))
}

// onOperations keeps of JSON patches the operations that are wanted.
func onOperations(wanted func(operation string) bool) func(http.Handler) http.Handler {
	return broken.OnRequest(broken.Method(http.MethodPatch, broken.Sends(broken.JSONPatch)), func(r *http.Request) {
		var operations []map[string]any
		if json.Unmarshal(broken.BodyOf(r), &operations) != nil {
			return
		}
		kept := slices.DeleteFunc(operations, func(operation map[string]any) bool {
			name, ok := operation["op"].(string)
			return ok && !wanted(name)
		})
		if data, err := json.Marshal(kept); err == nil {
			broken.SetBody(r, data)
		}
	})
}

type patchMerge struct{}

func (r patchMerge) check() runner.Check {
	return runner.Check{
		ID: "patch-merge", Area: areaPatches,
		Rule:        "A JSON merge patch sets its fields, removes those that it sets to null, and keeps the others.",
		Detail:      "Patches an object with three annotations: replaces one, removes one, and does not mention one.",
		Reference:   patchDoc,
		PerResource: true, Verbs: []string{"create", "get", "patch"}, Run: r.run,
	}
}

func (patchMerge) run(p *runner.Probe) {
	name := makeNoted(p, noteOne, "old", noteTwo, "old", noteThree, "old")
	response := send(p, runner.Patch(p.Path(name), types.MergePatchType, notesPatch(noteOne, "new", noteTwo, nil)), ok)
	wantNotes(p, response, name, noteOne, "new", noteTwo, "", noteThree, "old")
}

func (patchMerge) broken() broken.Server {
	return broken.That("does not remove labels and annotations that are null in a merge patch", broken.OnSentObject(broken.Method(http.MethodPatch, broken.Single, broken.Sends(broken.MergePatch)), func(patch map[string]any) {
		for _, name := range []string{"labels", "annotations"} {
			dropNulls(patch, "metadata", name)
		}
	}))
}

// dropNulls takes the fields that are null out of an object in an object.
func dropNulls(object map[string]any, path ...string) {
	for _, name := range path {
		fields, ok := object[name].(map[string]any)
		if !ok {
			return
		}
		object = fields
	}
	for name, value := range object {
		if value == nil {
			delete(object, name)
		}
	}
}

type patchStrategic struct{}

func (r patchStrategic) check() runner.Check {
	return runner.Check{
		ID: "patch-strategic", Area: areaPatches,
		Rule:        "A strategic merge patch is applied, with its directives, or gets 415: it is never taken for another type of patch.",
		Detail:      "Replaces all annotations with the directive $patch: replace. Custom resources don't support this type of patch, and need not.",
		Reference:   strategicDoc,
		PerResource: true, Verbs: []string{"create", "get", "patch"}, Run: r.run,
	}
}

func (patchStrategic) run(p *runner.Probe) {
	name := makeNoted(p, noteOne, "old")
	response := p.Send(runner.Patch(p.Path(name), types.StrategicMergePatchType, notesPatch("$patch", "replace", noteTwo, "new")))
	if response.Code == http.StatusUnsupportedMediaType {
		response.WantStatus(metav1.StatusReasonUnsupportedMediaType, http.StatusUnsupportedMediaType)
		return
	}
	if !response.OK() {
		response.Fail("success, or 415 Unsupported Media Type")
	}
	wantNotes(p, response, name, noteOne, "", noteTwo, "new")
}

func (patchStrategic) broken() broken.Server {
	return broken.That("takes strategic merge patches for merge patches", broken.OnRequest(broken.Method(http.MethodPatch, broken.Sends(broken.StrategicPatch)), func(r *http.Request) { r.Header.Set("Content-Type", broken.MergePatch) }))
}

type patchFailedTest struct{}

func (r patchFailedTest) check() runner.Check {
	return runner.Check{
		ID: "patch-failed-test", Area: areaPatches,
		Rule:        "A JSON patch with a failing test changes nothing.",
		Detail:      "The operation before the test adds an annotation. Kubernetes returns 422; 400 and 409 are accepted, too.",
		Reference:   patchDoc,
		PerResource: true, Verbs: []string{"create", "get", "patch"}, Run: r.run,
	}
}

func (patchFailedTest) run(p *runner.Probe) {
	name := makeNoted(p, noteOne, "old")
	response := p.Send(runner.Patch(p.Path(name), types.JSONPatchType, []any{
		operation("add", noteTwo, "new"), operation("test", noteOne, "something else"),
	}))
	response.WantStatus("", http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusConflict)
	wantNotes(p, response, name, noteOne, "old", noteTwo, "")
}

func (patchFailedTest) broken() broken.Server {
	return broken.That("leaves out the tests of JSON patches", onOperations(func(operation string) bool { return operation != "test" }))
}

type patchMalformed struct{}

func (r patchMalformed) check() runner.Check {
	return runner.Check{
		ID: "patch-malformed", Area: areaPatches,
		Rule:        "A malformed patch gets 400 and a Status.",
		Detail:      "Sends a truncated merge patch and a truncated JSON patch. 422 is accepted, too; 5xx would make clients retry.",
		Reference:   codesDoc,
		PerResource: true, Verbs: []string{"create", "get", "patch"}, Run: r.run,
	}
}

func (patchMalformed) run(p *runner.Probe) {
	name := makeNoted(p)
	sendEach(p, status("", http.StatusBadRequest, http.StatusUnprocessableEntity),
		runner.Patch(p.Path(name), types.MergePatchType, []byte(`{"metadata":{"annotations":`)),
		runner.Patch(p.Path(name), types.JSONPatchType, []byte(`[{"op":"add","path":`)),
	)
}

func (patchMalformed) broken() broken.Server {
	return broken.That("answers 500 to patches that are no JSON", broken.Instead(broken.Method(http.MethodPatch, broken.Sends(broken.MergePatch, broken.JSONPatch)), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if json.Valid(broken.BodyOf(r)) {
			next.ServeHTTP(w, r)
			return
		}
		broken.Refuse(w, http.StatusInternalServerError, "InternalError", "unexpected end of JSON input")
	}))
}

type patchMediaType struct{}

func (r patchMediaType) check() runner.Check {
	return runner.Check{
		ID: "patch-media-type", Area: areaPatches,
		Rule:        "A patch of an unknown type gets 415 and a Status with reason UnsupportedMediaType.",
		Detail:      "Patches an object with a type that does not exist.",
		Reference:   patchDoc,
		PerResource: true, Verbs: []string{"create", "get", "patch"}, Run: r.run,
	}
}

func (patchMediaType) run(p *runner.Probe) {
	name := makeNoted(p)
	send(p, runner.Patch(p.Path(name), "application/unknown-patch+json", notesPatch(noteOne, "new")), status(metav1.StatusReasonUnsupportedMediaType, http.StatusUnsupportedMediaType))
}

func (patchMediaType) broken() broken.Server {
	return broken.That("takes patches of unknown types for merge patches", broken.OnRequest(broken.Method(http.MethodPatch), func(r *http.Request) {
		if !broken.Sends(broken.JSONPatch, broken.MergePatch, broken.StrategicPatch, broken.ApplyPatch)(r) {
			r.Header.Set("Content-Type", broken.MergePatch)
		}
	}))
}

type patchMissing struct{}

func (r patchMissing) check() runner.Check {
	return runner.Check{
		ID: "patch-missing", Area: areaPatches,
		Rule:        "A patch of an object that does not exist gets 404 and a Status with reason NotFound.",
		Detail:      "Sends a merge patch and a JSON patch. Server-side apply, which creates objects, has its own checks.",
		Reference:   patchDoc,
		PerResource: true, Verbs: []string{"patch"}, Run: r.run,
	}
}

func (patchMissing) run(p *runner.Probe) {
	path := p.Path(p.Name())
	sendEach(p, status(metav1.StatusReasonNotFound, http.StatusNotFound),
		runner.Patch(path, types.MergePatchType, notesPatch(noteOne, "new")),
		runner.Patch(path, types.JSONPatchType, []any{operation("add", noteOne, "new")}),
	)
}

func (patchMissing) broken() broken.Server {
	return broken.That("answers 500 to patches of what does not exist", broken.OnAnswer(broken.Method(http.MethodPatch, broken.Single, broken.Sends(broken.JSONPatch, broken.MergePatch, broken.StrategicPatch)), func(_ *http.Request, a *broken.Answer) {
		if a.Code == http.StatusNotFound {
			a.Status(http.StatusInternalServerError, "InternalError", "no such row")
		}
	}))
}

type patchConflict struct{}

func (r patchConflict) check() runner.Check {
	return runner.Check{
		ID: "patch-conflict", Area: areaPatches,
		Rule:        "A patch with an old metadata.resourceVersion gets 409 and a Status with reason Conflict, and changes nothing.",
		Detail:      "Changes an object, then sends a merge patch with the previous resourceVersion.",
		Reference:   patchDoc,
		PerResource: true, Verbs: append([]string{"update"}, []string{"create", "get", "patch"}...), Run: r.run,
	}
}

func (patchConflict) run(p *runner.Probe) {
	object := p.Make()
	name := object.GetName()
	p.Label(name, noteOne, "changed")
	response := p.Send(runner.Patch(p.Path(name), types.MergePatchType, map[string]any{
		"metadata": map[string]any{"resourceVersion": object.GetResourceVersion(), "annotations": notes(noteOne, "new")},
	}))
	response.WantStatus(metav1.StatusReasonConflict, http.StatusConflict)
	wantNotes(p, response, name, noteOne, "")
}

func (patchConflict) broken() broken.Server {
	return broken.That("does not look at the resourceVersion in a merge patch", broken.OnSentObject(broken.Method(http.MethodPatch, broken.Single, broken.Sends(broken.MergePatch)), func(patch map[string]any) {
		if metadata, ok := patch["metadata"].(map[string]any); ok {
			delete(metadata, "resourceVersion")
		}
	}))
}
