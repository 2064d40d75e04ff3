// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func object(name, spec string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec, "status": "noise"}}
	o.SetName(name)
	return o
}

// kept is a mirror of the field spec, with an index by that.
type kept struct {
	*Mirror[string]
	bySpec  map[string]string
	changes int
}

func newKept() *kept {
	k := &kept{bySpec: map[string]string{}}
	k.Mirror = NewMirror(MirrorConfig[string]{
		Strip: func(o *unstructured.Unstructured) { delete(o.Object, "status") },
		Keep: func(o *unstructured.Unstructured, before string) (string, error) {
			spec, _, err := unstructured.NestedString(o.Object, "spec")
			if spec == "refused" {
				err = errors.New("refused")
			}
			if _, noise := o.Object["status"]; noise {
				err = errors.New("not stripped")
			}
			if spec == "same" && before != "" {
				return before, err
			}
			return spec, err
		},
		Index: func(name types.NamespacedName, before, now string) {
			if before != "" {
				delete(k.bySpec, before)
			}
			if now != "" {
				k.bySpec[now] = name.Name
			}
		},
		Changed: func() { k.changes++ },
	})
	return k
}

func (k *kept) String() string {
	var parts []string
	k.View(func() {
		for _, spec := range slices.Sorted(maps.Keys(k.bySpec)) {
			parts = append(parts, spec+"="+k.bySpec[spec])
		}
	})
	return fmt.Sprintf("%s, %d objects, %d changes", strings.Join(parts, " "), len(k.All()), k.changes)
}

func TestMirror(t *testing.T) {
	t.Parallel()
	k := newKept()
	for i, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return k.Replace(nil, "") }, ", 0 objects, 0 changes"},
		{func() error { return k.Update(object("a", "x")) }, "x=a, 1 objects, 1 changes"},
		{func() error { return k.Update(object("a", "x")) }, "x=a, 1 objects, 1 changes"},
		{func() error { return k.Update(object("a", "same")) }, "x=a, 1 objects, 1 changes"},
		{func() error { return k.Update(object("a", "y")) }, "y=a, 1 objects, 2 changes"},
		{func() error { return k.Delete(object("b", "")) }, "y=a, 1 objects, 2 changes"},
		{func() error { return k.Replace([]any{object("b", "z"), object("a", "y")}, "") }, "y=a z=b, 2 objects, 3 changes"},
		{func() error { return k.Replace([]any{object("a", "y"), object("b", "same")}, "") }, "y=a z=b, 2 objects, 3 changes"},
		{func() error { return k.Replace([]any{object("b", "y")}, "") }, "y=b, 1 objects, 4 changes"},
		{func() error { return k.Delete(object("b", "")) }, ", 0 objects, 5 changes"},
		{func() error { return k.Update(object("a", "x")) }, "x=a, 1 objects, 6 changes"},
		{func() error { k.Clear(); return nil }, ", 0 objects, 6 changes"},
	} {
		if err := step.do(); err != nil || k.String() != step.want {
			t.Errorf("step %d: %s, error %v; want %s", i, k, err, step.want)
		}
	}
}

// TestMirrorRefuses: what can't be kept changes nothing.
func TestMirrorRefuses(t *testing.T) {
	t.Parallel()
	k := newKept()
	testkit.NoError(t, k.Update(object("a", "x")))
	for name, err := range map[string]error{
		"update":       k.Update(object("a", "refused")),
		"replace":      k.Replace([]any{object("b", "y"), object("c", "refused")}, ""),
		"another type": k.Update("a"),
		"deletion":     k.Delete("a"),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if got := k.String(); got != "x=a, 1 objects, 1 changes" {
		t.Error(got)
	}
	if value, known := k.Get(types.NamespacedName{Name: "a"}); !known || value != "x" {
		t.Errorf("%q, %v", value, known)
	}
}

// TestReflected: a source is listed once its store has everything, and not before.
func TestReflected(t *testing.T) {
	t.Parallel()
	changes := 0
	s := New(Config{Changed: func(error) { changes++ }})
	k := newKept()
	store := reflected{Store: k, source: s}
	if err := store.Replace([]any{object("a", "refused")}, ""); err == nil {
		t.Error("no error")
	}
	if err := store.Add(object("a", "x")); err != nil {
		t.Error(err)
	}
	if listed, _ := s.State(); listed || changes != 0 {
		t.Errorf("listed: %v, %d changes", listed, changes)
	}
	if err := store.Replace(nil, ""); err != nil {
		t.Error(err)
	}
	if listed, _ := s.State(); !listed || changes != 1 {
		t.Errorf("listed: %v, %d changes", listed, changes)
	}
	if stripped, err := store.Transformer()(object("a", "x")); err != nil || stripped.(*unstructured.Unstructured).Object["status"] != nil {
		t.Errorf("transformed: %v, %v", stripped, err)
	}
	if (reflected{Store: struct{ Store }{k}, source: s}).Transformer() != nil {
		t.Error("a store without a transformer has one")
	}
}
