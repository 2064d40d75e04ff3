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
			Break: OnSentObject(Method(http.MethodDelete, Single), func(options map[string]any) { delete(options, "dryRun") }),
		},
		{
			Check: "dry-run-invalid", What: "takes unknown values of dryRun for none",
			Break: WithoutQuery(func(r *http.Request) bool { return HasQuery("dryRun")(r) && !QueryIs("dryRun", "All")(r) }, "dryRun"),
		},
		{
			Check: "field-validation-strict", What: "takes fieldValidation=Strict for Warn",
			Break: WithoutQuery(Method(http.MethodPost, QueryIs("fieldValidation", "Strict")), "fieldValidation"),
		},
		{
			Check: "field-validation-warn", What: "does not warn about unknown fields",
			Break: OnAnswer(Method(http.MethodPost, Collection), func(_ *http.Request, a *Answer) {
				a.Header["Warning"] = slices.DeleteFunc(a.Header["Warning"], func(warning string) bool { return strings.Contains(warning, "unknown field") })
			}),
		},
		{
			Check: "field-validation-ignore", What: "takes fieldValidation=Ignore for Warn",
			Break: WithoutQuery(Method(http.MethodPost, QueryIs("fieldValidation", "Ignore")), "fieldValidation"),
		},
	}
}

// withoutDryRun has requests of a method that are a dry run do what they say.
func withoutDryRun(name string) func(http.Handler) http.Handler {
	return WithoutQuery(Method(name, QueryIs("dryRun", "All")), "dryRun")
}
