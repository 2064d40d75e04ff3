// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Aspect is the part of an answer that differs.
type Aspect string

// The aspects.
const (
	AspectCode     Aspect = "status code"
	AspectReason   Aspect = "reason"
	AspectMessage  Aspect = "message"
	AspectCauses   Aspect = "causes"
	AspectDetails  Aspect = "details"
	AspectWarnings Aspect = "warnings"
	AspectType     Aspect = "content type"
	AspectObject   Aspect = "object"
	AspectManaged  Aspect = "managedFields"
	AspectEvents   Aspect = "events"
	AspectDocument Aspect = "document"
)

// Difference is one between two answers. The texts are JSON, or empty where there is nothing.
type Difference struct {
	Aspect Aspect
	// Path is where it is in an object; that of items of arrays has no numbers.
	Path        string
	Left, Right string
}

// Signature is equal for differences that are likely to have one cause.
func (d Difference) Signature() string {
	if d.Aspect == AspectCode {
		return fmt.Sprintf("%s: %s / %s", d.Aspect, d.Left, d.Right)
	}
	return fmt.Sprintf("%s %s: %s / %s", d.Aspect, indexPattern.ReplaceAllString(d.Path, "[]"), kindOfText(d.Left), kindOfText(d.Right))
}

var (
	quotedPattern = regexp.MustCompile(`'[^']*'`)
	reasonPattern = regexp.MustCompile(`^"[A-Z][A-Za-z]+"$`)
	indexPattern  = regexp.MustCompile(`\[[0-9]+\]`)
	numberPattern = regexp.MustCompile(`-?[0-9][0-9.eE+-]*`)
	fieldPattern  = regexp.MustCompile(`\b(results|spec|status|scope|summary|metadata|configuration|scopeSelector)[A-Za-z0-9_.\[\]-]*`)
)

