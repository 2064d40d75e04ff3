// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"reflect"
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
	value report.Accessor
	err   error
	// made is set once value and err are there.
	made atomic.Bool
}

func (l *lazy) get(fill func() (report.Accessor, error)) (report.Accessor, error) {
	l.once.Do(func() {
		l.value, l.err = fill()
		l.made.Store(true)
	})
	return l.value, l.err
}

// View returns the report as the Go type of its kind. It belongs to the caller, what it
// points to doesn't.
func (o *Object) View() (report.Accessor, error) {
	switch {
	case o.Of.NewView == nil:
		return nil, fmt.Errorf("%s is not a kind of report", o.Of.GroupVersionKind.Kind)
	case o.Content == nil:
		return o.dress(o.Of.NewView()), nil
	}
	decoded, err := o.Content.view.get(func() (report.Accessor, error) { return o.decodeBody() })
	if err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", o.Of.GroupVersionKind.Kind, o.Namespace, o.Name, err)
	}
	return o.dress(decoded), nil
}

// Source returns the engine that produced the report, as [report.Accessor] does. A body that the Go type can't hold
// has none.
func (o *Object) Source() string {
	if o.Content == nil {
		return ""
	}
	part := &o.Content.head
	if whole := &o.Content.view; whole.made.Load() {
		part = whole // Somebody wanted all of it already.
	}
	decoded, err := part.get(func() (report.Accessor, error) { return o.decodeBody(json.WithUnmarshalers(sourcesOnly)) })
	if err != nil {
		return ""
	}
	return decoded.GetSource()
}

// dress returns a copy of decoded with the metadata of o.
func (o *Object) dress(decoded report.Accessor) report.Accessor {
	view := o.Of.NewView()
	reflect.ValueOf(view).Elem().Set(reflect.ValueOf(decoded).Elem())
	if meta, ok := view.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta); ok {
		*meta = o.ObjectMeta
	}
	view.GetObjectKind().SetGroupVersionKind(o.Of.GroupVersionKind)
	return view
}

func (o *Object) decodeBody(options ...json.Options) (report.Accessor, error) {
	into := o.Of.NewView()
	return into, json.Unmarshal(o.Content.json, into, options...)
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
