// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/api/report"
)

// lazy is a value that is made when it is first asked for.
type lazy struct {
	once  sync.Once
	value any
	err   error
	// made is set once value and err are there.
	made atomic.Bool
}

func (l *lazy) get(fill func() (any, error)) (any, error) {
	l.once.Do(func() {
		l.value, l.err = fill()
		l.made.Store(true)
	})
	return l.value, l.err
}

// View returns the report as the Go type of its kind. It belongs to the caller, what it
// points to doesn't.
func (o *Object[T, P]) View() (report.Accessor, error) {
	if o.Content == nil {
		return o.dress(new(T)), nil
	}
	decoded, err := o.Content.view.get(func() (any, error) { return decodeBody[T](o.Content.json) })
	if err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", P(nil).ReportKind().Kind, o.Namespace, o.Name, err)
	}
	return o.dress(decoded.(*T)), nil // What is decoded above.
}

// head returns the report as the Go type of its kind, with results that have only
// their source. A body that the type can't hold is empty.
func (o *Object[T, P]) head() P {
	if o.Content == nil {
		return o.dress(new(T))
	}
	part := &o.Content.head
	if whole := &o.Content.view; whole.made.Load() {
		part = whole // Somebody wanted all of it already.
	}
	decoded, err := part.get(func() (any, error) { return decodeBody[T](o.Content.json, json.WithUnmarshalers(sourcesOnly)) })
	if err != nil {
		return o.dress(new(T))
	}
	return o.dress(decoded.(*T)) // What is decoded above.
}

// dress returns a copy of decoded with the metadata of o.
func (o *Object[T, P]) dress(decoded *T) P {
	view := *decoded
	p := P(&view)
	if meta, ok := p.GetObjectMeta().(*metav1.ObjectMeta); ok {
		*meta = o.ObjectMeta
	}
	p.GetObjectKind().SetGroupVersionKind(p.ReportKind())
	return p
}

func decodeBody[T any](body []byte, options ...json.Options) (any, error) {
	into := new(T)
	return into, json.Unmarshal(body, into, options...)
}

// sourcesOnly leaves everything of results but their source unread.
var sourcesOnly = json.UnmarshalFromFunc(func(d *jsontext.Decoder, result *report.Result) error {
	var only struct {
		Source *string `json:"source"`
	}
	err := json.UnmarshalDecode(d, &only)
	result.Source = only.Source
	return err
})

// GetScope implements report.Accessor.
func (o *Object[T, P]) GetScope() *report.ObjectReference { return o.head().GetScope() }

// GetSource implements report.Accessor.
func (o *Object[T, P]) GetSource() string { return o.head().GetSource() }

// GetSummary implements report.Accessor.
func (o *Object[T, P]) GetSummary() *report.Summary { return o.head().GetSummary() }

// GetResults implements report.Accessor. A body that the Go type can't hold has none;
// View says why.
func (o *Object[T, P]) GetResults() []report.Result {
	view, err := o.View()
	if err != nil {
		return nil
	}
	return view.GetResults()
}

// GetContent implements report.Accessor.
func (o *Object[T, P]) GetContent() any { return o.Body() }
