// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
)

// Write writes a picture into a file that everybody may read, as a PNG that is as small as it gets.
func Write(path string, full image.Image) error {
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, full); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644) //nolint:gosec // Pictures are for everybody.
}

// Read reads a picture that Write wrote of a small one.
func Read(path string) (*image.RGBA, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	full, err := png.Decode(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return Shrink(full, 1), nil
}
