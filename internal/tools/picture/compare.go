// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"slices"
	"strings"
)

// Tolerance is what people don't notice between two small pictures of the same page.
type Tolerance struct {
	// Level is by how much of 255 a place may be brighter or darker, in each of red, green and blue.
	Level int
	// Colour is the same for colours that cover a part of a picture: a place that is empty has none that varies.
	Colour int
}

// window is the side of the places that are compared, in pixels of small pictures. They overlap: a text that is
// elsewhere by one pixel of the full picture is a small difference of all places then, wherever it is.
const window = 2

// Difference is what Compare finds.
type Difference struct {
	// Places is how many differ, and Where the part of the picture that has them.
	Places int
	Where  image.Rectangle
	// Most is the largest difference of a place, of 255.
	Most int
	// New are the colours that cover a part of the picture and not of the one that is wanted, and Gone those with
	// which it is the other way round.
	New, Gone []color.RGBA
}

// Found reports whether there is any.
func (d *Difference) Found() bool { return d.Places > 0 || len(d.New)+len(d.Gone) > 0 }

// String says what differs, for pictures whose pixels are blocks of the full one with the given side.
func (d *Difference) String(side int) string {
	var parts []string
	if d.Places > 0 {
		parts = append(parts, fmt.Sprintf("%d places differ, by up to %d of 255, all of them from (%d, %d) to (%d, %d)",
			d.Places, d.Most, d.Where.Min.X*side, d.Where.Min.Y*side, d.Where.Max.X*side, d.Where.Max.Y*side))
	}
	for _, colours := range []struct {
		is string
		of []color.RGBA
	}{{"new", d.New}, {"gone", d.Gone}} {
		for _, c := range colours.of {
			parts = append(parts, fmt.Sprintf("the colour #%02x%02x%02x is %s", c.R, c.G, c.B, colours.is))
		}
	}
	return strings.Join(parts, "; ")
}

// Compare compares two small pictures, as Shrink makes them, which have the same size. The picture that it returns is
// got with the places that differ in red.
func Compare(got, want *image.RGBA, tolerance Tolerance) (Difference, *image.RGBA) {
	found := Difference{New: foreign(got, want, tolerance.Colour), Gone: foreign(want, got, tolerance.Colour)}
	seen := image.NewRGBA(got.Rect)
	draw.Draw(seen, seen.Rect, got, image.Point{}, draw.Src)
	a, b := blurred(got), blurred(want)
	for y := range a.Rect.Dy() {
		for x := range a.Rect.Dx() {
			by := apart(a.RGBAAt(x, y), b.RGBAAt(x, y))
			found.Most = max(found.Most, by)
			if by <= tolerance.Level {
				continue
			}
			found.Places++
			place := image.Rect(x, y, x+window, y+window)
			found.Where = found.Where.Union(place)
			draw.Draw(seen, place, image.NewUniform(color.RGBA{255, 0, 0, 255}), image.Point{}, draw.Src)
		}
	}
	return found, seen
}

// blurred has the means of all windows.
func blurred(small *image.RGBA) *image.RGBA {
	means := image.NewRGBA(image.Rect(0, 0, small.Rect.Dx()-window+1, small.Rect.Dy()-window+1))
	for y := range means.Rect.Dy() {
		for x := range means.Rect.Dx() {
			means.SetRGBA(x, y, mean(small, image.Rect(x, y, x+window, y+window)))
		}
	}
	return means
}

// apart is how far two colours are from each other, in the part of red, green and blue in which they are farthest.
func apart(a, b color.RGBA) int {
	by := func(a, b uint8) int { return int(max(a, b)) - int(min(a, b)) }
	return max(by(a.R, b.R), by(a.G, b.G), by(a.B, b.B))
}

// covering is the share of a picture, one of so many, from which on a colour is one that people would miss.
const covering = 50

// foreign returns the colours that cover a part of one picture and of which the other has less than a quarter.
func foreign(one, other *image.RGBA, tolerance int) []color.RGBA {
	mine, others := covered(one), covered(other)
	var colours []color.RGBA
	for c, number := range mine {
		if number < one.Rect.Dx()*one.Rect.Dy()/covering {
			continue
		}
		near := 0
		for o, n := range others {
			if apart(c, o) <= tolerance {
				near += n
			}
		}
		if near < number/4 {
			colours = append(colours, c)
		}
	}
	slices.SortFunc(colours, func(a, b color.RGBA) int { return cmp.Compare(mine[b], mine[a]) })
	return colours
}

// covered counts, for each colour, the places that have only that colour.
func covered(small *image.RGBA) map[color.RGBA]int {
	numbers := map[color.RGBA]int{}
	for y := range small.Rect.Dy() - 1 {
		for x := range small.Rect.Dx() - 1 {
			c := small.RGBAAt(x, y)
			if c == small.RGBAAt(x+1, y) && c == small.RGBAAt(x, y+1) && c == small.RGBAAt(x+1, y+1) {
				numbers[c]++
			}
		}
	}
	return numbers
}
