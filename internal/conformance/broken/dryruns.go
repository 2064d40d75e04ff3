// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"net/http"
	"slices"
	"strings"
)

func dryRuns() []Breakage {
	return []Breakage{
		{Check: "dry-run-create", What: "does not look at dryRun=All when it creates", Break: withoutDryRun(http.MethodPost)},
		{Check: "dry-run-update", What: "does not look at dryRun=All when it updates", Break: withoutDryRun(http.MethodPut)},
		{Check: "dry-run-patch", What: "does not look at dryRun=All when it patches", Break: withoutDryRun(http.MethodPatch)},
		{
			Check: "dry-run-delete", What: "does not look for dryRun in the body of a DELETE",
			Break: onSentObject(method(http.MethodDelete, single), func(options map[string]any) { delete(options, "dryRun") }),
		},
		{
			Check: "dry-run-invalid", What: "takes unknown values of dryRun for none",
			Break: withoutQuery(func(r *http.Request) bool { return hasQuery("dryRun")(r) && !queryIs("dryRun", "All")(r) }, "dryRun"),
		},
		{
			Check: "field-validation-strict", What: "takes fieldValidation=Strict for Warn",
			Break: withoutQuery(method(http.MethodPost, queryIs("fieldValidation", "Strict")), "fieldValidation"),
		},
		{
			Check: "field-validation-warn", What: "does not warn about unknown fields",
			Break: onAnswer(method(http.MethodPost, collection), func(_ *http.Request, a *answer) {
				a.header["Warning"] = slices.DeleteFunc(a.header["Warning"], func(warning string) bool { return strings.Contains(warning, "unknown field") })
			}),
		},
		{
			Check: "field-validation-ignore", What: "takes fieldValidation=Ignore for Warn",
			Break: withoutQuery(method(http.MethodPost, queryIs("fieldValidation", "Ignore")), "fieldValidation"),
		},
	}
}

// withoutDryRun has requests of a method that are a dry run do what they say.
func withoutDryRun(name string) func(http.Handler) http.Handler {
	return withoutQuery(method(name, queryIs("dryRun", "All")), "dryRun")
}
