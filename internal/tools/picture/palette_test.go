// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"image"
	"image/color"
	"slices"
	"testing"
)

// TestIndexed: colours that a picture has most stay what they are, the others get near ones, and there are few.
func TestIndexed(t *testing.T) {
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
	after := Indexed(full)
	if !slices.Equal(after.Palette, Indexed(full).Palette) {
		t.Error("the same picture has other colours the second time")
	}
	if len(after.Palette) > colours || after.Bounds() != full.Bounds() {
		t.Fatalf("%d colours in %v", len(after.Palette), after.Bounds())
	}
	if got := after.At(5, size-1); got != full.At(5, size-1) {
		t.Errorf("the colour that is there most became %v, want %v", got, full.At(5, size-1))
	}
}
