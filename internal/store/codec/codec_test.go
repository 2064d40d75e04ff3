// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/store/codec"
	"github.com/docket-project/docket/internal/store/engine"
)

func newCodec(t testing.TB) *codec.Codec {
	t.Helper()
	c, err := codec.New()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func FuzzPackUnpack(f *testing.F) {
	c := newCodec(f)
	f.Add([]byte(nil))
	f.Add([]byte("x"))
	f.Add([]byte(strings.Repeat(`{"result":"pass","policy":"p"},`, 100)))
	f.Fuzz(func(t *testing.T, data []byte) {
		value := c.Pack(data)
		if len(value.Data) > len(data) || int(value.Size) != len(data) {
			t.Errorf("packed %d bytes into %d, size %d", len(data), len(value.Data), value.Size)
		}
		got, err := c.Unpack(value)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("unpacked %q, %v; want %q", got, err, data)
		}
	})
}

// FuzzUnpack: what a damaged database holds gives an error, never a crash or
// endless memory.
func FuzzUnpack(f *testing.F) {
	c := newCodec(f)
	f.Add(c.Pack([]byte(strings.Repeat("abc", 100))).Data, codec.ZstdReports1, int32(300))
	f.Add([]byte{}, uint8(9), int32(-1))
	f.Fuzz(func(t *testing.T, data []byte, kind uint8, size int32) {
		got, err := c.Unpack(engine.Value{Data: data, Codec: kind, Size: size % (1 << 20)})
		if err != nil && !errors.Is(err, engine.ErrCorrupt) {
			t.Errorf("error %v isn't ErrCorrupt", err)
		}
		if err == nil && kind != codec.Raw && len(got) != int(size%(1<<20)) {
			t.Errorf("unpacked %d bytes, size says %d", len(got), size)
		}
	})
}

func TestUnpackDamaged(t *testing.T) {
	t.Parallel()
	c := newCodec(t)
	value := c.Pack([]byte(strings.Repeat("some report ", 100)))
	value.Data[len(value.Data)/2] ^= 0xff
	if _, err := c.Unpack(value); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("error %v, want ErrCorrupt: a flipped bit must not go unnoticed", err)
	}
}
