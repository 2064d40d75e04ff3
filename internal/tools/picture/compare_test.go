// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"image"
	"image/color"
	"image/draw"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

var (
	paper  = color.RGBA{255, 255, 255, 255}
	ink    = color.RGBA{27, 33, 41, 255}
	ground = color.RGBA{246, 247, 249, 255}
)

// tolerance and side are about those of the pages of the console.
var tolerance = Tolerance{Level: 24, Colour: 1}

const side = 8

// page is one of 640 × 480 pixels with a card that has lines like those of letters, from a place on.
func page(from image.Point, edits ...func(*image.RGBA)) *image.RGBA {
	full := image.NewRGBA(image.Rect(0, 0, 640, 480))
	fill(full, full.Rect, ground)
	fill(full, image.Rect(20, 20, 620, 300), paper)
	for y := 40; y < 280; y += 20 {
		for x := 40; x < 360; x += 4 {
			fill(full, image.Rect(x, y, x+1, y+9).Add(from), ink)
		}
	}
	for _, edit := range edits {
		edit(full)
	}
	return Shrink(full, side)
}

func fill(full *image.RGBA, part image.Rectangle, c color.RGBA) {
	draw.Draw(full, part, image.NewUniform(c), image.Point{}, draw.Src)
}

// TestCompare: what people would notice is a difference, and what they would not is none.
func TestCompare(t *testing.T) {
	t.Parallel()
	filled := func(part image.Rectangle, c color.RGBA) func(*image.RGBA) {
		return func(full *image.RGBA) { fill(full, part, c) }
	}
	swapped := func(full *image.RGBA) {
		for i := 0; i < len(full.Pix); i += 4 {
			if slices.Equal(full.Pix[i:i+3], []uint8{paper.R, paper.G, paper.B}) {
				copy(full.Pix[i:], []uint8{252, 252, 252})
			}
		}
	}
	want := page(image.Point{})
	for name, test := range map[string]struct {
		got     *image.RGBA
		places  bool
		colours int
	}{
		"the same":               {page(image.Point{}), false, 0},
		"a pixel down":           {page(image.Pt(0, 1)), false, 0},
		"a pixel to the right":   {page(image.Pt(1, 0)), false, 0},
		"ten pixels down":        {page(image.Pt(0, 10)), true, 0},
		"a word is gone":         {page(image.Point{}, filled(image.Rect(40, 80, 80, 100), paper)), true, 0},
		"a column is gone":       {page(image.Point{}, filled(image.Rect(200, 20, 280, 300), paper)), true, 0},
		"something is new":       {page(image.Point{}, filled(image.Rect(500, 400, 540, 420), ink)), true, 0},
		"another shade of white": {page(image.Point{}, swapped), false, 1},
		"another ground":         {page(image.Point{}, filled(image.Rect(0, 300, 640, 480), ink)), true, 1},
	} {
		found, seen := Compare(test.got, want, tolerance)
		if (found.Places > 0) != test.places || len(found.New) != test.colours || len(found.Gone) != test.colours || found.Found() != (test.places || test.colours > 0) {
			t.Errorf("%s: %q, at most %d; want places: %v, and %d new and gone colours each", name, found.String(side), found.Most, test.places, test.colours)
		}
		red := covered(seen)[color.RGBA{255, 0, 0, 255}]
		if (red > 0) != test.places {
			t.Errorf("%s: %d places are red, want some: %v", name, red, test.places)
		}
	}
}

// TestDifference: the message says where, in pixels of the full picture.
func TestDifference(t *testing.T) {
	t.Parallel()
	changed := page(image.Point{}, func(full *image.RGBA) { fill(full, image.Rect(480, 300, 640, 480), ink) })
	found, _ := Compare(changed, page(image.Point{}), tolerance)
	const want = "460 places differ, by up to 219 of 255, all of them from (472, 288) to (640, 480); the colour #1b2129 is new"
	if got := found.String(side); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestShrink: pixels are means, also of the blocks at the edges.
func TestShrink(t *testing.T) {
	t.Parallel()
	full := image.NewRGBA(image.Rect(3, 5, 8, 8))
	fill(full, full.Rect, color.RGBA{100, 0, 255, 255})
	full.SetRGBA(3, 5, color.RGBA{0, 200, 255, 255})
	small := Shrink(full, 2)
	if small.Rect != image.Rect(0, 0, 3, 2) {
		t.Fatalf("the small picture is %v", small.Rect)
	}
	for at, want := range map[image.Point]color.RGBA{{}: {75, 50, 255, 255}, {2, 0}: {100, 0, 255, 255}, {2, 1}: {100, 0, 255, 255}} {
		if got := small.RGBAAt(at.X, at.Y); got != want {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
}

// TestFile: what was written is read, and a file that is no picture is an error that names it.
func TestFile(t *testing.T) {
	t.Parallel()
	path, want := filepath.Join(t.TempDir(), "page.png"), page(image.Point{})
	testkit.NoError(t, Write(path, want))
	got, err := Read(path)
	if err != nil || got.Rect != want.Rect || !slices.Equal(got.Pix, want.Pix) {
		t.Errorf("another picture was read, or none: %v", err)
	}
	testkit.NoError(t, os.WriteFile(path, nil, 0o600))
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("an empty file: %v", err)
	}
}
