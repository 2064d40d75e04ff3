// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/reports/schema"
)

// ReadBriefly returns, of an object that is given as it is served, what keep keeps as a tree of Go values, with all of
// the metadata but managed fields; and the JSON of the metadata, which may be part of what was given.
func (k *Kind) ReadBriefly(served []byte, keep schema.Paths) (tree map[string]any, metadata []byte, err error) {
	metadata, members, ok := splitHead(served)
	if !ok {
		return k.readWhole(served)
	}
	body, ok := schema.Only(members, keep)
	if !ok {
		return k.readWhole(served)
	}
	if tree, err = schema.Parse(body); err != nil {
		return k.readWhole(served)
	}
	meta := map[string]any{}
	ok = schema.Split(metadata, func(name, value []byte) bool {
		if string(name) != "managedFields" {
			meta[string(name)], err = schema.ParseValue(value)
		}
		return err == nil
	})
	if !ok {
		return k.readWhole(served)
	}
	tree["metadata"] = meta
	return tree, metadata, nil
}

// ReadMetadata returns the JSON of the metadata of an object that is given as it is served.
func (k *Kind) ReadMetadata(served []byte) ([]byte, error) {
	if metadata, _, ok := splitHead(served); ok {
		return metadata, nil
	}
	_, metadata, err := k.readWhole(served)
	return metadata, err
}

// readWhole reads what nobody can vouch for without that. A body that is no JSON has nothing to show.
func (k *Kind) readWhole(served []byte) (tree map[string]any, metadata []byte, err error) {
	read := New(k)
	if _, _, err := (codec{k}).Decode(served, nil, read); err != nil {
		return nil, nil, err
	}
	if tree, err = read.content(); err != nil {
		read.Content = nil
		if tree, err = read.content(); err != nil {
			return nil, nil, err
		}
	}
	metadata, err = marshalMetadata(&read.ObjectMeta)
	return tree, metadata, err
}

// unread is a value that nobody reads.
type unread struct{}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (*unread) UnmarshalJSONFrom(d *jsontext.Decoder) error { return d.SkipValue() }

// splitHead returns the metadata of what appendJSON wrote, as JSON that can be read apart from managed fields, and what
// follows it. It returns false for JSON of another form.
func splitHead(data []byte) (metadata, members []byte, ok bool) {
	metadata, members, ok = schema.SplitHead(data)
	if !ok || !bytes.HasSuffix(members, []byte("}")) {
		return nil, nil, false
	}
	var meta struct {
		metav1.ObjectMeta

		ManagedFields unread `json:"managedFields"`
	}
	return metadata, members, json.Unmarshal(metadata, &meta) == nil
}

// Text returns the value of a member of the body as field selectors compare it, "" if there is none.
func (o *Object) Text(path ...string) string {
	value := o.Body()
	for _, name := range path {
		if value = memberOf(value, name); value == nil {
			return ""
		}
	}
	decoded, err := schema.ParseValue(value)
	if err != nil || decoded == nil {
		return ""
	}
	return fmt.Sprint(decoded)
}
