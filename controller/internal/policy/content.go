// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// LastApplied is the annotation that kubectl apply adds. It is as large as the object and tells nothing new.
const LastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Strip removes from an object what no policy sees, which may be most of it: its managed fields and [LastApplied].
func Strip(object *unstructured.Unstructured) {
	object.SetManagedFields(nil)
	unstructured.RemoveNestedField(object.Object, "metadata", "annotations", LastApplied)
	if len(object.GetAnnotations()) == 0 {
		object.SetAnnotations(nil) // Equal whether it was there or not.
	}
}

// Content is the hash of everything whose change requires a new evaluation: as in Kyverno, labels, annotations,
// and everything except metadata, status, and the node of a pod. It is the first half of a SHA-256, enough to
// distinguish contents that somebody chose, too.
type Content [16]byte

// String returns the hash as hexadecimal digits.
func (c Content) String() string { return hex.EncodeToString(c[:]) }

// ContentOf returns the hash of an object, which it doesn't change.
func ContentOf(object *unstructured.Unstructured) (Content, error) {
	content, _, err := encode(object, false)
	return content, err
}

// Encode returns the hash of an object, which it doesn't change, and its JSON. What both have is encoded once.
func Encode(object *unstructured.Unstructured) (content Content, data []byte, err error) {
	return encode(object, true)
}

func encode(object *unstructured.Unstructured, whole bool) (content Content, data []byte, err error) {
	annotations := object.GetAnnotations()
	delete(annotations, LastApplied) // A copy.
	if len(annotations) == 0 {
		annotations = nil // Equal whether it was there or not.
	}
	hashed, err := json.Marshal([]any{object.GetLabels(), annotations, struct{}{}})
	if err != nil {
		return Content{}, nil, fmt.Errorf("hash of a resource: %w", err)
	}
	hashed, data = bytes.TrimSuffix(hashed, []byte("}]")), []byte("{")
	for _, key := range slices.Sorted(maps.Keys(object.Object)) {
		counts := key != "metadata" && key != "status"
		if !counts && !whole {
			continue
		}
		rest, node, err := encodeMember(key, object.Object[key])
		if err != nil {
			return Content{}, nil, err
		}
		if counts {
			hashed = join(hashed, rest)
		}
		if data = join(data, rest); node != nil {
			data = append(join(data[:len(data)-1], node), '}')
		}
	}
	sum := sha256.Sum256(append(hashed, "}]"...))
	return Content(sum[:len(Content{})]), append(data, '}'), nil
}

// encodeMember returns a member of an object as JSON, and the node of a pod apart from its other members.
func encodeMember(key string, value any) (rest, node []byte, err error) {
	spec, _ := value.(map[string]any)
	if name, ok := spec[nodeName]; ok && key == "spec" {
		if node, err = member(nodeName, name); err != nil {
			return nil, nil, err
		}
		spec = maps.Clone(spec)
		delete(spec, nodeName)
		value = spec
	}
	rest, err = member(key, value)
	return rest, node, err
}

const nodeName = "nodeName"

// member returns a member of an object as JSON.
func member(key string, value any) ([]byte, error) {
	data, err := json.Marshal(map[string]any{key: value})
	if err != nil {
		return nil, fmt.Errorf("encode a resource: %w", err)
	}
	return data[1 : len(data)-1], nil // Without the braces.
}

// join adds members to the JSON of an object without its closing brace.
func join(object, members []byte) []byte {
	if object[len(object)-1] != '{' {
		object = append(object, ',')
	}
	return append(object, members...)
}

// CopyJSON copies a JSON value, with its scalars as scalar returns them.
func CopyJSON(value any, scalar func(any) any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, item := range value {
			out[key] = CopyJSON(item, scalar)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = CopyJSON(item, scalar)
		}
		return out
	default:
		return scalar(value)
	}
}

// HashOf returns the hash of any JSON value.
func HashOf(value any) (Content, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return Content{}, fmt.Errorf("hash of a resource: %w", err)
	}
	sum := sha256.Sum256(data)
	return Content(sum[:len(Content{})]), nil
}

// Fingerprint returns the hash of what decides about the results of a policy.
func Fingerprint(content any) string {
	// What was read as JSON or YAML can be written as JSON. Should it not be, the text of the values serves: it differs
	// where they do.
	data, err := json.Marshal(content)
	if err != nil {
		data = fmt.Appendf(nil, "%v", content)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
