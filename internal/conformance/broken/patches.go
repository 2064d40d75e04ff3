// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"
)

// The types of patches.
const (
	jsonPatch      = "application/json-patch+json"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	applyPatch     = "application/apply-patch+yaml"
)

func patches() []Breakage {
	return []Breakage{
		{
			Check: "patch-json", What: "leaves out the operation remove of JSON patches",
			Break: onOperations(func(operation string) bool { return operation != "remove" }),
		},
		{
			Check: "patch-merge", What: "does not remove labels and annotations that are null in a merge patch",
			Break: onSentObject(method(http.MethodPatch, single, sends(mergePatch)), func(patch map[string]any) {
				for _, name := range []string{"labels", "annotations"} {
					dropNulls(patch, "metadata", name)
				}
			}),
		},
		{
			Check: "patch-strategic", What: "takes strategic merge patches for merge patches",
			Break: onRequest(method(http.MethodPatch, sends(strategicPatch)), func(r *http.Request) { r.Header.Set("Content-Type", mergePatch) }),
		},
		{
			Check: "patch-failed-test", What: "leaves out the tests of JSON patches",
			Break: onOperations(func(operation string) bool { return operation != "test" }),
		},
		{
			Check: "patch-malformed", What: "answers 500 to patches that are no JSON",
			Break: instead(method(http.MethodPatch, sends(mergePatch, jsonPatch)), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if json.Valid(bodyOf(r)) {
					next.ServeHTTP(w, r)
					return
				}
				refuse(w, http.StatusInternalServerError, "InternalError", "unexpected end of JSON input")
			}),
		},
		{
			Check: "patch-media-type", What: "takes patches of unknown types for merge patches",
			Break: onRequest(method(http.MethodPatch), func(r *http.Request) {
				if !sends(jsonPatch, mergePatch, strategicPatch, applyPatch)(r) {
					r.Header.Set("Content-Type", mergePatch)
				}
			}),
		},
		{
			Check: "patch-missing", What: "answers 500 to patches of what does not exist",
			Break: onAnswer(method(http.MethodPatch, single, sends(jsonPatch, mergePatch, strategicPatch)), func(_ *http.Request, a *answer) {
				if a.code == http.StatusNotFound {
					a.status(http.StatusInternalServerError, "InternalError", "no such row")
				}
			}),
		},
		{
			Check: "patch-conflict", What: "does not look at the resourceVersion in a merge patch",
			Break: onSentObject(method(http.MethodPatch, single, sends(mergePatch)), func(patch map[string]any) {
				if metadata, ok := patch["metadata"].(map[string]any); ok {
					delete(metadata, "resourceVersion")
				}
			}),
		},
	}
}

// typeOf returns the media type of the body of a request.
func typeOf(r *http.Request) string {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// sends matches requests with a body of one of these types.
func sends(types ...string) Match {
	return func(r *http.Request) bool { return slices.Contains(types, typeOf(r)) }
}

// queryIs matches requests that have a parameter with this value.
func queryIs(name, value string) Match {
	return func(r *http.Request) bool { return r.URL.Query().Get(name) == value }
}

// refuse answers with a Status of failure.
func refuse(w http.ResponseWriter, code int, reason, message string) {
	a := &answer{header: http.Header{}}
	a.status(code, reason, message)
	a.send(w)
}

// onOperations keeps of JSON patches the operations that are wanted.
func onOperations(wanted func(operation string) bool) func(http.Handler) http.Handler {
	return onRequest(method(http.MethodPatch, sends(jsonPatch)), func(r *http.Request) {
		var operations []map[string]any
		if json.Unmarshal(bodyOf(r), &operations) != nil {
			return
		}
		kept := slices.DeleteFunc(operations, func(operation map[string]any) bool {
			name, ok := operation["op"].(string)
			return ok && !wanted(name)
		})
		if data, err := json.Marshal(kept); err == nil {
			setBody(r, data)
		}
	})
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

// also sends another request as the one who sent r, about the same path unless another is given, and
// returns the answer.
func also(next http.Handler, r *http.Request, method, path, mediaType string, body any) *answer {
	other := r.Clone(r.Context())
	other.Method, other.URL.RawQuery = method, ""
	if path != "" {
		other.URL.Path = path
	}
	other.Header.Set("Accept", "application/json")
	other.Header.Del("Content-Type")
	var data []byte
	if body != nil {
		other.Header.Set("Content-Type", mediaType)
		data, _ = json.Marshal(body) //nolint:errchkjson // Only objects made of JSON get here.
	}
	setBody(other, data)
	return ask(next, other)
}

// groupVersionPath returns the path below which what a request is about is served.
func groupVersionPath(p *place) string {
	if p.group == "" {
		return "/api/" + p.version
	}
	return strings.Join([]string{"/apis", p.group, p.version}, "/")
}
