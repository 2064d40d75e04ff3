// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"
)

// TestReduce: colours that a picture has most stay what they are, the others get near ones, and there are few.
func TestReduce(t *testing.T) {
	t.Parallel()
	const size = 64
	full := image.NewRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			c := color.RGBA{252, 128, 0, 255}
			if y < size/2 { // 2048 colours, once each
				c = color.RGBA{uint8(4 * x), uint8(8 * y), 128, 255}
			}
			full.Set(x, y, c)
		}
	}
	var before bytes.Buffer
	if err := png.Encode(&before, full); err != nil {
		t.Fatal(err)
	}
	small, err := reduce(&before)
	if err != nil {
		t.Fatal(err)
	}
	after, err := png.Decode(bytes.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	paletted, ok := after.(*image.Paletted)
	if !ok || len(paletted.Palette) > colours || after.Bounds() != full.Bounds() {
		t.Fatalf("a %T of %v", after, after.Bounds())
	}
	if got := after.At(5, size-1); got != full.At(5, size-1) {
		t.Errorf("the colour that is there most became %v, want %v", got, full.At(5, size-1))
	}
	if _, err := reduce(bytes.NewReader(nil)); err == nil {
		t.Error("nothing is a picture")
	}
}
