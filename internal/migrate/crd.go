// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/docket-project/docket/internal/server/imports"
)

// crdAnnotation is the annotation of CRDs that have the version for the migration.
const crdAnnotation = "docket.dev/migration"

// crds changes the CRDs of kinds.
type crds struct {
	client dynamic.ResourceInterface
	retry  *retrier
}

func newCRDs(client dynamic.Interface, retry *retrier) *crds {
	return &crds{client.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}), retry}
}

func crdName(kind imports.Kind) string { return kind.GroupResource().String() }

// of returns the CRDs of a group by their names.
func (c *crds) of(ctx context.Context, group string) (map[string]*unstructured.Unstructured, error) {
	found := map[string]*unstructured.Unstructured{}
	err := c.retry.do(ctx, "list CRDs", func() error {
		list, err := c.client.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if of, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "group"); of == group {
				found[list.Items[i].GetName()] = &list.Items[i]
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list CustomResourceDefinitions: %w", explain(err, "the cluster"))
	}
	return found, nil
}

// versionsOf returns the versions of a CRD.
func versionsOf(crd *unstructured.Unstructured) ([]map[string]any, error) {
	list, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: %w", crd.GetName(), err)
	}
	var versions []map[string]any
	for _, v := range list {
		if version, ok := v.(map[string]any); ok {
			versions = append(versions, version)
		}
	}
	return versions, nil
}

// hasVersion reports whether a CRD has the version for the migration.
func hasVersion(crd *unstructured.Unstructured) bool {
	versions, err := versionsOf(crd)
	return err == nil && slices.ContainsFunc(versions, func(v map[string]any) bool { return v["name"] == migrationVersion })
}

// checkCRD returns an error, with the remedy, if the objects of a CRD can't be migrated.
func checkCRD(kind imports.Kind, crd *unstructured.Unstructured) error {
	if strategy, _, _ := unstructured.NestedString(crd.Object, "spec", "conversion", "strategy"); strategy != "" && strategy != "None" {
		return fmt.Errorf("CustomResourceDefinition %s converts its versions with strategy %s, which the migration doesn't support: set spec.conversion.strategy to None",
			crd.GetName(), strategy)
	}
	versions, err := versionsOf(crd)
	if err != nil {
		return err
	}
	var others []string
	found := false
	for _, v := range versions {
		name, _ := v["name"].(string)
		found = found || name == kind.Version
		if name != migrationVersion && v["served"] == true && !slices.Contains(kind.Versions, name) {
			others = append(others, name)
		}
	}
	switch {
	case !found:
		return fmt.Errorf("CustomResourceDefinition %s has no version %s, which Docket serves", crd.GetName(), kind.Version)
	case len(others) > 0:
		return fmt.Errorf("CustomResourceDefinition %s also serves %s, whose clients would stay with etcd: move them to %s and set served: false for it first",
			crd.GetName(), strings.Join(others, ", "), kind.Version)
	}
	return nil
}

// change changes the CRDs of kinds; f reports whether anything needs to change.
func (c *crds) change(ctx context.Context, kinds []imports.Kind, f func(imports.Kind, *unstructured.Unstructured) (bool, error)) error {
	for _, kind := range kinds {
		err := c.retry.do(ctx, "change CRDs", func() error {
			crd, err := c.client.Get(ctx, crdName(kind), metav1.GetOptions{})
			if err != nil {
				return err
			}
			needed, err := f(kind, crd)
			if err != nil || !needed {
				return err
			}
			_, err = c.client.Update(ctx, crd, metav1.UpdateOptions{FieldManager: fieldManager})
			if apierrors.IsConflict(err) {
				return errAgain
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("change CustomResourceDefinition %s: %w", crdName(kind), explain(err, "the cluster"))
		}
	}
	return nil
}

// fieldManager is the field manager of the migration's writes.
const fieldManager = "docket-migrate"

// addVersions adds the version for the migration. Its schema accepts whatever was stored.
func (c *crds) addVersions(ctx context.Context, kinds []imports.Kind) error {
	return c.change(ctx, kinds, func(kind imports.Kind, crd *unstructured.Unstructured) (bool, error) {
		if err := checkCRD(kind, crd); err != nil || hasVersion(crd) {
			return false, err
		}
		list, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil {
			return false, err
		}
		list = append(list, map[string]any{
			"name": migrationVersion, "served": true, "storage": false,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				"description": "For docket migrate, which removes it when the migration is done.",
			}},
		})
		annotations := crd.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[crdAnnotation] = "version " + migrationVersion + " was added by docket migrate"
		crd.SetAnnotations(annotations)
		return true, unstructured.SetNestedSlice(crd.Object, list, "spec", "versions")
	})
}

// restore gives the CRDs back their earlier state. They may stay beside Docket: an
// APIService that somebody made goes before the one that kube-apiserver makes for a CRD.
func (c *crds) restore(ctx context.Context, kinds []imports.Kind) error {
	return c.change(ctx, kinds, func(kind imports.Kind, crd *unstructured.Unstructured) (bool, error) {
		list, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil {
			return false, err
		}
		before := len(list)
		list = slices.DeleteFunc(list, func(v any) bool {
			version, ok := v.(map[string]any)
			return ok && version["name"] == migrationVersion
		})
		needed := serve(kind, list, true) || len(list) != before
		annotations := crd.GetAnnotations()
		delete(annotations, crdAnnotation)
		crd.SetAnnotations(annotations)
		return needed, unstructured.SetNestedSlice(crd.Object, list, "spec", "versions")
	})
}

// setServed sets whether the cluster serves the versions that Docket serves from the CRDs.
func (c *crds) setServed(ctx context.Context, kinds []imports.Kind, served bool) error {
	return c.change(ctx, kinds, func(kind imports.Kind, crd *unstructured.Unstructured) (bool, error) {
		list, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil {
			return false, err
		}
		return serve(kind, list, served), unstructured.SetNestedSlice(crd.Object, list, "spec", "versions")
	})
}

// serve sets whether those of some versions that Docket serves are served, and reports whether one was changed.
func serve(kind imports.Kind, versions []any, served bool) (changed bool) {
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if name, _ := version["name"].(string); ok && slices.Contains(kind.Versions, name) && version["served"] != served {
			version["served"], changed = served, true
		}
	}
	return changed
}
