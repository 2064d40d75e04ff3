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

	"github.com/docket-project/docket/internal/registry"
)

// crdAnnotation is on CRDs that have the version for the migration.
const crdAnnotation = "docket.dev/migration"

// crds changes the CRDs of reports.
type crds struct {
	client dynamic.ResourceInterface
	retry  *retrier
}

func newCRDs(client dynamic.Interface, retry *retrier) *crds {
	return &crds{client.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}), retry}
}

func crdName(kind registry.Kind) string { return kind.GroupResource().String() }

// get returns the CRD of a kind, nil if there is none.
func (c *crds) get(ctx context.Context, kind registry.Kind) (crd *unstructured.Unstructured, err error) {
	err = c.retry.do(ctx, "read CRDs", func() (err error) {
		crd, err = c.client.Get(ctx, crdName(kind), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			crd = nil
			return nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read CustomResourceDefinition %s: %w", crdName(kind), explain(err, "the cluster"))
	}
	return crd, nil
}

// versionsOf returns the versions of a CRD, by name.
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

// hasVersion says whether a CRD has the version for the migration.
func hasVersion(crd *unstructured.Unstructured) bool {
	versions, err := versionsOf(crd)
	return err == nil && slices.ContainsFunc(versions, func(v map[string]any) bool { return v["name"] == migrationVersion })
}

// checkCRD returns why the reports of a CRD can't be migrated, with the remedy.
func checkCRD(kind registry.Kind, crd *unstructured.Unstructured) error {
	if strategy, _, _ := unstructured.NestedString(crd.Object, "spec", "conversion", "strategy"); strategy != "" && strategy != "None" {
		return fmt.Errorf("CustomResourceDefinition %s converts its versions by %s, which the migration can't read past: set spec.conversion.strategy to None",
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
		switch {
		case name == realVersion(kind):
			found = true
		case name != migrationVersion && v["served"] == true:
			others = append(others, name)
		}
	}
	switch {
	case !found:
		return fmt.Errorf("CustomResourceDefinition %s has no version %s, the one that Docket serves", crd.GetName(), realVersion(kind))
	case len(others) > 0:
		return fmt.Errorf("CustomResourceDefinition %s also serves %s: clients of it would go on with etcd; move them to %s and set served: false there first",
			crd.GetName(), strings.Join(others, ", "), realVersion(kind))
	}
	return nil
}

// change changes a CRD; f says whether there is anything to change.
func (c *crds) change(ctx context.Context, kind registry.Kind, f func(crd *unstructured.Unstructured) (bool, error)) error {
	err := c.retry.do(ctx, "change CRDs", func() error {
		crd, err := c.client.Get(ctx, crdName(kind), metav1.GetOptions{})
		if err != nil {
			return err
		}
		needed, err := f(crd)
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
	return nil
}

// fieldManager is who the migration says it is.
const fieldManager = "docket-migrate"

// addVersion adds the version for the migration. Its schema lets through what the
// version of the stored objects accepted.
func (c *crds) addVersion(ctx context.Context, kind registry.Kind) error {
	return c.change(ctx, kind, func(crd *unstructured.Unstructured) (bool, error) {
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
				"description": "For docket migrate; it goes when the migration is done.",
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

// removeVersion removes the version for the migration.
func (c *crds) removeVersion(ctx context.Context, kind registry.Kind) error {
	return c.change(ctx, kind, func(crd *unstructured.Unstructured) (bool, error) {
		if !hasVersion(crd) {
			return false, nil
		}
		list, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil {
			return false, err
		}
		list = slices.DeleteFunc(list, func(v any) bool {
			version, ok := v.(map[string]any)
			return ok && version["name"] == migrationVersion
		})
		annotations := crd.GetAnnotations()
		delete(annotations, crdAnnotation)
		crd.SetAnnotations(annotations)
		return true, unstructured.SetNestedSlice(crd.Object, list, "spec", "versions")
	})
}

// setServed says whether the cluster serves the real version from the CRD.
func (c *crds) setServed(ctx context.Context, kind registry.Kind, served bool) error {
	return c.change(ctx, kind, func(crd *unstructured.Unstructured) (bool, error) {
		list, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil {
			return false, err
		}
		needed := false
		for _, v := range list {
			if version, ok := v.(map[string]any); ok && version["name"] == realVersion(kind) && version["served"] != served {
				version["served"], needed = served, true
			}
		}
		return needed, unstructured.SetNestedSlice(crd.Object, list, "spec", "versions")
	})
}
