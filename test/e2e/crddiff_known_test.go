// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/crddiff"
)

// knownDifference is a row of docs/produce/differences.md.
type knownDifference struct {
	row string
	is  func(crddiff.Seen) bool
}

// knownDifferences are all that docs/produce/differences.md has. Each is as narrow as possible: it must not
// hide another one.
func knownDifferences() []knownDifference {
	return []knownDifference{
		{"column-descriptions", func(d crddiff.Seen) bool { return strings.HasSuffix(d.Path, "columnDefinitions[].description") }},
		{"empty-cells", func(d crddiff.Seen) bool {
			return strings.HasSuffix(d.Path, "rows[].cells[]") && d.Difference.Left == `""` && d.Difference.Right == "null"
		}},
		{"media-types", mediaTypesDiffer},
		{"list-of-one", func(d crddiff.Seen) bool {
			return strings.Contains(d.Step.Header["Accept"], "as=PartialObjectMetadataList") && codesAre(d, http.StatusInternalServerError, http.StatusNotAcceptable)
		}},
		{"types-in-messages", func(d crddiff.Seen) bool {
			shown := regexp.MustCompile(` to smd typed: .* got \\u0026\{.*`)
			left, right := shown.ReplaceAllString(d.Difference.Left, ""), shown.ReplaceAllString(d.Difference.Right, "")
			return d.Aspect == crddiff.AspectMessage && (left == right ||
				strings.Contains(d.Difference.Left, "(*unstructured.Unstructured") && codesAre(d, http.StatusNotAcceptable, http.StatusNotAcceptable))
		}},
		{"kind-in-messages", func(d crddiff.Seen) bool {
			return (d.Aspect == crddiff.AspectMessage || d.Aspect == crddiff.AspectDetails || d.Aspect == crddiff.AspectCauses && isPartOf(d.Difference.Right, d.Difference.Left)) &&
				regexp.MustCompile(`(is invalid: \[?|, )(kind|apiVersion): Invalid value:`).MatchString(messageOf(d.Answers[0])) &&
				strings.HasPrefix(messageOf(d.Answers[1]), d.Kind.Kind+".")
		}},
		{"rules-not-checked", func(d crddiff.Seen) bool {
			return (d.Aspect == crddiff.AspectMessage || d.Aspect == crddiff.AspectCauses && isPartOf(d.Difference.Right, d.Difference.Left)) &&
				strings.Contains(fmt.Sprint(d.Answers[0].Body), "some validation rules were not checked") && strings.Contains(messageOf(d.Answers[1]), "metadata.name: Required value")
		}},
		{"paths-below-objects", func(d crddiff.Seen) bool {
			if strings.Count(d.Step.Suffix, "/") > 1 {
				return d.Answers[1].Code == http.StatusNotFound
			}
			return d.Step.Suffix != "" && codesAre(d, http.StatusNotFound, http.StatusNotFound) && (d.Aspect == crddiff.AspectMessage || d.Aspect == crddiff.AspectDetails)
		}},
		{"methods-of-subresources", func(d crddiff.Seen) bool {
			return d.Step.Suffix != "" && codesAre(d, http.StatusMethodNotAllowed, http.StatusMethodNotAllowed) && (d.Aspect == crddiff.AspectMessage || d.Aspect == crddiff.AspectDetails)
		}},
		{"posts-to-all-namespaces", func(d crddiff.Seen) bool {
			return d.Step.Method == http.MethodPost && codesAre(d, http.StatusNotFound, http.StatusMethodNotAllowed) && d.Answers[0].Body == "404 page not found\n"
		}},
		{"storage-keys", func(d crddiff.Seen) bool {
			return d.Aspect == crddiff.AspectMessage && strings.Replace(d.Difference.Left, "Key: /registry/", "Key: /", 1) == d.Difference.Right
		}},
		{"field-selectors", func(d crddiff.Seen) bool {
			head, _, found := strings.Cut(d.Difference.Right, "; ")
			return d.Aspect == crddiff.AspectMessage && found && head+`"` == d.Difference.Left && strings.Contains(head, "field label not supported")
		}},
		{"apply-empty", func(d crddiff.Seen) bool {
			if d.Step.Header["Content-Type"] != "application/apply-patch+yaml" || d.Answers[0] == nil {
				return false
			}
			required := d.Step.Body != nil && strings.Contains(d.Step.Body.Text(), ":null") && d.Answers[1].Code == http.StatusUnprocessableEntity &&
				strings.Contains(fmt.Sprint(d.Answers[1].Body), "Required value")
			return required || d.Answers[0].Code == http.StatusUnprocessableEntity && hasNullCause(d.Answers[0])
		}},
		{"apply-across-versions", func(d crddiff.Seen) bool {
			if d.Step.Header["Content-Type"] != "application/apply-patch+yaml" || len(d.Kind.Others) == 0 || d.Answers[0] == nil {
				return false
			}
			message := messageOf(d.Answers[0])
			return strings.HasPrefix(message, "failed to create typed live object ") || d.Answers[0].Code == http.StatusInternalServerError &&
				regexp.MustCompile("^(failed to convert new object: |json: cannot unmarshal |parsing time )|: field not declared in schema$").MatchString(message)
		}},
		{"apply-scale", func(d crddiff.Seen) bool {
			return d.Step.Suffix == "/scale" && d.Answers[0] != nil && strings.HasSuffix(messageOf(d.Answers[0]), "to an invalid group/version: autoscaling/v1")
		}},
		{"warnings-of-refused", func(d crddiff.Seen) bool {
			return d.Aspect == crddiff.AspectWarnings && d.Answers[0] != nil && d.Answers[0].Code >= http.StatusBadRequest && d.Answers[1].Code == d.Answers[0].Code
		}},
		{"fields-of-refused", func(d crddiff.Seen) bool {
			return slices.Contains([]crddiff.Aspect{crddiff.AspectMessage, crddiff.AspectCauses, crddiff.AspectDetails}, d.Aspect) && d.Answers[0] != nil &&
				d.Answers[0].Code == d.Answers[1].Code && refusedFieldsDiffer(messageOf(d.Answers[0]), messageOf(d.Answers[1]))
		}},
		{"finalizer-warnings", func(d crddiff.Seen) bool {
			return d.Aspect == crddiff.AspectWarnings && strings.Contains(d.Difference.Left, "metadata.finalizers") && strings.Contains(d.Difference.Right, "metadata.finalizers")
		}},
		{"delete-many", func(d crddiff.Seen) bool {
			return d.Aspect == crddiff.AspectEvents && inOrderOfObjects(d.Difference.Left) == inOrderOfObjects(d.Difference.Right)
		}},
		{"resource-version-syntax", func(d crddiff.Seen) bool {
			return codesAre(d, http.StatusInternalServerError, http.StatusBadRequest) && strings.Contains(messageOf(d.Answers[1]), `resourceVersion: Invalid value`)
		}},
		{"slash-at-the-end", func(d crddiff.Seen) bool {
			return d.Step.Method == http.MethodPost && d.Step.Suffix == "/" && d.Answers[1].Code == http.StatusMethodNotAllowed
		}},
		{"patched-type", func(d crddiff.Seen) bool {
			return d.Answers[0] != nil && strings.Contains(messageOf(d.Answers[0]), "is missing in 'object has no") &&
				(codesAre(d, http.StatusInternalServerError, http.StatusUnprocessableEntity) || d.Step.Suffix == "/status" && codesAre(d, http.StatusInternalServerError, http.StatusOK))
		}},
		{"empty-managed-fields", func(d crddiff.Seen) bool {
			// That an object has none comes of nothing else, and later answers show it, too.
			return d.Aspect == crddiff.AspectManaged && d.Difference.Left == "" && strings.HasSuffix(d.Path, "metadata.managedFields")
		}},
		{"dry-run-deleted", func(d crddiff.Seen) bool {
			return d.Step.Method == http.MethodDelete && d.Aspect == crddiff.AspectObject && strings.HasSuffix(d.Path, "metadata") && d.Difference.Left == "" && d.Difference.Right == "{}"
		}},
		{"patches-that-panic", func(d crddiff.Seen) bool {
			return d.Step.Header["Content-Type"] == "application/json-patch+json" && codesAre(d, 0, http.StatusServiceUnavailable)
		}},
		{"response-kinds", func(d crddiff.Seen) bool {
			return d.Aspect == crddiff.AspectDocument && d.Difference.Right == `""` &&
				(strings.HasSuffix(d.Path, ".responseKind.group") || strings.HasSuffix(d.Path, ".responseKind.version"))
		}},
		{"storage-version-hash", func(d crddiff.Seen) bool {
			return d.Aspect == crddiff.AspectDocument && strings.HasSuffix(d.Path, ".storageVersionHash") && d.Difference.Right == ""
		}},
		{"openapi-operations", func(d crddiff.Seen) bool {
			return d.Aspect == crddiff.AspectDocument && strings.HasPrefix(d.Path, "/openapi/") && strings.Contains(d.Path, " paths.") &&
				!strings.Contains(d.Difference.Right, "strategic-merge-patch") // kubectl would send it.
		}},
	}
}

