// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

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
	content := maps.Clone(object.Object)
	delete(content, "metadata")
	delete(content, "status")
	if spec, ok := content["spec"].(map[string]any); ok {
		if _, ok := spec["nodeName"]; ok {
			spec = maps.Clone(spec)
			delete(spec, "nodeName")
			content["spec"] = spec
		}
	}
	annotations := object.GetAnnotations()
	delete(annotations, LastApplied) // A copy.
	if len(annotations) == 0 {
		annotations = nil // Equal whether it was there or not.
	}
	return HashOf([]any{object.GetLabels(), annotations, content})
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
