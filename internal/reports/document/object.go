// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/internal/reports/schema"
)

// View is the Go type of one kind in api/, by which a report can be read.
type View[T any] interface {
	*T
	report.Accessor
	metav1.ObjectMetaAccessor
	// ReportKind is the kind that the type stands for.
	ReportKind() gvk.GroupVersionKind
}

// Object is a report of the kind that T stands for. The zero value is a report without
// a body; its kind is known all the same.
type Object[T any, P View[T]] struct {
	Document
}

// Document is what reports of all kinds have in common.
type Document struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	// Content is shared by copies; nil stands for an empty body.
	Content *Content `json:"-"`
}

// Content is everything of a report but its type and metadata. It never changes.
type Content struct {
	// json is in the canonical form of schema.Parts.
	json []byte
	// valid says that json was found to meet the schema.
	valid bool
	// tree is what json was made from, where it may be invalid: errors quote it. It has
	// the type that the request stated, too. nil otherwise.
	tree map[string]any
	// view is a *T with the body decoded, made when somebody asks.
	view lazy
	// head is the same without results.
	head lazy
}

// Equal says whether two contents are the same JSON. nil is an empty one.
func (c *Content) Equal(other *Content) bool {
	return bytes.Equal((&Document{Content: c}).Body(), (&Document{Content: other}).Body())
}

// The machinery of API servers compares objects field by field, to find out whether an
// update changes anything. It must not look into what is lazily made.
//
//nolint:gochecknoinits // The table of equalities may only be changed before it is read.
func init() {
	if err := equality.Semantic.AddFunc(func(a, b *Content) bool { return a.Equal(b) }); err != nil {
		panic(err) // The function is not of the form that the table wants: a mistake above.
	}
}

var emptyJSON = []byte("{}")

// Body returns the report without type and metadata, as JSON in the canonical form of
// [schema.Parts]: bodies are equal if their bytes are. The caller must not change it.
func (d *Document) Body() []byte {
	if d.Content == nil {
		return emptyJSON
	}
	return d.Content.json
}

func (d *Document) copied() Document {
	return Document{TypeMeta: d.TypeMeta, ObjectMeta: *d.DeepCopy(), Content: d.Content}
}

// content returns the report as a tree of Go values that the caller may change.
func (d *Document) content() (map[string]any, error) {
	var content map[string]any
	if d.Content != nil && d.Content.tree != nil {
		content = runtime.DeepCopyJSON(d.Content.tree)
	} else {
		var err error
		if content, err = schema.Parse(d.Body()); err != nil {
			return nil, err
		}
		if d.Kind != "" {
			content["apiVersion"], content["kind"] = d.APIVersion, d.Kind
		}
	}
	meta, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&d.ObjectMeta)
	if err != nil {
		return nil, err
	}
	content["metadata"] = meta
	return content, nil
}

// ToUnstructured returns the report as a tree of Go values, as managed fields and
// expressions of admission policies read it.
func (o Object[T, P]) ToUnstructured() any {
	content, err := o.content()
	if err != nil {
		// A body is JSON by construction.
		return map[string]any{}
	}
	return content
}

// New returns an empty report that states its kind.
func New[T any, P View[T]]() *Object[T, P] {
	o := &Object[T, P]{}
	o.state()
	return o
}

// state sets the type that the report states to its kind.
func (o *Object[T, P]) state() {
	o.SetGroupVersionKind(P(nil).ReportKind())
}

// stated returns the report, with the type that it states if it states none: the
// machinery of API servers takes it away from what it takes for an internal version.
func (o *Object[T, P]) stated() *Object[T, P] {
	if o.Kind != "" {
		return o
	}
	copied := *o
	copied.state()
	return &copied
}

// DeepCopyObject implements runtime.Object. The body is shared.
func (o *Object[T, P]) DeepCopyObject() runtime.Object {
	return &Object[T, P]{o.copied()}
}

// OpenAPIModelName is the name of the kind in OpenAPI documents.
func (o Object[T, P]) OpenAPIModelName() string {
	return modelName(P(nil).ReportKind())
}

// Validate says what is wrong with the report's type and body. With a stored report as
// old, what is wrong there already and stays is passed over.
func (o *Object[T, P]) Validate(old runtime.Object) field.ErrorList {
	kind := P(nil).ReportKind()
	if o.Content != nil && o.Content.valid {
		return nil
	}
	s, err := schema.Of(kind)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	content, err := o.stated().content()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	if errs := validateType(kind, content); len(errs) > 0 {
		return errs
	}
	var before map[string]any
	if stored, ok := old.(*Object[T, P]); ok {
		if before, err = stored.stated().content(); err != nil {
			return field.ErrorList{field.InternalError(nil, err)}
		}
	}
	return s.Validate(context.TODO(), content, before)
}

// Accept says that the report was found to be valid: its source is no longer needed.
func (d *Document) Accept() {
	if d.Content != nil && !d.Content.valid {
		d.Content = &Content{json: d.Content.json, valid: true}
	}
}

// validateType compares the type that a request states with that of the resource.
func validateType(kind gvk.GroupVersionKind, content map[string]any) field.ErrorList {
	version, name := kind.ToAPIVersionAndKind()
	var errs field.ErrorList
	if content["kind"] != name {
		errs = append(errs, field.Invalid(field.NewPath("kind"), content["kind"], "must be "+name))
	}
	if content["apiVersion"] != version {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), content["apiVersion"], "must be "+version))
	}
	return errs
}
