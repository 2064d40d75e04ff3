// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"encoding/json"
	"fmt"
	"unique"

	"github.com/klauspost/compress/zstd"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/policy"
)

// packed is a resource as it is kept. It has the JSON, since Go maps of the same content take four times the
// memory, and unpacking takes little time compared with an evaluation; most of it is compressed. It never changes.
type packed struct {
	namespace, name string
	uid             types.UID
	// data is the JSON as codec packs it, or as it is if codec is nil; nil in a kind without data.
	data  []byte
	codec *codec
	// dropped is true if there is no memory for data: they are requested for each evaluation.
	dropped bool
	// content is the hash of everything whose change counts as a change of the resource.
	content policy.Content
	// status is the hash of the status, which counts if a policy has the status as its target; zero if the
	// status is not kept.
	status policy.Content
	// space is set for namespaces only.
	space *space
}

// space is what policies for other resources see of a namespace.
type space struct {
	labels map[string]string
	// visible is the hash of what policies can see of it.
	visible policy.Content
}

// GetObjectMeta lets client-go's reflector read the name.
func (p *packed) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: p.namespace, Name: p.name, UID: p.uid}
}

// pack keeps of an object what detail says. It changes object.
func pack(object *unstructured.Unstructured, d detail, codecs *codecOf) (*packed, error) {
	policy.Strip(object)
	content, err := policy.ContentOf(object)
	if err != nil {
		return nil, err
	}
	p := &packed{
		namespace: unique.Make(object.GetNamespace()).Value(), name: object.GetName(), uid: object.GetUID(), content: content,
	}
	if d == detailNone {
		return p, nil
	}
	if d == detailAll {
		if p.status, err = policy.HashOf(object.Object["status"]); err != nil {
			return nil, err
		}
	} else {
		delete(object.Object, "status")
	}
	if p.data, err = json.Marshal(object.Object); err != nil {
		return nil, fmt.Errorf("pack %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
	if p.codec, err = codecs.next(p.data); err == nil && p.codec != nil {
		p.data = p.codec.pack(p.data)
	}
	return p, err
}

// unpack returns an object of the caller's own.
func (p *packed) unpack() (*unstructured.Unstructured, error) {
	data := p.data
	if p.codec != nil {
		var err error
		if data, err = p.codec.unpack(data); err != nil {
			return nil, fmt.Errorf("unpack %s/%s: %w", p.namespace, p.name, err)
		}
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		return nil, fmt.Errorf("unpack %s/%s: %w", p.namespace, p.name, err)
	}
	return object, nil
}

const (
	// dictionaryAfter is the number of objects of a kind that are kept as they are. Then some of them become the
	// dictionary for the others, and pay for its tables, about a megabyte.
	dictionaryAfter = 256
	// dictionarySize is enough for a dozen pods. Longer ones don't find more.
	dictionarySize = 64 << 10
	// windowSize bounds the memory for packing; larger objects are packed in several blocks.
	windowSize = 256 << 10
	// largestObject bounds what a packed object may unpack to. etcd refuses far smaller ones.
	largestObject = 64 << 20
)

// codec packs and unpacks the JSON of the objects of one kind with a dictionary of that kind. It never changes.
type codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// newCodec returns a codec whose dictionary is made of examples.
func newCodec(examples [][]byte) (*codec, error) {
	// zstd takes any content as a dictionary; any number that stays the same identifies it.
	const id = 1
	var dictionary []byte
	for _, example := range examples {
		dictionary = append(dictionary, example...)
	}
	if excess := len(dictionary) - dictionarySize; excess > 0 {
		dictionary = dictionary[excess:]
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderDictRaw(id, dictionary), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(windowSize),
		zstd.WithEncoderCRC(false)) // What is in memory is not checked elsewhere, either.
	if err != nil {
		return nil, fmt.Errorf("pack resources: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderDictRaw(id, dictionary), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(largestObject))
	if err != nil {
		return nil, fmt.Errorf("unpack resources: %w", err)
	}
	return &codec{encoder: encoder, decoder: decoder}, nil
}

// pack returns packed data in a slice of exactly their size.
func (c *codec) pack(data []byte) []byte {
	packed := c.encoder.EncodeAll(data, make([]byte, 0, len(data)/2))
	return append(make([]byte, 0, len(packed)), packed...)
}

func (c *codec) unpack(data []byte) ([]byte, error) { return c.decoder.DecodeAll(data, nil) }

// codecOf finds the codec for the objects of a kind. Only its source uses it.
type codecOf struct {
	current *codec
	// examples are kept until there is a codec.
	examples [][]byte
	seen     int
}

// next returns the codec for an object; nil if it is kept as it is.
func (c *codecOf) next(data []byte) (*codec, error) {
	if c.current != nil {
		return c.current, nil
	}
	const spread = dictionaryAfter / 16
	if c.seen%spread == 0 {
		c.examples = append(c.examples, data)
	}
	if c.seen++; c.seen < dictionaryAfter {
		return nil, nil // None yet.
	}
	var err error
	c.current, err = newCodec(c.examples)
	c.examples = nil
	return c.current, err
}
