// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"cmp"
	"image"
	"image/color"
	"maps"
	"slices"
)

// colours is the number of colours in a picture: as many as a byte for each pixel can distinguish.
const colours = 256

// Indexed returns a picture with its most frequent colours, whose PNG has a third of the size: pages have few colours,
// except at the edges of letters.
func Indexed(full image.Image) *image.Paletted {
	bounds := full.Bounds()
	numbers := map[color.RGBA]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			numbers[rounded(full.At(x, y))]++
		}
	}
	// The same picture gets the same colours each time, hence an order also among those that it has as often.
	most := slices.SortedFunc(maps.Keys(numbers), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(numbers[b], numbers[a]), slices.Compare([]uint8{a.R, a.G, a.B}, []uint8{b.R, b.G, b.B}))
	})
	palette := make(color.Palette, min(colours, len(most)))
	for i := range palette {
		palette[i] = most[i]
	}
	small := image.NewPaletted(bounds, palette)
	nearest := map[color.RGBA]uint8{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			at := rounded(full.At(x, y))
			index, known := nearest[at]
			if !known {
				index = uint8(small.Palette.Index(at))
				nearest[at] = index
			}
			small.SetColorIndex(x, y, index)
		}
	}
	return small
}

// rounded is a colour to the nearest of 64 values of each part, or nearly all edges of letters would have colours of
// their own.
func rounded(c color.Color) color.RGBA {
	r, g, b, _ := c.RGBA()
	part := func(v uint32) uint8 { return uint8(min(255, (v>>8+2)&^3)) }
	return color.RGBA{part(r), part(g), part(b), 255}
}
