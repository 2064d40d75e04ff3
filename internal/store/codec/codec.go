// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	_ "embed"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/docket-project/docket/internal/store/engine"
)

// The codecs. The numbers are stored with each value.
const (
	// Raw is not packed.
	Raw uint8 = 0
	// ZstdReports1 is zstd with the dictionary reports1.txt.
	ZstdReports1 uint8 = 1
)

// maxSize bounds what a packed value may unpack to, against corrupt lengths.
const maxSize = 1 << 30

// reports1 is plain text: zstd takes any content as a dictionary, and finds matches sooner towards its end.
//
//go:embed reports1.txt
var reports1 []byte

// dictionaryID is written into frames; any number that stays the same.
const dictionaryID = 0x0d0c4e71

// largeSize is from where on a value is worth the tables of the higher level. They are built from the dictionary for
// each value: 1.25 MB, which takes longer than to pack a report of the usual size, and 0.25 MB at the lower level.
const largeSize = 16 << 10

// Codec packs and unpacks values. Safe for concurrent use.
type Codec struct {
	// small and large pack values below largeSize and others. What they write is read alike.
	small, large *zstd.Encoder
	decoder      *zstd.Decoder
}

// New returns a codec. It fails only when the library refuses its options.
func New() (*Codec, error) {
	small, err := newEncoder(zstd.SpeedFastest)
	if err != nil {
		return nil, err
	}
	large, err := newEncoder(zstd.SpeedDefault)
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil,
		zstd.WithDecoderDictRaw(dictionaryID, reports1),
		zstd.WithDecoderConcurrency(0),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxSize))
	if err != nil {
		return nil, fmt.Errorf("zstd decoder: %w", err)
	}
	return &Codec{small: small, large: large, decoder: decoder}, nil
}

func newEncoder(level zstd.EncoderLevel) (*zstd.Encoder, error) {
	encoder, err := zstd.NewWriter(nil,
		zstd.WithEncoderDictRaw(dictionaryID, reports1),
		zstd.WithEncoderLevel(level),
		zstd.WithEncoderCRC(true),
		zstd.WithWindowSize(zstd.MinWindowSize<<8),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("zstd encoder: %w", err)
	}
	return encoder, nil
}

// Pack returns data as a value to store. Data that doesn't shrink stays raw.
func (c *Codec) Pack(data []byte) engine.Value {
	encoder := c.small
	if len(data) >= largeSize {
		encoder = c.large
	}
	packed := encoder.EncodeAll(data, make([]byte, 0, len(data)/8+64))
	if len(packed) >= len(data) {
		return engine.Value{Data: data, Codec: Raw, Size: int32(len(data))}
	}
	return engine.Value{Data: packed, Codec: ZstdReports1, Size: int32(len(data))}
}

// Unpack returns what Pack was given. Damaged values give an error that is
// engine.ErrCorrupt. The result may share memory with v.
func (c *Codec) Unpack(v engine.Value) ([]byte, error) {
	if v.Codec == Raw {
		return v.Data, nil
	}
	return c.AppendUnpacked(make([]byte, 0, SizeOf(v)), v)
}

// SizeOf returns how much memory a value takes when it is unpacked, as far as a damaged one can be believed.
func SizeOf(v engine.Value) int { return int(max(0, min(v.Size, maxSize))) }

// AppendUnpacked appends to out what Pack was given, with errors as Unpack has them.
func (c *Codec) AppendUnpacked(out []byte, v engine.Value) ([]byte, error) {
	switch v.Codec {
	case Raw:
		return append(out, v.Data...), nil
	case ZstdReports1:
		if v.Size < 0 || v.Size > maxSize {
			return nil, fmt.Errorf("%w: impossible size %d", engine.ErrCorrupt, v.Size)
		}
		data, err := c.decoder.DecodeAll(v.Data, out)
		if err != nil {
			return nil, fmt.Errorf("%w: unpack: %w", engine.ErrCorrupt, err)
		}
		if n := len(data) - len(out); n != int(v.Size) {
			return nil, fmt.Errorf("%w: unpacked %d bytes, expected %d", engine.ErrCorrupt, n, v.Size)
		}
		return data, nil
	}
	return nil, fmt.Errorf("%w: codec %d, which this version of Docket can't read: upgrade Docket", engine.ErrSchema, v.Codec)
}
