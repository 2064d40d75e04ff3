// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// maxDepth is how deep lists may be nested, so that nobody can exhaust the stack.
const maxDepth = 4

// document is a part of a file.
type document struct {
	text []byte
	// line is the line of the first text that is not a comment, from 1.
	line int
	// first is the line at which text begins, from 1.
	first int
}

// split returns the documents of a file that are not empty. A file that begins as JSON is a
// sequence of JSON values, else it is YAML.
func split(data []byte) []document {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return splitYAML(data)
	}
	decoder := json.NewDecoder(bytes.NewReader(trimmed))
	var documents []document
	// line is that at which counted ends.
	line, counted := 1+bytes.Count(data[:len(data)-len(trimmed)], newline), 0
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return documents
		}
		if err != nil {
			// YAML's flow style looks like JSON and is none. If it is neither, the YAML decoder says where.
			return splitYAML(data)
		}
		begin := int(decoder.InputOffset()) - len(raw)
		line += bytes.Count(trimmed[counted:begin], newline)
		counted = begin
		documents = append(documents, document{raw, line, line})
	}
}

var newline = []byte("\n")

// splitYAML cuts at the lines that begin with "---" or "...". Those of the Kubernetes libraries
// must have nothing behind it: a comment there would hide all documents after the first.
func splitYAML(data []byte) []document {
	var documents []document
	var current []byte
	number, begin := 0, 0 // The lines that were read, and that at which current begins.
	end := func() {
		if before := leading(current); before >= 0 {
			documents = append(documents, document{current, begin + before, begin})
		}
		current = nil
	}
	for line := range bytes.Lines(data) {
		number++
		if len(current) == 0 {
			begin = number
		}
		rest, isStart := marker(line, "---")
		_, isEnd := marker(line, "...")
		switch {
		case isStart:
			end()
			begin, current = number, append(current, rest...)
		case isEnd:
			end()
		case len(current) == 0 && line[0] == '%':
			// A directive such as %YAML 1.2 is irrelevant here.
		default:
			current = append(current, line...)
		}
	}
	end()
	return documents
}

// marker reports whether the line is a marker between documents, and what stands behind it.
func marker(line []byte, mark string) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(line, []byte(mark))
	return rest, ok && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0])))
}

// leading returns the number of lines before the first text that is no comment; -1 if there is none.
func leading(document []byte) int {
	number := 0
	for line := range bytes.Lines(document) {
		if text := bytes.TrimSpace(line); len(text) > 0 && text[0] != '#' {
			return number
		}
		number++
	}
	return -1
}

// lineInError is where the YAML library says in which line of a document it found an error.
var lineInError = regexp.MustCompile(`\bline (\d+)`)

// decode returns the value of a document. Errors name the lines of the file.
func (d document) decode() (any, error) {
	value, err := decode(d.text)
	if err == nil || d.first <= 1 {
		return value, err
	}
	return nil, errors.New(lineInError.ReplaceAllStringFunc(err.Error(), func(text string) string {
		line, convErr := strconv.Atoi(strings.TrimPrefix(text, "line "))
		if convErr != nil {
			return text
		}
		return fmt.Sprintf("line %d", line+d.first-1)
	}))
}

// decode returns the value of a document with the types that Kubernetes' libraries expect:
// int64 and float64 for numbers.
func decode(document []byte) (any, error) {
	asJSON := document
	if !json.Valid(document) {
		var err error
		if asJSON, err = yaml.YAMLToJSON(document); err != nil {
			return nil, err
		}
	}
	var value any
	if err := utiljson.Unmarshal(asJSON, &value); err != nil {
		return nil, err
	}
	return value, nil
}

// notAnObjectError says that a document is not a Kubernetes object.
type notAnObjectError struct{ reason string }

func (e notAnObjectError) Error() string { return e.reason }

// objectsOf returns the object of a document or, if that is a list, its items.
func objectsOf(value any) ([]*unstructured.Unstructured, error) {
	if value == nil {
		return nil, nil
	}
	content, ok := value.(map[string]any)
	if !ok {
		return nil, notAnObjectError{"is not a Kubernetes object: it must be a map with apiVersion, kind and metadata"}
	}
	if field := missingType(content); field != "" {
		return nil, notAnObjectError{fmt.Sprintf("is not a Kubernetes object: %s is missing or not a string", field)}
	}
	object := unstructured.Unstructured{Object: content}
	if object.GetKind() == "Kustomization" && object.GroupVersionKind().Group == "kustomize.config.k8s.io" {
		return nil, notAnObjectError{"is not a Kubernetes object but input of kustomize; give the output of `kubectl kustomize` instead"}
	}
	return expand(content, maxDepth)
}

// missingType returns the field, apiVersion or kind, that is missing or not a string; empty if both are good.
func missingType(content map[string]any) string {
	for _, field := range []string{"apiVersion", "kind"} {
		if text, ok := content[field].(string); !ok || text == "" {
			return field
		}
	}
	return ""
}

// expand returns the object or, if it is a list, its items.
func expand(content map[string]any, depth int) ([]*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{Object: content}
	items, isList := content["items"].([]any)
	itemKind, named := strings.CutSuffix(object.GetKind(), "List")
	if !isList || !named {
		return []*unstructured.Unstructured{object}, check(content)
	}
	if depth == 0 {
		return nil, errors.New("items: lists are nested too deeply; give one list")
	}
	var objects []*unstructured.Unstructured
	for i, item := range items {
		inner, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("items[%d]: must be an object", i)
		}
		// The API leaves these two out in the items of a typed list, such as a PodList.
		if inner["kind"] == nil && inner["apiVersion"] == nil && itemKind != "" {
			inner["kind"], inner["apiVersion"] = itemKind, object.GetAPIVersion()
		}
		found, err := expand(inner, depth-1)
		if err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// check checks the fields that other code reads without checking them.
func check(content map[string]any) error {
	if field := missingType(content); field != "" {
		return fmt.Errorf("%s: is missing or not a string", field)
	}
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		return errors.New("metadata: is missing or not a map")
	}
	if name, ok := metadata["name"].(string); !ok || name == "" {
		return errors.New("metadata.name: is missing or not a string; give the object a name (generateName is not enough)")
	}
	if namespace, ok := metadata["namespace"]; ok && namespace != nil {
		if _, ok := namespace.(string); !ok {
			return fmt.Errorf("metadata.namespace: must be a string, not %v", namespace)
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		if err := checkTexts(metadata[field]); err != nil {
			return fmt.Errorf("metadata.%s%w", field, err)
		}
	}
	return nil
}

// checkTexts checks labels or annotations. The libraries would silently drop all of them if one is not a string.
func checkTexts(value any) error {
	if value == nil {
		return nil
	}
	texts, ok := value.(map[string]any)
	if !ok {
		return errors.New(": must be a map of strings")
	}
	for key, text := range texts {
		if _, ok := text.(string); !ok && text != nil {
			return fmt.Errorf("[%s]: must be a string, not %v; put it in quotes", key, text)
		}
	}
	return nil
}
