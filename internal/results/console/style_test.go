// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"io/fs"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// largest bounds the files that a browser loads, in bytes.
const largest = 128 << 10

// wantedContrast is that of WCAG 2.2 AA for text.
const wantedContrast = 4.5

var colour = regexp.MustCompile(`--([a-z0-9-]+): #([0-9a-f]{6});`)

// TestContrast computes the contrast between all texts and their backgrounds, light and dark.
func TestContrast(t *testing.T) {
	t.Parallel()
	style := testkit.Must(web.ReadFile("web/console.css"))(t)
	light, dark, found := strings.Cut(string(style), "@media (prefers-color-scheme: dark)")
	dark, _, ended := strings.Cut(dark, "* { box-sizing")
	if !found || !ended {
		t.Fatal("the style sheet has no colours for dark screens where the test looks for them")
	}
	for mode, text := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]float64{}
		for _, match := range colour.FindAllStringSubmatch(text, -1) {
			colours[match[1]] = luminance(t, match[2])
		}
		pairs := [][2]string{}
		for _, front := range []string{"text-fg", "muted-fg", "accent-fg"} {
			for _, back := range []string{"ground", "surface", "hover"} {
				pairs = append(pairs, [2]string{front, back})
			}
		}
		for _, name := range []string{"critical", "high", "medium", "low", "neutral", "pass"} {
			pairs = append(pairs, [2]string{name + "-fg", name + "-bg"})
		}
		for shade := '1'; shade <= '5'; shade++ {
			pairs = append(pairs, [2]string{"heat-fg", "heat-" + string(shade)})
		}
		for _, pair := range pairs {
			front, back := colours[pair[0]], colours[pair[1]]
			if front == 0 || back == 0 {
				t.Errorf("%s: there is no colour %s or %s", mode, pair[0], pair[1])
			}
			if ratio := (max(front, back) + 0.05) / (min(front, back) + 0.05); ratio < wantedContrast {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %v", mode, pair[0], pair[1], ratio, wantedContrast)
			}
		}
	}
}

// luminance is the relative one of WCAG.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		value := testkit.Must(strconv.ParseUint(hex[2*i:2*i+2], 16, 8))(t)
		part := float64(value) / 255
		if part <= 0.04045 {
			part /= 12.92
		} else {
			part = math.Pow((part+0.055)/1.055, 2.4)
		}
		sum += weight * part
	}
	return sum
}

// TestFiles: the pages are small, load nothing from elsewhere, and make markup of no text.
func TestFiles(t *testing.T) {
	t.Parallel()
	forbidden := regexp.MustCompile(`https?://|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|setAttribute\('on|style="`)
	size := 0
	testkit.NoError(t, fs.WalkDir(web, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := web.ReadFile(path)
		size += len(text)
		if match := forbidden.Find(text); match != nil {
			t.Errorf("%s has %s", path, match)
		}
		return err
	}))
	if size == 0 || size > largest {
		t.Errorf("the files have %d bytes, want at most %d", size, largest)
	}
}
