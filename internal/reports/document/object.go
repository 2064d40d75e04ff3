// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/docket-project/docket/internal/reports/schema"
)

// Object is an object of the kind Of, which is never nil. It may have no body.
type Object struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	// Content is shared by copies; nil stands for an empty body.
	Content *Content `json:"-"`
	// Of is the kind. It is shared by all objects of the kind.
	Of *Kind `json:"-"`
}

// Content is everything of an object but its type and metadata. It never changes.
type Content struct {
	// json is in the canonical form of schema.Parts.
	json []byte
	// valid says that json was found to meet the schema.
	valid bool
	// tree is what json was made from, where it may be invalid: errors quote it. It has
	// the type that the request stated, too. nil otherwise.
	tree map[string]any
	// view is the body as a Go type of the kind, made when somebody asks.
	view lazy
	// head is the same without results.
	head lazy
}

// Equal says whether two contents are the same JSON. nil is an empty one.
func (c *Content) Equal(other *Content) bool {
	return bytes.Equal((&Object{Content: c}).Body(), (&Object{Content: other}).Body())
}

// The machinery of API servers compares objects field by field, to find out whether an
// update changes anything. It must not look into what is lazily made.
//
//nolint:gochecknoinits // The table of equalities may only be changed before it is read.
func init() {
	err := equality.Semantic.AddFuncs(
		func(a, b *Content) bool { return a.Equal(b) },
		func(a, b *Kind) bool { return a == b },
	)
	if err != nil {
		panic(err) // A function is not of the form that the table wants: a mistake above.
	}
}

var emptyJSON = []byte("{}")

// Body returns the object without type and metadata, as JSON in the canonical form of
// [schema.Parts]: bodies are equal if their bytes are. The caller must not change it.
func (o *Object) Body() []byte {
	if o.Content == nil {
		return emptyJSON
	}
	return o.Content.json
}

func (o *Object) copied() Object {
	return Object{TypeMeta: o.TypeMeta, ObjectMeta: *o.DeepCopy(), Content: o.Content, Of: o.Of}
}

// content returns the object as a tree of Go values that the caller may change.
func (o *Object) content() (map[string]any, error) {
	var content map[string]any
	if o.Content != nil && o.Content.tree != nil {
		content = runtime.DeepCopyJSON(o.Content.tree)
	} else {
		var err error
		if content, err = schema.Parse(o.Body()); err != nil {
			return nil, err
		}
		if o.Kind != "" {
			content["apiVersion"], content["kind"] = o.APIVersion, o.Kind
		}
	}
	meta, err := metadataTree(&o.ObjectMeta)
	if err != nil {
		return nil, err
	}
	content["metadata"] = meta
	return content, nil
}

// ToUnstructured returns the object as a tree of Go values, as managed fields and
// expressions of admission policies read it.
func (o Object) ToUnstructured() any {
	content, err := o.content()
	if err != nil {
		// A body is JSON by construction.
		return map[string]any{}
	}
	return content
}

// New returns an empty object of a kind, which it states.
func New(kind *Kind) *Object {
	o := &Object{Of: kind}
	o.state()
	return o
}

// state sets the type that the object states to its kind.
func (o *Object) state() { o.SetGroupVersionKind(o.Of.GroupVersionKind) }

// stated returns the object, with the type that it states if it states none: the
// machinery of API servers takes it away from what it takes for an internal version.
func (o *Object) stated() *Object {
	if o.Kind != "" {
		return o
	}
	copied := *o
	copied.state()
	return &copied
}

// DeepCopyObject implements runtime.Object. The body is shared.
func (o *Object) DeepCopyObject() runtime.Object {
	copied := o.copied()
	return &copied
}

// Validate says what is wrong with the object's type and body. With a stored object as
// old, what is wrong there already and stays is passed over.
func (o *Object) Validate(ctx context.Context, old *Object) field.ErrorList {
	if o.Content != nil && o.Content.valid {
		return nil
	}
	return o.judge(old, func(content, before map[string]any) field.ErrorList {
		return o.Of.Schema.Validate(ctx, content, before)
	})
}

// ValidateStatus says what is wrong with the status.
func (o *Object) ValidateStatus(ctx context.Context, old *Object) field.ErrorList {
	return o.judge(old, func(content, before map[string]any) field.ErrorList {
		return o.Of.Schema.ValidateStatus(ctx, content, before)
	})
}

func (o *Object) judge(old *Object, judge func(content, before map[string]any) field.ErrorList) field.ErrorList {
	content, err := o.stated().content()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	var before map[string]any
	if old != nil {
		if before, err = old.stated().content(); err != nil {
			return field.ErrorList{field.InternalError(nil, err)}
		}
	}
	return judge(content, before)
}

// Accept says that the object was found to be valid: its source is no longer needed.
func (o *Object) Accept() {
	if o.Content != nil && !o.Content.valid {
		o.Content = &Content{json: o.Content.json, valid: true}
	}
}
