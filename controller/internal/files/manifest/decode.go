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

// helmAction begins what Helm replaces in a template. Variables of policies, such as {{ request.object }}, don't match.
var helmAction = regexp.MustCompile(`\{\{-?\s*(/\*|[.$(]|(if|else|end|range|with|define|block|template|include|tpl|toYaml|required|default|quote|lookup|fail|printf)\b)`)

const helmAdvice = "looks like a Helm template: render it first, for example with `helm template`"

// lineInError is where the YAML library says in which line of a document it found an error.
var lineInError = regexp.MustCompile(`\bline (\d+)`)

// decode returns the value of a document. Errors name the lines of the file.
func (d document) decode() (any, error) {
	value, err := decode(d.text)
	if err == nil {
		return value, nil
	}
	if at := helmAction.FindIndex(d.text); at != nil {
		return nil, fmt.Errorf("line %d: %s", d.first+bytes.Count(d.text[:at[0]], newline), helmAdvice)
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

var errKustomize = notAnObjectError{"is not a Kubernetes object but input of kustomize; give the output of `kubectl kustomize` instead"}

// objectsOf calls visit for the object of a document or, if that is a list, for its items, each with what is wrong
// with it. Its own error is about the whole document.
func objectsOf(value any, visit func(*unstructured.Unstructured, error)) error {
	if value == nil {
		return nil
	}
	content, ok := value.(map[string]any)
	if !ok {
		return notAnObjectError{"is not a Kubernetes object: it must be a map with apiVersion, kind and metadata"}
	}
	if field := missingType(content); field != "" {
		return notAnObjectError{fmt.Sprintf("is not a Kubernetes object: %s is missing or not a string", field)}
	}
	object := unstructured.Unstructured{Object: content}
	if object.GroupVersionKind().Group == "kustomize.config.k8s.io" {
		return errKustomize
	}
	expand(content, maxDepth, "", visit)
	return nil
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

// expand calls visit for the object or, if it is a list, for its items. Errors begin with the path of the item.
func expand(content map[string]any, depth int, path string, visit func(*unstructured.Unstructured, error)) {
	object := &unstructured.Unstructured{Object: content}
	wrong := func(path, text string) { visit(nil, errors.New(path+text)) }
	items, isList := content["items"].([]any)
	itemKind, named := strings.CutSuffix(object.GetKind(), "List")
	if value, ok := content["items"]; ok && value == nil {
		isList = true // Programs in Go write empty lists so.
	}
	if !isList || !named {
		if err := check(content); err != nil {
			wrong(path, err.Error())
			return
		}
		visit(object, nil)
		return
	}
	if depth == 0 {
		wrong(path, "items: lists are nested too deeply; give one list")
		return
	}
	for i, item := range items {
		of := fmt.Sprintf("%sitems[%d]: ", path, i)
		inner, ok := item.(map[string]any)
		if !ok {
			wrong(of, "must be an object")
			continue
		}
		// The API leaves these two out in the items of a typed list, such as a PodList.
		if inner["kind"] == nil && inner["apiVersion"] == nil && itemKind != "" {
			inner["kind"], inner["apiVersion"] = itemKind, object.GetAPIVersion()
		}
		expand(inner, depth-1, of, visit)
	}
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
	name, isText := metadata["name"].(string)
	begin, _ := metadata["generateName"].(string)
	switch {
	case metadata["name"] != nil && !isText:
		return fmt.Errorf("metadata.name: must be a string, not %v; put it in quotes", metadata["name"])
	case name == "" && begin == "":
		return errors.New("metadata.name: is missing; give the object a name, or a generateName")
	}
	if strings.Contains(name, "{{") {
		return errors.New("metadata.name: " + helmAdvice)
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