// kindOfText shortens a text to what is common to texts of one kind.
func kindOfText(text string) string {
	if len(text) > 150 {
		text = text[:150]
	}
	text = strings.ReplaceAll(text, `\"`, `'`)
	switch {
	case strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["):
		return text[:1] + "…"
	case numberPattern.FindString(text) == text && text != "":
		return "0"
	case strings.HasPrefix(text, `"`) && text != `""` && !strings.Contains(text, " ") && !reasonPattern.MatchString(text):
		return `"…"`
	case !strings.Contains(text, " "):
		return text
	}
	text = fieldPattern.ReplaceAllString(indexPattern.ReplaceAllString(text, "[]"), "field")
	text = quotedPattern.ReplaceAllString(text, "'…'")
	return numberPattern.ReplaceAllString(text, "0")
}

// Compare returns how two comparable answers differ.
func Compare(left, right *Answer) []Difference {
	var found []Difference
	add := func(aspect Aspect, path string, l, r any) {
		if a, b := jsonText(l), jsonText(r); a != b {
			found = append(found, Difference{aspect, path, a, b})
		}
	}
	add(AspectCode, "", left.Code, right.Code)
	if left.isStatus() || right.isStatus() {
		found = append(found, compareStatus(left, right)...)
	} else {
		found = append(found, compareBodies(left.Body, right.Body)...)
	}
	add(AspectWarnings, "", left.Warnings, right.Warnings)
	add(AspectType, "", left.ContentType, right.ContentType)
	return found
}

// compareStatus compares what servers say about a failure, or about a deletion.
func compareStatus(left, right *Answer) []Difference {
	l, r := left.object(), right.object()
	var found []Difference
	add := func(aspect Aspect, path string, a, b any) {
		if x, y := jsonText(a), jsonText(b); x != y {
			found = append(found, Difference{aspect, path, x, y})
		}
	}
	if !left.isStatus() || !right.isStatus() {
		add(AspectReason, "", said(left), said(right))
		return found
	}
	add(AspectReason, "", l["reason"], r["reason"])
	add(AspectMessage, "", message(l), message(r))
	a, b := details(l), details(r)
	add(AspectCauses, "", a["causes"], b["causes"])
	delete(a, "causes")
	delete(b, "causes")
	add(AspectDetails, "", a, b)
	for _, key := range []string{"status", "apiVersion", "kind", "code", "metadata"} {
		add(AspectDetails, key, l[key], r[key])
	}
	return found
}

// said is a short form of an answer.
func said(a *Answer) any {
	if a.isStatus() {
		return fmt.Sprintf("%v: %v", a.object()["reason"], a.object()["message"])
	}
	if object := a.object(); object != nil {
		return fmt.Sprintf("%v", object["kind"])
	}
	return a.Body
}

// message returns a Status' message. That about invalid objects repeats the causes in any order.
func message(status map[string]any) any {
	text, isText := status["message"].(string)
	if !isText {
		return status["message"]
	}
	if status["reason"] == "Invalid" {
		if head, _, found := strings.Cut(text, " is invalid: ["); found {
			return head + " is invalid: …"
		}
	}
	if head, _, found := strings.Cut(text, "): "); found && strings.HasPrefix(text, "failed to create typed patch object (") {
		return head + "): …" // They are found in any order, and not all of them each time.
	}
	return inOrder(text, "strict decoding error: ", ", ")
}

// inOrder sorts the parts of a list that ends a text.
func inOrder(text, before, separator string) string {
	head, list, found := strings.Cut(text, before)
	if !found {
		return text
	}
	parts := strings.Split(list, separator)
	slices.Sort(parts)
	return head + before + strings.Join(parts, separator)
}

// details returns those of a Status with its causes as a set: custom resources have their metadata
// checked more than once, and repeat what is wrong.
func details(status map[string]any) map[string]any {
	out := map[string]any{}
	given, _ := status["details"].(map[string]any)
	for key, value := range given {
		out[key] = value
	}
	if causes, isList := out["causes"].([]any); isList {
		sorted := slices.Clone(causes)
		slices.SortFunc(sorted, func(a, b any) int { return strings.Compare(jsonText(a), jsonText(b)) })
		out["causes"] = slices.CompactFunc(sorted, func(a, b any) bool { return jsonText(a) == jsonText(b) })
	}
	return out
}

// compareBodies compares decoded JSON.
func compareBodies(left, right any) []Difference {
	var found []Difference
	compareValues("", left, right, func(path string, l, r string) {
		aspect := AspectObject
		if strings.Contains(path, "metadata.managedFields") {
			aspect = AspectManaged
		}
		found = append(found, Difference{aspect, path, l, r})
	})
	return found
}

func compareValues(path string, left, right any, differ func(path, left, right string)) {
	switch l := left.(type) {
	case map[string]any:
		if r, same := right.(map[string]any); same {
			compareObjects(path, l, r, differ)
			return
		}
	case []any:
		if r, same := right.([]any); same && len(l) == len(r) {
			for i := range l {
				compareValues(path+"[]", l[i], r[i], differ)
			}
			return
		}
	case json.Number:
		if r, same := right.(json.Number); same && l == r {
			return
		}
	}
	if l, r := jsonText(left), jsonText(right); l != r {
		differ(path, l, r)
	}
}

func compareObjects(path string, left, right map[string]any, differ func(path, left, right string)) {
	all := map[string]any{}
	for key := range left {
		all[key] = nil
	}
	for key := range right {
		all[key] = nil
	}
	for _, key := range sortedKeys(all) {
		at := key
		if strings.ContainsAny(key, ". []") || key == "" {
			at = strconv.Quote(key)
		}
		if path != "" {
			at = path + "." + at
		}
		l, inLeft := left[key]
		r, inRight := right[key]
		switch {
		case !inLeft:
			differ(at, "", jsonText(r))
		case !inRight:
			differ(at, jsonText(l), "")
		default:
			compareValues(at, l, r, differ)
		}
	}
}
