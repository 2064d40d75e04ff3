// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/reports/schema"
)

// Encoded is a report as the JSON in which it is served, for answers that need only that. Its fields can't be read.
type Encoded struct {
	metav1.TypeMeta

	json []byte
}

// NewEncoded returns one without JSON.
func NewEncoded(kind gvk.GroupVersionKind) *Encoded {
	e := &Encoded{}
	e.SetGroupVersionKind(kind)
	return e
}

// SetJSON sets the report, which must not be changed from then on.
func (e *Encoded) SetJSON(data []byte) { e.json = data }

// MarshalJSON implements json.Marshaler.
func (e *Encoded) MarshalJSON() ([]byte, error) { return e.json, nil }

// DeepCopyObject implements runtime.Object. The JSON is shared.
func (e *Encoded) DeepCopyObject() runtime.Object {
	copied := *e
	return &copied
}

func (e *Encoded) write(w io.Writer) error {
	_, err := w.Write(append(e.json, '\n'))
	return err
}

// EncodedList is a list of reports as the JSON in which they are served. Only its first page need be in memory.
type EncodedList struct {
	metav1.TypeMeta
	metav1.ListMeta

	// empty returns the list with its metadata and without items, which come last.
	empty func(metav1.ListMeta) ([]byte, error)
	items [][]byte
	rest  iter.Seq2[[][]byte, error]
}

// NewEncodedList returns an empty list. kind is the list's own kind.
func NewEncodedList(kind gvk.GroupVersionKind) *EncodedList {
	l := &EncodedList{}
	l.SetGroupVersionKind(kind)
	l.empty = func(meta metav1.ListMeta) ([]byte, error) { return marshalEmptyList(l.TypeMeta, meta) }
	return l
}

// Form is what a list of reports can be served as.
type Form interface {
	// Empty returns the list without items, which come last in it, as JSON.
	Empty(meta metav1.ListMeta) ([]byte, error)
	// Item returns the JSON that stands for a report. It shares nothing with that, which is given as it is served.
	Item(report []byte) ([]byte, error)
}

// ShapedList is an EncodedList with something else in place of reports.
type ShapedList struct {
	*EncodedList

	form Form
}

// NewShapedList returns an empty list of reports whose list kind is given.
func NewShapedList(kind gvk.GroupVersionKind, form Form) *ShapedList {
	l := NewEncodedList(kind)
	l.empty = form.Empty
	return &ShapedList{l, form}
}

// Shape returns what the list has in place of a report. It may be called from several goroutines.
func (l *ShapedList) Shape(report []byte) ([]byte, error) { return l.form.Item(report) }

// SetItems sets the reports: the first ones, and what yields the following ones page by page each time that it is
// called, nil for none. Pages are not used after the next one was asked for.
func (l *EncodedList) SetItems(first [][]byte, rest iter.Seq2[[][]byte, error]) {
	l.items, l.rest = first, rest
}

// DeepCopyObject implements runtime.Object. The reports are shared.
func (l *EncodedList) DeepCopyObject() runtime.Object {
	copied := *l
	copied.ListMeta = *l.ListMeta.DeepCopy()
	return &copied
}

// MarshalJSON implements json.Marshaler. All reports are in memory then.
func (l *EncodedList) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	err := l.encode(&out)
	return out.Bytes(), err
}

// write writes the list as JSON, page by page. If the database fails when a part was written, the connection, or the
// stream of HTTP/2, is cut off: the library would write a Status into the list and end the answer well.
func (l *EncodedList) write(w io.Writer) error {
	counted := &countingWriter{Writer: w}
	err := l.encode(counted)
	if err == nil || counted.n == 0 {
		return err
	}
	if counted.err == nil && !errors.Is(err, context.Canceled) {
		klog.ErrorS(err, "A list was cut off in the middle", "kind", l.Kind, "bytes", counted.n)
	}
	panic(http.ErrAbortHandler)
}

func (l *EncodedList) encode(w io.Writer) error {
	empty, err := l.empty(l.ListMeta)
	if err != nil {
		return err
	}
	out := newListWriter(w, empty, l.size(empty))
	for _, item := range l.items {
		out.item(item)
	}
	if l.rest != nil {
		for page, err := range l.rest {
			if err != nil {
				return err
			}
			for _, item := range page {
				out.item(item)
			}
			if out.err != nil {
				return out.err // Nobody reads on.
			}
		}
	}
	return out.end()
}

// size returns how many bytes the list takes, at most listBuffer.
func (l *EncodedList) size(empty []byte) int {
	if l.rest != nil {
		return listBuffer
	}
	size := len(empty) + len("[]\n")
	for i := 0; i < len(l.items) && size < listBuffer; i++ {
		size += len(l.items[i]) + len(",")
	}
	return min(size, listBuffer)
}

// countingWriter knows what was written, and whether the reader has gone.
type countingWriter struct {
	io.Writer

	n   int64
	err error
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	if err != nil {
		c.err = err
	}
	return n, err
}

// encodedKey marks contexts.
type encodedKey struct{}

// WithEncoded says that the caller wants reports as JSON and reads nothing in them.
func WithEncoded(ctx context.Context) context.Context {
	return context.WithValue(ctx, encodedKey{}, true)
}

// WantsEncoded says whether WithEncoded made the context.
func WantsEncoded(ctx context.Context) bool { return ctx.Value(encodedKey{}) != nil }

// AddVersion returns an object as it is served from what was stored: they differ in the resourceVersion. The memory of
// stored is used if there is room. It returns false, with stored as it was, for what has another form than the codec
// writes, or was stored under another definition of the kind: that has to be decoded.
func (c plainCodec) AddVersion(stored []byte, version uint64) ([]byte, bool) {
	place, ok := placeOfVersion(stored)
	if !ok || !c.of.Proven && !c.of.isServed(stored) {
		return nil, false
	}
	var room [48]byte
	member := append(room[:0], `"resourceVersion":"`...)
	member = append(strconv.AppendUint(member, version, 10), `",`...)
	return slices.Insert(stored, place, member...), true
}

// placeOfVersion returns where the resourceVersion belongs: before the first member of the metadata that follows it
// in Go's type. There is one in whatever a server stored, the time of creation at least.
func placeOfVersion(stored []byte) (place int, ok bool) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(stored))
	for _, want := range []string{`{`, `"apiVersion"`, "", `"kind"`, "", `"metadata"`, `{`} {
		if want == "{" {
			if token, err := decoder.ReadToken(); err != nil || token.Kind() != '{' {
				return 0, false
			}
			continue
		}
		value, err := decoder.ReadValue()
		if err != nil || want != "" && string(value) != want {
			return 0, false
		}
	}
	for {
		name, err := decoder.ReadValue()
		if err != nil {
			return 0, false
		}
		switch string(name) {
		case `"name"`, `"generateName"`, `"namespace"`, `"selfLink"`, `"uid"`:
			if err := decoder.SkipValue(); err != nil {
				return 0, false
			}
		case `"generation"`, `"creationTimestamp"`:
			return int(decoder.InputOffset()) - len(name), true
		default:
			return 0, false
		}
	}
}

// isServed says whether the body of a stored object is just what is served of it.
func (k *Kind) isServed(stored []byte) bool {
	_, members, ok := schema.SplitHead(stored)
	if !ok {
		return false
	}
	body := bytes.TrimPrefix(members, []byte(","))
	return k.Schema.Stored(append([]byte("{"), body...))
}
