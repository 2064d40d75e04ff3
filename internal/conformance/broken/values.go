// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"net/http"
	"regexp"
	"strings"
)

// fractionOfZero is a number as no program of Go writes integers.
var fractionOfZero = regexp.MustCompile(`:[0-9]+\.0[,}]`) //nolint:gochecknoglobals // A constant.

func values() []Breakage {
	creating := Method(http.MethodPost, Collection, Sends(JSONType))
	return []Breakage{
		{
			Check: "value-empty-required", What: "takes empty strings for missing ones",
			Break: OnSentObject(creating, func(object map[string]any) {
				spec, _ := object["spec"].(map[string]any)
				for name, value := range spec {
					if value == "" {
						delete(spec, name)
					}
				}
			}),
		},
		{
			Check: "value-whole-number", What: "reads numbers with a point into no integers",
			Break: Instead(creating, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if !fractionOfZero.Match(BodyOf(r)) {
					next.ServeHTTP(w, r)
					return
				}
				Refuse(w, http.StatusBadRequest, "BadRequest", "cannot unmarshal number 1.0 into type int64")
			}),
		},
		{
			Check: "value-null-item", What: "takes null in a list for an empty string",
			Break: OnSentObject(creating, func(object map[string]any) {
				spec, _ := object["spec"].(map[string]any)
				for _, value := range spec {
					list, _ := value.([]any)
					for i := range list {
						if list[i] == nil {
							list[i] = ""
						}
					}
				}
			}),
		},
		{
			Check: "value-type-cause", What: "does not say which field has a wrong type",
			Break: OnAnswer(creating, func(_ *http.Request, a *Answer) {
				if a.Code != http.StatusUnprocessableEntity {
					return
				}
				a.Edit(func(status map[string]any) {
					details := FieldsOf(status, "details")
					causes, _ := details["causes"].([]any)
					for _, one := range causes {
						cause, _ := one.(map[string]any)
						if field, _ := cause["field"].(string); strings.HasPrefix(field, "spec.") {
							delete(cause, "field")
						}
					}
				})
			}),
		},
	}
}
