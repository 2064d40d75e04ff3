// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	kserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
)

// NewCodec returns what encodes reports as they are stored: as they are served. create
// makes an empty report of a kind, for callers that decode without saying into what.
func NewCodec(create func(gvk.GroupVersionKind) (runtime.Object, error)) runtime.Codec {
	return codec{create}
}

type codec struct {
	create func(gvk.GroupVersionKind) (runtime.Object, error)
}

// storable is an *Object of any kind.
type storable interface {
	runtime.Object
	appendStored(out []byte) ([]byte, error)
	readStored(data []byte) error
}

// Identifier implements runtime.Encoder.
func (codec) Identifier() runtime.Identifier { return "docket-report" }

// Encode implements runtime.Encoder.
func (codec) Encode(obj runtime.Object, w io.Writer) error {
	report, ok := obj.(storable)
	if !ok {
		return fmt.Errorf("encode for storage: a %T is no report", obj)
	}
	data, err := report.appendStored(nil)
	if err != nil {
		return fmt.Errorf("encode for storage: %w", err)
	}
	_, err = w.Write(data)
	return err
}

// Decode implements runtime.Decoder.
func (c codec) Decode(data []byte, _ *gvk.GroupVersionKind, into runtime.Object) (runtime.Object, *gvk.GroupVersionKind, error) {
	if into == nil {
		kind, err := kserializer.DefaultMetaFactory.Interpret(data)
		if err != nil {
			return nil, nil, fmt.Errorf("decode what was stored: %w", err)
		}
		if into, err = c.create(*kind); err != nil {
			return nil, nil, fmt.Errorf("decode what was stored: %w", err)
		}
	}
	report, ok := into.(storable)
	if !ok {
		return nil, nil, fmt.Errorf("decode what was stored: a %T is no report", into)
	}
	if err := report.readStored(data); err != nil {
		return nil, nil, fmt.Errorf("decode what was stored: %w", err)
	}
	kind := report.GetObjectKind().GroupVersionKind()
	return report, &kind, nil
}

func (o *Object[T, P]) appendStored(out []byte) ([]byte, error) { return o.stated().appendJSON(out) }

func (o *Object[T, P]) readStored(data []byte) error {
	if o.split(data) {
		return nil
	}
	return o.UnmarshalJSON(data)
}