// knownAs returns the row that a difference belongs to, "" if none.
func knownAs(seen crddiff.Seen) string {
	for _, known := range knownDifferences() {
		if known.is(seen) {
			return known.row
		}
	}
	return ""
}

func codesAre(d crddiff.Seen, left, right int) bool {
	return d.Answers[0] != nil && d.Answers[0].Code == left && d.Answers[1].Code == right
}

// messageOf returns the message of a Status.
func messageOf(a *crddiff.Answer) string {
	status, _ := a.Body.(map[string]any)
	message, _ := status["message"].(string)
	return message
}

// mediaTypesDiffer is about requests whose media types the server does not have.
func mediaTypesDiffer(d crddiff.Seen) bool {
	if d.Step.Header["Content-Type"] == "application/vnd.kubernetes.protobuf" {
		return d.Answers[1].Code == http.StatusUnsupportedMediaType
	}
	if d.Answers[0] == nil || d.Aspect == crddiff.AspectCode || d.Answers[0].Code != d.Answers[1].Code || d.Answers[0].Code < http.StatusBadRequest {
		return false
	}
	const types = "media types"
	refused := d.Answers[0].Code == http.StatusNotAcceptable || d.Answers[0].Code == http.StatusUnsupportedMediaType
	return refused && strings.Contains(d.Difference.Left, types) && (d.Aspect == crddiff.AspectMessage || d.Aspect == crddiff.AspectObject) ||
		strings.HasPrefix(d.Step.Header["Accept"], "application/vnd.kubernetes.protobuf")
}

