// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Annotation is the annotation of imported objects. Its value is "version,fingerprint": the
// resource version at the source and the fingerprint of what was written.
const Annotation = "docket.dev/imported"

// Scope is the part of the metadata that a fingerprint covers.
type Scope int

const (
	// Exact covers everything but the resource version.
	Exact Scope = iota
	// Portable also leaves out what an API server assigns when an object is created: UID,
	// times, generation, managed fields.
	Portable
)

// assigned returns the fields of the metadata that an API server assigns.
func assigned() []string {
	return []string{"uid", "creationTimestamp", "generation", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds"}
}

// fingerprintBytes is how much of the SHA-256 is kept: enough that no two contents of a
// object share it.
const fingerprintBytes = 16

// Fingerprint identifies the content of an object: half of a SHA-256 of its JSON with sorted
// keys and the numbers that Kubernetes reads (1.0 is 1), without the resource version and
// Annotation. It depends on nothing else, so that two releases agree on it.
func Fingerprint(object runtime.Object, scope Scope) (string, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return "", fmt.Errorf("encode for the fingerprint: %w", err)
	}
	var content map[string]any
	if err := utiljson.Unmarshal(data, &content); err != nil {
		return "", fmt.Errorf("decode for the fingerprint: %w", err)
	}
	// The API version at which it was read doesn't matter.
	delete(content, "apiVersion")
	if metadata, ok := content["metadata"].(map[string]any); ok {
		delete(metadata, "resourceVersion")
		delete(metadata, "selfLink")
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			delete(annotations, Annotation)
			if len(annotations) == 0 {
				delete(metadata, "annotations")
			}
		}
		if scope == Portable {
			for _, field := range assigned() {
				delete(metadata, field)
			}
		}
	}
	canonical, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("encode for the fingerprint: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:fingerprintBytes]), nil
}

// Mark is the value of Annotation.
type Mark struct {
	// Version is the resource version at the source; 0 if it has none.
	Version uint64
	// Fingerprint is the fingerprint of what was written.
	Fingerprint string
}

// String returns the value of the annotation.
func (m Mark) String() string { return strconv.FormatUint(m.Version, 10) + "," + m.Fingerprint }

// ReadMark returns the mark in the annotations of an object. ok is false if there is no valid
// one.
func ReadMark(annotations map[string]string) (mark Mark, ok bool) {
	version, fingerprint, ok := strings.Cut(annotations[Annotation], ",")
	if !ok {
		return Mark{}, false
	}
	number, err := strconv.ParseUint(version, 10, 64)
	return Mark{number, fingerprint}, err == nil && len(fingerprint) == hex.EncodedLen(fingerprintBytes)
}
