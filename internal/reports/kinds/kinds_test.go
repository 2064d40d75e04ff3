// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/kinds"
)

// configMaps returns a row of ConfigMaps whose rules record their calls.
func configMaps(calls *[]string) kinds.Kind[*corev1.ConfigMap] {
	call := func(name string, object, old *corev1.ConfigMap) {
		*calls = append(*calls, fmt.Sprintf("%s %s, old %t", name, object.Name, old != nil))
	}
	return kinds.Kind[*corev1.ConfigMap]{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		Resource:         "configmaps",
		Singular:         "configmap",
		Namespaced:       true,
		New:              func() runtime.Object { return &corev1.ConfigMap{} },
		NewList:          func() runtime.Object { return &corev1.ConfigMapList{} },
		Columns: []kinds.Column[*corev1.ConfigMap]{
			kinds.NameColumn[*corev1.ConfigMap]("Its name."),
			{Name: "Data", Type: kinds.TypeInteger, Priority: kinds.WideOnly, Cell: func(c *corev1.ConfigMap) any { return len(c.Data) }},
		},
		SelectableFields: []kinds.SelectableField[*corev1.ConfigMap]{
			{Name: "data.color", Value: func(c *corev1.ConfigMap) string { return c.Data["color"] }},
		},
		Rules: kinds.Rules[*corev1.ConfigMap]{
			ValidateName: validation.NameIsDNSSubdomain,
			Prepare:      func(object, old *corev1.ConfigMap) { call("prepare", object, old) },
			Changed: func(object, old *corev1.ConfigMap) bool {
				call("changed", object, old)
				return !cmp.Equal(object.Data, old.Data)
			},
			Validate: func(_ context.Context, object, old *corev1.ConfigMap) field.ErrorList {
				call("validate", object, old)
				return field.ErrorList{field.Required(field.NewPath("data", "a"), ""), field.Required(field.NewPath("data", "b"), "")}
			},
			MaxErrors: 2,
			Warnings: func(object, old *corev1.ConfigMap) []string {
				call("warn", object, old)
				return []string{"careful"}
			},
			Accept:      func(object *corev1.ConfigMap) { call("accept", object, nil) },
			ResetFields: []string{"status"},
		},
	}
}

func configMap(name string, generation int64, color string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "n", Generation: generation},
		Data:       map[string]string{"color": color},
	}
}

func TestStrategy(t *testing.T) {
	t.Parallel()
	var calls []string
	rules := kinds.NewStrategy(configMaps(&calls), runtime.NewScheme())
	created := configMap("new", 7, "red")
	rules.PrepareForCreate(t.Context(), created)
	rules.Validate(t.Context(), created)
	rules.WarningsOnCreate(t.Context(), created)
	rules.Canonicalize(created)
	if created.Generation != 1 {
		t.Errorf("generation of a new object is %d", created.Generation)
	}
	for color, want := range map[string]int64{"red": 4, "blue": 5} {
		updated := configMap("x", 9, color)
		rules.PrepareForUpdate(t.Context(), updated, configMap("x", 4, "red"))
		if updated.Generation != want {
			t.Errorf("generation after an update to %s is %d, want %d", color, updated.Generation, want)
		}
	}
	calls = calls[:4]
	updated, stored := configMap("x", 4, "blue"), configMap("x", 4, "red")
	rules.PrepareForUpdate(t.Context(), updated, stored)
	rules.ValidateUpdate(t.Context(), updated, stored)
	rules.WarningsOnUpdate(t.Context(), updated, stored)
	want := []string{
		"prepare new, old false", "validate new, old false", "warn new, old false", "accept new, old false",
		"prepare x, old true", "changed x, old true", "validate x, old true", "warn x, old true",
	}
	testkit.NoDiff(t, cmp.Diff(want, calls), "calls (-want +got)")
	if reset := rules.GetResetFields()["v1"]; reset == nil || reset.String() != ".status" {
		t.Errorf("fields that are reset: %v", rules.GetResetFields())
	}
}

