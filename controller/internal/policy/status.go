// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// MayReadStatus reports whether a policy or an exception may read the status of its subjects. It looks at texts,
// not at what they mean, and says yes when in doubt: if "status" occurs, or if an expression has the subject or
// the request as a whole, from which it could take anything.
func MayReadStatus(objects ...*unstructured.Unstructured) bool {
	for _, object := range objects {
		if fieldReadsStatus("spec", object.Object["spec"]) {
			return true
		}
	}
	return false
}

func fieldReadsStatus(field string, value any) bool {
	switch value := value.(type) {
	case string:
		return textReadsStatus(field, value)
	case []any:
		for _, item := range value {
			if fieldReadsStatus(field, item) {
				return true
			}
		}
	case map[string]any:
		for name, below := range value {
			if keyReadsStatus(field, name) || fieldReadsStatus(name, below) {
				return true
			}
		}
	}
	return false
}

// keyReadsStatus judges the name of a field. Patterns have the fields of the subject, perhaps with wildcards;
// assertions and manifests are about all of it.
func keyReadsStatus(parent, name string) bool {
	switch {
	case strings.Contains(name, "status"), name == "assert", name == "manifests":
		return true
	case parent == "pattern" || parent == "anyPattern":
		return strings.ContainsAny(name, "*?")
	default:
		return false
	}
}

var (
	variable = regexp.MustCompile(`\{\{.*?\}\}`)
	// wholes are the words for what has a status in it.
	wholes = regexp.MustCompile(`\b(request|object)\b`)
	// selected is what follows such a word if only one field of it is read.
	selected = regexp.MustCompile(`^\s*\.\s*\??\s*[A-Za-z_]`)
	// wholeContext is "@" where it is not about an element of a list or the result of an earlier expression.
	wholeContext = regexp.MustCompile(`\{\{[^\[|}]*@`)
)

func textReadsStatus(field, text string) bool {
	if field == "message" {
		text = strings.Join(variable.FindAllString(text, -1), " ") // The rest is for people.
	}
	if strings.Contains(text, "status") || wholeContext.MatchString(text) {
		return true
	}
	for _, at := range wholes.FindAllStringIndex(text, -1) {
		if !selected.MatchString(text[at[1]:]) {
			return true
		}
	}
	return false
}
