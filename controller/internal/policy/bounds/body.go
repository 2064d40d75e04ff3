// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// tokenBytes is what decoding takes for each colon and each comma of JSON beside the text: headers of values, and their
// places in maps and lists. Values without a type take most: a string in a map 96 bytes.
const tokenBytes = 48

// Scanner estimates what JSON takes once it is decoded, without decoding it. The zero Scanner is at its beginning.
type Scanner struct{ inText, escaped bool }

// Cost returns the estimate for the next bytes.
func (s *Scanner) Cost(data []byte) int64 {
	tokens := 0
	for _, c := range data {
		switch {
		case s.escaped:
			s.escaped = false
		case s.inText:
			s.escaped, s.inText = c == '\\', c != '"'
		case c == '"':
			s.inText = true
		case c == ':' || c == ',':
			tokens++
		}
	}
	return int64(len(data)) + tokenBytes*int64(tokens)
}

// chunkBytes is how much is read at a time. What is read stays in such pieces: a buffer that grows would leave several
// times its size behind.
const chunkBytes = 128 << 10

// Answer is a body that was read. Its consumer reads it once more, which frees it.
type Answer struct {
	chunks [][]byte
	// Len is how many bytes it has.
	Len int64
}

// Read reads a body to its end, and counts what it takes for the evaluation of the context. For a body of more than
// limit bytes it returns an [*Error] that says what it is.
func Read(ctx context.Context, body io.Reader, limit int64, what string) (*Answer, error) {
	out, scanner := &Answer{}, Scanner{}
	for {
		chunk := make([]byte, min(chunkBytes, limit+1-out.Len))
		n, err := fill(body, chunk)
		if out.Len += int64(n); out.Len > limit {
			return nil, TooLong(what, limit)
		}
		if err := Take(ctx, scanner.Cost(chunk[:n])); err != nil {
			return nil, err
		}
		if n > 0 {
			out.chunks = append(out.chunks, chunk[:n])
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// fill is io.ReadFull, except that it returns io.EOF for an early end, and so keeps io.ErrUnexpectedEOF for a body that
// is shorter than announced.
func fill(body io.Reader, chunk []byte) (int, error) {
	n := 0
	for n < len(chunk) {
		m, err := body.Read(chunk[n:])
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// Read implements io.Reader.
func (a *Answer) Read(into []byte) (int, error) {
	if len(a.chunks) == 0 {
		return 0, io.EOF
	}
	n := copy(into, a.chunks[0])
	if a.chunks[0] = a.chunks[0][n:]; len(a.chunks[0]) == 0 {
		a.chunks[0] = nil
		a.chunks = a.chunks[1:]
	}
	return n, nil
}

// Close implements io.Closer.
func (a *Answer) Close() error {
	a.chunks = nil
	return nil
}

// Bytes returns the unread rest in one piece.
func (a *Answer) Bytes() []byte { return slices.Concat(a.chunks...) }

// TooLong is the error for an answer of more bytes than its kind may have.
func TooLong(what string, limit int64) error {
	return &Error{fmt.Sprintf("%s has more than %d MiB: ask for less", what, limit>>20)}
}