// TestStrategyWithoutRules: a row may leave out each of its functions.
func TestStrategyWithoutRules(t *testing.T) {
	t.Parallel()
	kind := configMaps(nil)
	kind.Rules = kinds.Rules[*corev1.ConfigMap]{ValidateName: validation.NameIsDNSSubdomain}
	rules := kinds.NewStrategy(kind, runtime.NewScheme())
	object, stored := configMap("x", 7, "red"), configMap("x", 0, "blue")
	rules.PrepareForCreate(t.Context(), object)
	rules.PrepareForUpdate(t.Context(), object, stored)
	rules.Canonicalize(object)
	problems := len(rules.Validate(t.Context(), object)) + len(rules.ValidateUpdate(t.Context(), object, stored)) +
		len(rules.WarningsOnCreate(t.Context(), object)) + len(rules.WarningsOnUpdate(t.Context(), object, stored))
	if object.Generation != 0 || problems != 0 || rules.GetResetFields() != nil {
		t.Errorf("generation is %d, with %d problems, and %v is reset; want none", object.Generation, problems, rules.GetResetFields())
	}
}

func TestErrorsAreBounded(t *testing.T) {
	t.Parallel()
	var calls []string
	rules := kinds.NewStrategy(configMaps(&calls), runtime.NewScheme())
	errs := rules.Validate(t.Context(), configMap("Not a name", 0, ""))
	if len(errs) != 2 || errs[0].Field != "metadata.name" || errs[1].Field != "data.a" {
		t.Errorf("errors are %v, want two, those of the metadata first", errs)
	}
}

// TestOtherObjects: what is not of the kind is an error everywhere, never an object without
// fields.
func TestOtherObjects(t *testing.T) {
	t.Parallel()
	var calls []string
	kind := configMaps(&calls)
	rules := kinds.NewStrategy(kind, runtime.NewScheme())
	rules.PrepareForCreate(t.Context(), &corev1.Secret{})
	rules.PrepareForUpdate(t.Context(), configMap("x", 0, ""), &corev1.Secret{})
	_, _, attributes := kind.GetAttrs(&corev1.Secret{})
	_, table := kinds.NewTableConvertor(kind).ConvertToTable(t.Context(), &corev1.Secret{}, nil)
	for name, got := range map[string]any{
		"create":     rules.Validate(t.Context(), &corev1.Secret{}),
		"update":     rules.ValidateUpdate(t.Context(), &corev1.Secret{}, configMap("x", 0, "")),
		"update of":  rules.ValidateUpdate(t.Context(), configMap("x", 0, ""), &corev1.Secret{}),
		"attributes": attributes,
		"table":      table,
	} {
		if !strings.Contains(fmt.Sprint(got), "object is a *v1.Secret, not a ConfigMap") {
			t.Errorf("%s: error is %v, want one that says what the object is", name, got)
		}
	}
	if len(calls) != 0 {
		t.Errorf("rules were called: %v", calls)
	}
}

func TestOpenAll(t *testing.T) {
	t.Parallel()
	var destroyed []string
	open := func(name string) (rest.Storage, error) {
		if name == "broken" {
			return nil, errors.New("no such disk")
		}
		return &storage{name: name, destroyed: &destroyed}, nil
	}
	opened, err := kinds.OpenAll([]string{"a", "b"}, open)
	if err != nil || len(opened) != 2 || len(destroyed) != 0 {
		t.Errorf("%d storages are open, %v destroyed, %v", len(opened), destroyed, err)
	}
	_, err = kinds.OpenAll([]string{"a", "b", "broken", "c"}, open)
	if err == nil || !cmp.Equal(destroyed, []string{"a", "b"}) {
		t.Errorf("after an error (%v), %v were destroyed, want a and b", err, destroyed)
	}
}

type storage struct {
	name      string
	destroyed *[]string
}

func (s *storage) New() runtime.Object { return nil }
func (s *storage) Destroy()            { *s.destroyed = append(*s.destroyed, s.name) }
