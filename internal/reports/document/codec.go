// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/internal/reports/schema"
)

// NewCodec returns what encodes objects of a kind as they are stored, and decodes them to the version of the kind.
// A kind with one version is stored as it is served.
func NewCodec(kind *Kind) runtime.Codec {
	if kind.converts() {
		return codec{kind}
	}
	return plainCodec{codec{kind}}
}

type codec struct{ of *Kind }

// plainCodec is the codec of a kind with one version: objects may be served without decoding them.
type plainCodec struct{ codec }

// Identifier implements runtime.Encoder.
func (c codec) Identifier() runtime.Identifier {
	return runtime.Identifier("docket-" + c.of.GroupVersionKind.String())
}

// Encode implements runtime.Encoder.
func (c codec) Encode(obj runtime.Object, w io.Writer) error {
	object, ok := obj.(*Object)
	if !ok {
		return fmt.Errorf("encode for storage: a %T is no %s", obj, c.of.GroupVersionKind.Kind)
	}
	data, err := object.appendStored(nil)
	if err != nil {
		return fmt.Errorf("encode for storage: %w", err)
	}
	_, err = w.Write(data)
	return err
}

// Decode implements runtime.Decoder.
func (c codec) Decode(data []byte, _ *gvk.GroupVersionKind, into runtime.Object) (runtime.Object, *gvk.GroupVersionKind, error) {
	if into == nil {
		into = New(c.of)
	}
	object, ok := into.(*Object)
	if !ok {
		return nil, nil, fmt.Errorf("decode what was stored: a %T is no %s", into, c.of.GroupVersionKind.Kind)
	}
	object.Of = c.of
	if err := object.readStored(data); err != nil {
		return nil, nil, fmt.Errorf("decode what was stored: %w", err)
	}
	kind := object.GroupVersionKind()
	return object, &kind, nil
}

// appendStored appends the object in the version that is stored.
func (o *Object) appendStored(out []byte) ([]byte, error) {
	stated := o.stated()
	if version := o.Of.StoredVersion; version != o.Of.GroupVersionKind.Version {
		converted := *stated
		if err := converted.rewrite(schema.Options{KeepMissing: true}, o.Of.storedSchema(version)); err != nil {
			return nil, err
		}
		converted.SetGroupVersionKind(o.Of.GroupVersionKind.GroupKind().WithVersion(version))
		stated = &converted
	}
	return stated.appendJSON(out)
}

func (o *Object) readStored(data []byte) error {
	if !o.split(data) {
		return o.UnmarshalJSON(data)
	}
	if o.Of.Proven && !o.Of.converts() {
		return nil
	}
	stored := o.Of.storedSchema(o.GroupVersionKind().Version)
	if !stored.Stored(o.Body()) {
		if err := o.rewrite(schema.Options{}, stored); err != nil {
			return err
		}
	}
	if stored != o.Of.Schema {
		if err := o.rewrite(schema.Options{KeepMissing: true}, o.Of.Schema); err != nil {
			return err
		}
	}
	o.state()
	return nil
}

// rewrite makes the body what a schema would store of it. It leaves type and metadata.
func (o *Object) rewrite(options schema.Options, by *schema.Schema) error {
	content, err := schema.Parse(o.Body())
	if err != nil {
		return err
	}
	options.DropMalformed = true
	if _, _, err := by.Coerce(content, options); err != nil {
		return err
	}
	canonical, err := schema.Canonical(content)
	if err != nil {
		return err
	}
	o.Content = &Content{json: canonical, valid: true}
	return nil
}
