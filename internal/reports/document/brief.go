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

// Brief is the part of an object that lines about it are made of, as JSON.
type Brief struct {
	// Metadata may be part of what was read, and has managed fields.
	Metadata []byte
	// Body has what was kept.
	Body []byte
}

// ReadBriefly returns, of an object that is given as it is served, the metadata and what keep keeps of the body.
func (k *Kind) ReadBriefly(served []byte, keep schema.Paths) (Brief, error) {
	metadata, members, ok := splitHead(served)
	if !ok {
		return k.readWhole(served)
	}
	body, ok := schema.Only(members, keep)
	if !ok {
		return k.readWhole(served)
	}
	return Brief{metadata, body}, nil
}

// Value returns the JSON at a path of members, nil if there is none.
func (b Brief) Value(path ...string) []byte {
	value := b.Body
	if path[0] == "metadata" {
		value, path = b.Metadata, path[1:]
	}
	for _, name := range path {
		if value = memberOf(value, name); value == nil {
			return nil
		}
	}
	return value
}

// Tree returns all of it as Go values, but managed fields.
func (b Brief) Tree() (map[string]any, error) {
	tree, err := schema.Parse(b.Body)
	if err != nil {
		return nil, err
	}
	meta, err := schema.Parse(b.Metadata)
	delete(meta, "managedFields")
	tree["metadata"] = meta
	return tree, err
}

// ReadMetadata returns the JSON of the metadata of an object that is given as it is served.
func (k *Kind) ReadMetadata(served []byte) ([]byte, error) {
	if metadata, _, ok := splitHead(served); ok {
		return metadata, nil
	}
	read, err := k.readWhole(served)
	return read.Metadata, err
}

// readWhole reads what nobody can vouch for without that. A body that is no JSON has nothing to show.
func (k *Kind) readWhole(served []byte) (Brief, error) {
	read := New(k)
	if _, _, err := (codec{k}).Decode(served, nil, read); err != nil {
		return Brief{}, err
	}
	body := read.Body()
	if _, err := schema.Parse(body); err != nil {
		body = emptyJSON
	}
	metadata, err := marshalMetadata(&read.ObjectMeta)
	return Brief{metadata, body}, err
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
	value := Brief{Body: o.Body()}.Value(path...)
	if value == nil {
		return ""
	}
	decoded, err := schema.ParseValue(value)
	if err != nil || decoded == nil {
		return ""
	}
	return fmt.Sprint(decoded)
}
