// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// bytesPerValue and bytesPerItem say how many values, and items of one list, a body of
	// the largest size may have. Reports have 400 bytes a result and 25 a value; bodies with
	// far more of them take a multiple of the memory, and of the time to store them.
	bytesPerValue = 16
	bytesPerItem  = 400
	// yamlFactor is how many times fewer values YAML may have, whose decoder takes far longer.
	yamlFactor = 3
	// countedDepth is the depth down to which the items of lists are counted. Results are in the third level or,
	// in imports, in the fifth.
	countedDepth = 16
)

// limitedBody is the body of a request. Reading it fails when it has too many bytes,
// values or items, as soon as these were seen, or when it comes too slowly. It returns
// errors of the Kubernetes API.
type limitedBody struct {
	io.ReadCloser

	deadline *readDeadline
	// left is how many bytes may still come.
	left   int64
	counts valueCounts
	most   int64
	err    error
}

// newLimitedBody returns the body of a request that says to have size bytes and may have
// most.
func newLimitedBody(r *http.Request, size, most int64) *limitedBody {
	b := &limitedBody{
		ReadCloser: r.Body, deadline: readDeadlineOf(r.Context()), left: most, most: most,
		counts: valueCounts{maxValues: most / bytesPerValue, maxItems: most / bytesPerItem},
	}
	if isYAML(r) {
		b.counts.yaml, b.counts.maxValues = true, b.counts.maxValues/yamlFactor
	}
	b.deadline.set(time.Now().Add(bodyGrace + time.Duration(size)*time.Second/bodyRate))
	return b
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	switch problem := b.counts.add(p[:n]); {
	case b.left < 0:
		err = tooLarge(fmt.Sprintf("the body has more than the %d bytes that --max-request-bytes allows", b.most))
	case problem != "":
		err = tooLarge(problem)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = tooSlow()
	case errors.Is(err, io.EOF):
		// The connection goes on to serve other requests.
		b.deadline.set(time.Time{})
	}
	b.err = err
	if err != nil && !errors.Is(err, io.EOF) {
		// A decoder would take what it has, if that is complete.
		return 0, err
	}
	return n, err
}

// tooSlow is the answer to a body that does not arrive.
func tooSlow() *apierrors.StatusError {
	refusedBodies.WithLabelValues("too_slow").Inc()
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusRequestTimeout, Reason: metav1.StatusReasonTimeout,
		Message: fmt.Sprintf("the body did not arrive in time: %s, and a second for each MiB; send it faster, or in smaller parts", bodyGrace),
	}}
}

// valueCounts counts the values that a decoder will make of a body, before it does. It looks at the
// characters that separate values: in JSON only outside strings, in YAML everywhere, since a
// string need not be quoted there. The decoder reports anything that is neither.
type valueCounts struct {
	yaml                bool
	maxValues, maxItems int64

	values          int64
	inText, escaped bool
	last            byte
	depth           int
	// items of the list that is open at each depth; -1 for an object.
	items [countedDepth]int64
}

// add counts a part of the body. It returns what is wrong, "" for nothing.
func (c *valueCounts) add(part []byte) string {
	for _, b := range part {
		switch {
		case c.yaml:
			c.addYAML(b)
		case c.inText:
			c.text(b)
		default:
			if !c.addJSON(b) {
				return fmt.Sprintf("a list in the body has more than %d items", c.maxItems)
			}
		}
		if c.values > c.maxValues {
			return fmt.Sprintf("the body has more than %d values", c.maxValues)
		}
	}
	return ""
}

func (c *valueCounts) addYAML(b byte) {
	switch b {
	case '{', '[', ',', '\n':
		c.values++
	case ' ', '\t':
		if c.last == '-' || c.last == '?' {
			c.values++
		}
	}
	c.last = b
}

// addJSON counts a character outside strings. It returns false when a list is too long.
func (c *valueCounts) addJSON(b byte) bool {
	switch b {
	case '"':
		c.inText = true
	case '{':
		c.open(-1)
	case '[':
		c.open(0)
	case '}', ']':
		c.depth = max(c.depth-1, 0)
	case ',':
		c.values++
		if at := c.depth - 1; at >= 0 && at < countedDepth && c.items[at] >= 0 {
			c.items[at]++
			return c.items[at] < c.maxItems
		}
	}
	return true
}

// text goes on in a string.
func (c *valueCounts) text(b byte) {
	switch {
	case c.escaped:
		c.escaped = false
	case b == '\\':
		c.escaped = true
	case b == '"':
		c.inText = false
	}
}

// open begins a list or an object.
func (c *valueCounts) open(items int64) {
	c.values++
	if c.depth < countedDepth {
		c.items[c.depth] = items
	}
	c.depth++
}
