// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/json"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/server/imports"
)

// entry is an object on one side.
type entry struct {
	namespace, name, uid string
	// version is the resource version; 0 where the side has none.
	version uint64
	// mark is valid if marked: the object was imported.
	mark   imports.Mark
	marked bool
	// finalizers reports whether something waits for its deletion.
	finalizers bool
	// object is the whole object as JSON; nil if only metadata was asked for.
	object json.RawMessage
}

// key orders entries as storage does: bytewise by "namespace/name".
func (e *entry) key() string {
	if e.namespace == "" {
		return e.name
	}
	return e.namespace + "/" + e.name
}

// parseEntry reads an object, and keeps its JSON if whole.
func parseEntry(data json.RawMessage, whole bool) (*entry, error) {
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, fmt.Errorf("read an object: %w", err)
	}
	e := &entry{
		namespace: object.Namespace, name: object.Name, uid: string(object.UID), finalizers: len(object.Finalizers) > 0,
	}
	if object.ResourceVersion != "" {
		var err error
		if e.version, err = strconv.ParseUint(object.ResourceVersion, 10, 64); err != nil {
			return nil, fmt.Errorf("resource version of %s: %w", e.key(), err)
		}
	}
	e.mark, e.marked = imports.ReadMark(object.Annotations)
	if whole {
		e.object = data
	}
	return e, nil
}

// fingerprint returns the fingerprint of the whole object, by which the two sides are
// compared. A UID and a creation time that the object lacks are taken from like, unless
// that is nil: Docket assigned them.
func (e *entry) fingerprint(kind imports.Kind, scope imports.Scope, like *entry) (string, error) {
	object, _, err := kind.Decode(e.object)
	if err != nil {
		return "", err
	}
	created := object.GetCreationTimestamp()
	if like != nil && (object.GetUID() == "" || created.IsZero()) {
		other, _, err := kind.Decode(like.object)
		if err != nil {
			return "", err
		}
		if object.GetUID() == "" {
			object.SetUID(other.GetUID())
		}
		if created.IsZero() {
			object.SetCreationTimestamp(other.GetCreationTimestamp())
		}
	}
	return imports.Fingerprint(object, scope)
}

// item returns the item that imports the object. It has no object if only metadata was read.
func (e *entry) item(kind imports.Kind, known bool) imports.Item {
	return imports.Item{
		Group: kind.Group, Resource: kind.Resource,
		Version: e.version, Known: known, Object: e.object,
	}
}

// deletion returns the item that deletes the object.
func (e *entry) deletion(kind imports.Kind, version uint64) imports.Item {
	return imports.Item{
		Group: kind.Group, Resource: kind.Resource, Version: version,
		Delete: &imports.Deletion{Namespace: e.namespace, Name: e.name, UID: e.uid},
	}
}
