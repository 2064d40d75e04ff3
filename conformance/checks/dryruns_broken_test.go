// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"slices"
	"strings"

	"github.com/docket-project/docket/conformance/broken"
)

// brokenDryruns are servers that break the rules of this area.
func brokenDryruns() map[string]broken.Server {
	return map[string]broken.Server{
		"dry-run-create":          broken.That("does not look at dryRun=All when it creates", withoutDryRun(http.MethodPost)),
		"dry-run-update":          broken.That("does not look at dryRun=All when it updates", withoutDryRun(http.MethodPut)),
		"dry-run-patch":           broken.That("does not look at dryRun=All when it patches", withoutDryRun(http.MethodPatch)),
		"dry-run-delete":          broken.That("does not look for dryRun in the body of a DELETE", broken.OnSentObject(broken.Method(http.MethodDelete, broken.Single), func(options map[string]any) { delete(options, "dryRun") })),
		"dry-run-invalid":         broken.That("takes unknown values of dryRun for none", broken.WithoutQuery(func(r *http.Request) bool { return broken.HasQuery("dryRun")(r) && !broken.QueryIs("dryRun", "All")(r) }, "dryRun")),
		"field-validation-strict": broken.That("takes fieldValidation=Strict for Warn", broken.WithoutQuery(broken.Method(http.MethodPost, broken.QueryIs("fieldValidation", "Strict")), "fieldValidation")),
		"field-validation-warn": broken.That("does not warn about unknown fields", broken.OnAnswer(broken.Method(http.MethodPost, broken.Collection), func(_ *http.Request, a *broken.Answer) {
			a.Header["Warning"] = slices.DeleteFunc(a.Header["Warning"], func(warning string) bool { return strings.Contains(warning, "unknown field") })
		})),
		"field-validation-ignore": broken.That("takes fieldValidation=Ignore for Warn", broken.WithoutQuery(broken.Method(http.MethodPost, broken.QueryIs("fieldValidation", "Ignore")), "fieldValidation")),
	}
}

// withoutDryRun has requests of a method that are a dry run do what they say.
func withoutDryRun(name string) func(http.Handler) http.Handler {
	return broken.WithoutQuery(broken.Method(name, broken.QueryIs("dryRun", "All")), "dryRun")
}
