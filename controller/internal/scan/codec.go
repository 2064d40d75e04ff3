// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

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
