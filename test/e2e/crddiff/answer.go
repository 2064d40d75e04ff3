// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Answer is what a server answered. Once it is made comparable, nothing in it depends on the
// server or the time.
type Answer struct {
	Code        int
	ContentType string
	Warnings    []string
	// Body is decoded JSON, whose numbers are as they were written, or a string.
	Body any

	raw []byte // the body as it came
}

func newAnswer(answer *http.Response, body []byte) *Answer {
	a := &Answer{Code: answer.StatusCode, ContentType: answer.Header.Get("Content-Type"), Body: string(body), raw: body}
	a.Warnings = append(a.Warnings, answer.Header.Values("Warning")...)
	slices.Sort(a.Warnings) // Of one request; their order means nothing.
	if strings.HasPrefix(a.ContentType, typeYAML) {
		if converted, err := yaml.YAMLToJSON(body); err == nil {
			body = converted
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var parsed any
	if decoder.Decode(&parsed) == nil {
		if _, err := decoder.Token(); err == io.EOF {
			a.Body = parsed
		}
	}
	return a
}

// object returns the answer if it is an object of JSON, else nil.
func (a *Answer) object() map[string]any {
	object, _ := a.Body.(map[string]any)
	return object
}

func (a *Answer) isStatus() bool {
	object := a.object()
	return object != nil && object["kind"] == "Status"
}

// metadata returns the metadata of the object that the answer is, nil if it is none.
func (a *Answer) metadata() map[string]any {
	metadata, _ := a.object()["metadata"].(map[string]any)
	return metadata
}

var (
	uidPattern     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	versionPattern = regexp.MustCompile(`^[1-9][0-9]*$`)
	shownPattern   = regexp.MustCompile(`Invalid value: "?\{.*\}"?`)
	momentPattern  = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z`)
	givenPattern   = regexp.MustCompile(`(ResourceVersion in [a-z ]+:? ?\(?)[0-9]+`)
	agePattern     = regexp.MustCompile(`^([0-9]+[dhms]){1,2}$`)
	tokenPattern   = regexp.MustCompile(`^[A-Za-z0-9_=-]{20,}$`)
)

// madeUpUID is what clients send that have no real one.
const madeUpUID = "11111111-2222-3333-4444-555555555555"

// comparable returns the answer without what depends on the server or the time. generated is the
// name that the server made, "" if it made none.
func (a *Answer) comparable(generated string) *Answer {
	n := normalizer{generated}
	c := &Answer{Code: a.Code, ContentType: a.ContentType, Body: n.value(a.Body, "")}
	for _, warning := range a.Warnings {
		c.Warnings = append(c.Warnings, n.text(warning))
	}
	if body, isText := c.Body.(string); isText {
		c.Body = n.text(body)
	}
	return c
}

// normalizer puts marks in the place of what differs by nature.
type normalizer struct{ generated string }

func (n normalizer) value(value any, key string) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, nested := range v {
			out[n.text(k)] = n.value(nested, k)
			if entries, isList := out[k].([]any); isList && k == "managedFields" {
				slices.SortStableFunc(entries, func(a, b any) int { return strings.Compare(managerOf(a), managerOf(b)) })
			}
		}
		if token, isText := v["continue"].(string); isText && (token == "" || tokenPattern.MatchString(token)) {
			delete(out, "remainingItemCount") // How much more there is depends on the objects of others.
		}
		n.end(v, out)
		n.table(out)
		return out
	case []any:
		out := make([]any, len(v))
		for i, nested := range v {
			out[i] = n.value(nested, key)
		}
		return out
	case string:
		return n.field(v, key)
	default:
		return v
	}
}

// managerOf returns the key that distinguishes entries of managedFields. Servers sort them by time, whose
// seconds may differ.
func managerOf(entry any) string {
	fields, _ := entry.(map[string]any)
	return fmt.Sprint(fields["manager"], fields["operation"], fields["subresource"])
}

// field returns a string that is the value of a key.
func (n normalizer) field(text, key string) string {
	switch key {
	case "resourceVersion":
		if versionPattern.MatchString(text) {
			return "<version>"
		}
	case "creationTimestamp", "deletionTimestamp", "time":
		return recent(text)
	case "continue":
		if tokenPattern.MatchString(text) {
			return "" // Whether there is more depends on the objects of others.
		}
	}
	return n.text(text)
}

// recent returns a mark for a time of today's servers, and any other time unchanged.
func recent(text string) string {
	if moment, err := time.Parse(time.RFC3339, text); err == nil && time.Since(moment).Abs() < time.Hour {
		return "<now>"
	}
	return text
}

func (n normalizer) text(text string) string {
	if n.generated != "" {
		text = strings.ReplaceAll(text, n.generated, "<generated>")
	}
	// Messages may show whole objects, whose fields have no order.
	text = shownPattern.ReplaceAllString(text, "Invalid value: <object>")
	text = givenPattern.ReplaceAllString(text, "${1}<version>")
	text = momentPattern.ReplaceAllStringFunc(text, recent)
	return uidPattern.ReplaceAllStringFunc(text, func(uid string) string {
		if uid == madeUpUID {
			return uid
		}
		return "<uid>"
	})
}

// end makes lists equal that go on or not, which depends on the objects of others. Where there is no more, lists of
// whole objects say so, and tables and lists of metadata don't.
func (normalizer) end(given, out map[string]any) {
	before, _ := given["metadata"].(map[string]any)
	after, _ := out["metadata"].(map[string]any)
	if _, isTable := given["rows"]; !isTable && given["kind"] != "PartialObjectMetadataList" {
		return
	}
	if before["continue"] != after["continue"] {
		delete(after, "continue")
	}
}

// table replaces ages in the cells of a table. Only the first table of a watch says what its columns are.
func (normalizer) table(out map[string]any) {
	rows, isTable := out["rows"].([]any)
	if !isTable {
		return
	}
	for _, row := range rows {
		r, _ := row.(map[string]any)
		cells, _ := r["cells"].([]any)
		for i, cell := range cells {
			if text, isText := cell.(string); isText && agePattern.MatchString(text) {
				cells[i] = "<age>"
			}
		}
	}
}
