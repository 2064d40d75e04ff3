// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/codec"
	"github.com/docket-project/docket/internal/store/engine"
)

func newCodec(t testing.TB) *codec.Codec {
	t.Helper()
	return testkit.Must(codec.New())(t)
}

func FuzzPackUnpack(f *testing.F) {
	c := newCodec(f)
	f.Add([]byte(nil))
	f.Add([]byte("x"))
	f.Add([]byte(strings.Repeat(`{"result":"pass","policy":"p"},`, 100)))
	f.Add([]byte(strings.Repeat(`{"result":"pass","policy":"p"},`, 1000))) // Large.
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
		if err != nil && !errors.Is(err, engine.ErrCorrupt) && !errors.Is(err, engine.ErrSchema) {
			t.Errorf("error %v is neither ErrCorrupt nor ErrSchema", err)
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

// TestStoredValuesStayReadable: these bytes are in databases. What is packed again may differ, what is read may not.
func TestStoredValuesStayReadable(t *testing.T) {
	t.Parallel()
	c := newCodec(t)
	const text = `{"kind":"PolicyReport","apiVersion":"wgpolicyk8s.io/v1alpha2","metadata":{"name":"a"},"results":[{"policy":"p","result":"pass"}]}`
	const packed = "28b52ffd0700714e0c0d15010060612273223a5b7b70227d5d7d06007543000fc185b435f71568ed9681e239b5030475892b73"
	data, err := hex.DecodeString(packed)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Unpack(engine.Value{Codec: 1, Data: data, Size: int32(len(text))})
	if err != nil || string(got) != text {
		t.Errorf("codec 1: %q, %v (packed now: %x)", got, err, c.Pack([]byte(text)).Data)
	}
	if got, err = c.Unpack(engine.Value{Codec: 0, Data: []byte(text), Size: int32(len(text))}); err != nil || string(got) != text {
		t.Errorf("codec 0: %q, %v", got, err)
	}
}

// TestDictionaryStaysTheSame: what was packed with it can be read with nothing else. A better one gets a number of its
// own.
func TestDictionaryStaysTheSame(t *testing.T) {
	t.Parallel()
	content := testkit.Must(os.ReadFile("reports1.txt"))(t)
	const want = "3b4a41b1f83d6c38b2d67795557e86bc75ac101fc47956b0c29787d9a7896027"
	if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != want {
		t.Errorf("reports1.txt has the SHA-256 %s, want %s", got, want)
	}
}
