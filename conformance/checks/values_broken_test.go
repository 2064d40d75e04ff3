// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/docket-project/docket/conformance/broken"
)

// brokenValues are servers that break the rules of this area.
func brokenValues() map[string]broken.Server {
	return map[string]broken.Server{
		"value-empty-required": broken.That("takes empty strings for missing ones", broken.OnSentObject(broken.Method(http.MethodPost, broken.Collection, broken.Sends(broken.JSONType)), func(object map[string]any) {
			spec, _ := object["spec"].(map[string]any)
			for name, value := range spec {
				if value == "" {
					delete(spec, name)
				}
			}
		})),
		"value-whole-number": broken.That("reads numbers with a point into no integers", broken.Instead(broken.Method(http.MethodPost, broken.Collection, broken.Sends(broken.JSONType)), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if !fractionOfZero.Match(broken.BodyOf(r)) {
				next.ServeHTTP(w, r)
				return
			}
			broken.Refuse(w, http.StatusBadRequest, "BadRequest", "cannot unmarshal number 1.0 into type int64")
		})),
		"value-null-item": broken.That("takes null in a list for an empty string", broken.OnSentObject(broken.Method(http.MethodPost, broken.Collection, broken.Sends(broken.JSONType)), func(object map[string]any) {
			spec, _ := object["spec"].(map[string]any)
			for _, value := range spec {
				list, _ := value.([]any)
				for i := range list {
					if list[i] == nil {
						list[i] = ""
					}
				}
			}
		})),
		"value-type-cause": broken.That("does not say which field has a wrong type", broken.OnAnswer(broken.Method(http.MethodPost, broken.Collection, broken.Sends(broken.JSONType)), func(_ *http.Request, a *broken.Answer) {
			if a.Code != http.StatusUnprocessableEntity {
				return
			}
			a.Edit(func(status map[string]any) {
				details := broken.FieldsOf(status, "details")
				causes, _ := details["causes"].([]any)
				for _, one := range causes {
					cause, _ := one.(map[string]any)
					if field, _ := cause["field"].(string); strings.HasPrefix(field, "spec.") {
						delete(cause, "field")
					}
				}
			})
		})),
	}
}

// fractionOfZero is a number as no program of Go writes integers.
var fractionOfZero = regexp.MustCompile(`:[0-9]+\.0[,}]`)
