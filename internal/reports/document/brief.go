// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	stdjson "encoding/json"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/reports/schema"
)

// Brief is an *Object of any kind that is read for a line about it.
type Brief interface {
	// ReadBriefly makes it the report that is given as it is served, mostly without managed fields and results. It
	// returns the JSON of the metadata, which may be part of what was given.
	ReadBriefly(served []byte) (metadata []byte, err error)
	// ReadMetadata does the same, mostly without the body.
	ReadMetadata(served []byte) (metadata []byte, err error)
}

// ReadBriefly implements Brief.
func (o *Object[T, P]) ReadBriefly(served []byte) ([]byte, error) {
	read, metadata, members, ok := splitBriefly(served)
	if !ok {
		return o.readWhole(served)
	}
	body, ok := schema.WithoutResults(members)
	if !ok {
		return o.readWhole(served)
	}
	read.Content = &Content{json: body, valid: true}
	*o = Object[T, P]{read}
	return metadata, nil
}

// ReadMetadata implements Brief.
func (o *Object[T, P]) ReadMetadata(served []byte) ([]byte, error) {
	read, metadata, _, ok := splitBriefly(served)
	if !ok {
		return o.readWhole(served)
	}
	*o = Object[T, P]{read}
	return metadata, nil
}

// readWhole reads what nobody can vouch for without that.
func (o *Object[T, P]) readWhole(served []byte) ([]byte, error) {
	if _, _, err := (codec{}).Decode(served, nil, o); err != nil {
		return nil, err
	}
	return stdjson.Marshal(&o.ObjectMeta)
}

// unread is a value that nobody reads.
type unread struct{}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (*unread) UnmarshalJSONFrom(d *jsontext.Decoder) error { return d.SkipValue() }

// splitBriefly returns the metadata of what appendJSON wrote, without managed fields, as it is and as JSON, and what
// follows it. It returns false for JSON of another form.
func splitBriefly(data []byte) (read Document, metadata, members []byte, ok bool) {
	metadata, members, ok = schema.SplitHead(data)
	if !ok || !bytes.HasSuffix(members, []byte("}")) {
		return read, nil, nil, false
	}
	var meta struct {
		metav1.ObjectMeta

		ManagedFields unread `json:"managedFields"`
	}
	if json.Unmarshal(metadata, &meta) != nil {
		return read, nil, nil, false
	}
	read.ObjectMeta = meta.ObjectMeta
	return read, metadata, members, true
}