// refusedFieldsDiffer is about messages of bodies of no version or kind, or of one that there is not.
func refusedFieldsDiffer(left, right string) bool {
	const strict = "strict decoding error: "
	if handled := regexp.MustCompile(`(?s)^(.*) in version (.*) cannot be handled as a \S+: ` + strict + `(.*)$`).FindStringSubmatch(right); handled != nil {
		same := handled[1] + " in version " + handled[2] + " cannot be handled as a " + handled[1] + ": " + strict
		return strings.HasPrefix(left, "Object 'apiVersion' is missing") || left == same+handled[3] ||
			strings.HasPrefix(left, same) && strings.Contains(left, "unknown field")
	}
	return strings.Contains(left, strict+"unknown field") &&
		(strings.Contains(right, "does not match the expected API version") || strings.Contains(right, "is invalid: apiVersion: Invalid value: "))
}

// isPartOf reports whether each item of a list in JSON is in another one.
func isPartOf(part, whole string) bool {
	var some, all []any
	if json.Unmarshal([]byte(part), &some) != nil || json.Unmarshal([]byte(whole), &all) != nil {
		return false
	}
	return !slices.ContainsFunc(some, func(one any) bool {
		return !slices.ContainsFunc(all, func(other any) bool { return reflect.DeepEqual(one, other) })
	})
}

// hasNullCause tells that an object was refused because something in it has become null.
func hasNullCause(a *crddiff.Answer) bool {
	status, _ := a.Body.(map[string]any)
	details, _ := status["details"].(map[string]any)
	causes, _ := details["causes"].([]any)
	return slices.ContainsFunc(causes, func(one any) bool {
		cause, _ := one.(map[string]any)
		message, _ := cause["message"].(string)
		return strings.HasPrefix(message, `Invalid value: "null"`)
	})
}

// inOrderOfObjects sorts each run of changes and deletions in a list of events by object, and
// leaves those of one object in their order.
func inOrderOfObjects(events string) string {
	parts := strings.Split(events, "; ")
	for from := 0; from < len(parts); from++ {
		to := from
		for to < len(parts) && (strings.HasPrefix(parts[to], "DELETED ") || strings.HasPrefix(parts[to], "MODIFIED ")) {
			to++
		}
		slices.SortStableFunc(parts[from:to], func(a, b string) int {
			_, a, _ = strings.Cut(a, " ")
			_, b, _ = strings.Cut(b, " ")
			return strings.Compare(a, b)
		})
		from = to
	}
	return strings.Join(parts, "; ")
}

// TestDifferencesPage: the page has the rows of the test, and the test those of the page.
func TestDifferencesPage(t *testing.T) {
	t.Parallel()
	data := testkit.Must(os.ReadFile(filepath.Join("..", "..", "docs", "produce", "differences.md")))(t)
	var page, test []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(string(data), -1) {
		page = append(page, row[1])
	}
	for _, known := range knownDifferences() {
		test = append(test, known.row)
	}
	testkit.NoDiff(t, cmp.Diff(page, test), "rows of the page and of the test (-page +test)")
}
