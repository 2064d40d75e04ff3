// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/docket-project/docket/internal/reports/schema"
)

// Bounds of an object. Its cost is that of Kubernetes for the rules of a CustomResourceDefinition, about a second.
const (
	maxResults = 100_000
	maxBytes   = 64 << 20
	maxCost    = celconfig.RuntimeCELCostBudget
)

// reader evaluates the expressions of a mapping for one object. It is what they have as variables.
type reader struct {
	object map[string]any
	item   any
	// cost and bytes are what was used so far.
	cost  uint64
	bytes int
}

// newReader returns a reader of an object. Of the metadata it has what rows are derived again for when it changes.
func newReader(object Object) (*reader, error) {
	tree, err := schema.Parse(object.Body())
	if err != nil {
		return nil, fmt.Errorf("read the object: %w", err)
	}
	kind := object.GetObjectKind().GroupVersionKind()
	tree["apiVersion"], tree["kind"] = kind.GroupVersion().String(), kind.Kind
	owners := make([]any, len(object.GetOwnerReferences()))
	for i, owner := range object.GetOwnerReferences() {
		owners[i] = map[string]any{"apiVersion": owner.APIVersion, "kind": owner.Kind, "name": owner.Name, "uid": string(owner.UID)}
	}
	tree["metadata"] = map[string]any{
		"name": object.GetName(), "namespace": object.GetNamespace(), "uid": string(object.GetUID()),
		"creationTimestamp": written(object.GetCreationTimestamp()),
		"labels":            anyMap(object.GetLabels()), "annotations": anyMap(object.GetAnnotations()), "ownerReferences": owners,
	}
	return &reader{object: tree}, nil
}

func written(t metav1.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func anyMap(texts map[string]string) map[string]any {
	m := make(map[string]any, len(texts))
	for key, text := range texts {
		m[key] = text
	}
	return m
}

// ResolveName implements cel.Activation.
func (r *reader) ResolveName(name string) (any, bool) {
	switch name {
	case objectVariable:
		return r.object, true
	case itemVariable:
		return r.item, true
	}
	return nil, false
}

// Parent implements cel.Activation.
func (r *reader) Parent() cel.Activation { return nil }

// value returns the value of one text. A path that leads nowhere has none.
func (r *reader) value(a *alternative) (any, error) {
	if a.path != nil {
		if found, err := r.follow(a.path); !errors.Is(err, errForeign) {
			return found, nil
		}
	}
	value, details, err := a.program.Eval(r)
	r.cost += a.cost
	if details != nil && details.ActualCost() != nil {
		r.cost += *details.ActualCost()
	}
	switch {
	case err != nil:
		return nil, err
	case r.cost > maxCost:
		return nil, fmt.Errorf("the expressions cost more than an object may; make them simpler, or the list of items shorter")
	}
	return value, nil
}

// errForeign says that a value was made by an expression, so that its parts are for programs to find.
var errForeign = errors.New("not JSON")

// follow returns what a path leads to, nil if that is nowhere.
func (r *reader) follow(path []string) (any, error) {
	at, _ := r.ResolveName(path[0])
	for _, name := range path[1:] {
		switch m := at.(type) {
		case map[string]any:
			at = m[name]
		case nil:
			return nil, nil
		default:
			return nil, errForeign
		}
	}
	return at, nil
}

// text returns the value of an expression as a text, "" for none.
func (r *reader) text(e expression) (string, error) {
	for _, a := range e {
		if a.constant != nil {
			return *a.constant, nil
		}
		value, err := r.value(a)
		if err != nil {
			return "", err
		}
		if text, err := textOf(value); err != nil || text != "" {
			return text, err
		}
	}
	return "", nil
}

// list returns the items that an expression gives.
func (r *reader) list(e expression) ([]any, error) {
	for _, a := range e {
		value, err := r.value(a)
		if err != nil {
			return nil, err
		}
		if items, err := itemsOf(value); err != nil || len(items) > 0 {
			return items, err
		}
	}
	return nil, nil
}

func itemsOf(value any) ([]any, error) {
	if v, ok := value.(ref.Val); ok {
		value = unwrapped(v)
	}
	switch items := value.(type) {
	case nil:
		return nil, nil
	case []any:
		return items, bounded(len(items))
	case traits.Lister:
		size, _ := items.Size().(types.Int)
		if err := bounded(int(size)); err != nil {
			return nil, err
		}
		list := make([]any, size)
		for i := range list {
			list[i] = native(items.Get(types.Int(i)))
		}
		return list, nil
	}
	return nil, fmt.Errorf("gives a %s, and must give a list", nameOf(value))
}

func bounded(items int) error {
	if items > maxResults {
		return fmt.Errorf("gives %d items; an object may have %d", items, maxResults)
	}
	return nil
}

// unwrapped returns nil for null and an empty optional, a list as it is, and other values as Go has them.
func unwrapped(v ref.Val) any {
	if optional, ok := v.(*types.Optional); ok {
		if !optional.HasValue() {
			return nil
		}
		v = optional.GetValue()
	}
	if list, ok := v.(traits.Lister); ok {
		return list
	}
	return native(v)
}

// native returns a value as Go has it, nil for null.
func native(v ref.Val) any {
	if v == nil || v.Type() == types.NullType {
		return nil
	}
	return v.Value()
}

// textOf returns a value as a text.
func textOf(value any) (string, error) {
	if v, ok := value.(ref.Val); ok {
		value = unwrapped(v)
	}
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case uint64:
		return strconv.FormatUint(v, 10), nil
	case float64:
		return fmt.Sprint(v), nil
	case time.Time:
		return v.UTC().Format(time.RFC3339), nil
	}
	return "", fmt.Errorf("gives a %s, and must give a text, a number or a bool", nameOf(value))
}

func nameOf(value any) string {
	switch value.(type) {
	case map[string]any, map[ref.Val]ref.Val:
		return "map"
	case []any, traits.Lister:
		return "list"
	}
	return fmt.Sprintf("%T", value)
}
