// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"image"
	"image/color"
)

// Shrink returns a picture whose pixels are the means of blocks of side × side pixels. The blocks at the right edge and
// at the bottom may be smaller.
func Shrink(full image.Image, side int) *image.RGBA {
	from := full.Bounds()
	small := image.NewRGBA(image.Rect(0, 0, (from.Dx()+side-1)/side, (from.Dy()+side-1)/side))
	for y := range small.Rect.Dy() {
		for x := range small.Rect.Dx() {
			corner := from.Min.Add(image.Pt(x*side, y*side))
			small.SetRGBA(x, y, mean(full, image.Rectangle{corner, corner.Add(image.Pt(side, side))}.Intersect(from)))
		}
	}
	return small
}

// mean is the colour of a part of a picture, which is taken as opaque.
func mean(full image.Image, part image.Rectangle) color.RGBA {
	var r, g, b uint32
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			pr, pg, pb, _ := full.At(x, y).RGBA()
			r, g, b = r+pr>>8, g+pg>>8, b+pb>>8
		}
	}
	pixels := uint32(part.Dx() * part.Dy())
	of := func(sum uint32) uint8 { return uint8((sum + pixels/2) / pixels) }
	return color.RGBA{of(r), of(g), of(b), 255}
}
