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
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"

	"github.com/docket-project/docket/internal/kit/manifests"
	"github.com/docket-project/docket/internal/server/imports"
)

// automanaged is the label of APIServices that kube-apiserver creates for CRDs. It reverts
// changes of theirs.
const automanaged = "kube-aggregator.kubernetes.io/automanaged"

// apiServices reads and changes which server serves a group in the cluster.
type apiServices struct {
	client dynamic.ResourceInterface
	retry  *retrier
}

func newAPIServices(client dynamic.Interface, retry *retrier) *apiServices {
	return &apiServices{client.Resource(schema.GroupVersionResource{
		Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices",
	}), retry}
}

// servicesOf returns the names of the APIServices for kinds that Docket serves.
func servicesOf(kinds []imports.Kind) (names []string) {
	for _, kind := range kinds {
		for _, version := range kind.Versions {
			names = append(names, version+"."+kind.Group)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// serving says which server serves a group.
type serving struct {
	// extension reports whether it is a Service, such as Docket, and not the cluster itself;
	// partly, whether that is so for some version at least.
	extension, partly bool
	available         bool
	// why it is not available.
	why string
}

// of says which server serves a group.
func (a *apiServices) of(ctx context.Context, g group) (serving, error) {
	all := serving{extension: true, available: true}
	for _, name := range g.services {
		one, err := a.read(ctx, name)
		if err != nil {
			return all, err
		}
		all.extension, all.partly = all.extension && one.extension, all.partly || one.extension
		if !one.available && (all.available || all.why == "") {
			all.available, all.why = false, one.why
		}
	}
	return all, nil
}

func (a *apiServices) read(ctx context.Context, name string) (s serving, err error) {
	err = a.retry.do(ctx, "read APIServices", func() error {
		object, err := a.client.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			s = serving{}
			return nil
		}
		if err != nil {
			return err
		}
		s = servingOf(object)
		return nil
	})
	if err != nil {
		return s, fmt.Errorf("read APIService %s: %w", name, explain(err, "the cluster"))
	}
	return s, nil
}

func servingOf(object *unstructured.Unstructured) serving {
	service, _, _ := unstructured.NestedMap(object.Object, "spec", "service")
	about := "APIService " + object.GetName() + " is not available yet: "
	s := serving{extension: service != nil, why: about + "it has no condition yet"}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if !ok || condition["type"] != "Available" {
			continue
		}
		s.available = condition["status"] == "True"
		s.why = about + fmt.Sprintf("%v: %v", condition["reason"], condition["message"])
		if s.extension && condition["reason"] == "Local" {
			// The condition is from before the switch.
			s.available, s.why = false, ""
		}
	}
	return s
}

// put creates or updates an APIService. An update is one request, so that the group is
// always served.
func (a *apiServices) put(ctx context.Context, desired *unstructured.Unstructured) error {
	err := a.retry.do(ctx, "change APIServices", func() error {
		now, err := a.client.Get(ctx, desired.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = a.client.Create(ctx, desired.DeepCopy(), metav1.CreateOptions{FieldManager: fieldManager})
			if apierrors.IsAlreadyExists(err) {
				return errAgain
			}
			return err
		}
		if err != nil {
			return err
		}
		now.Object["spec"] = desired.DeepCopy().Object["spec"]
		now.SetLabels(desired.GetLabels())
		now.SetAnnotations(desired.GetAnnotations())
		_, err = a.client.Update(ctx, now, metav1.UpdateOptions{FieldManager: fieldManager})
		if apierrors.IsConflict(err) {
			return errAgain
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("change APIService %s: %w", desired.GetName(), explain(err, "the cluster"))
	}
	return nil
}

// makeLocal gives a version of a group back to the cluster. The APIService becomes what
// kube-apiserver creates for a CRD, and kube-apiserver manages it from then on.
func (a *apiServices) makeLocal(ctx context.Context, name string) error {
	const groupPriority, versionPriority = 1000, 100 // What kube-apiserver uses for CRDs.
	version, group, _ := strings.Cut(name, ".")
	return a.put(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": name, "labels": map[string]any{automanaged: "true"}},
		"spec": map[string]any{
			"group": group, "version": version,
			"groupPriorityMinimum": int64(groupPriority), "versionPriority": int64(versionPriority),
		},
	}})
}

// ReadAPIServices reads the APIServices in a file of YAML or JSON, such as the output of `docket bootstrap`.
func ReadAPIServices(data []byte) (found []*unstructured.Unstructured, err error) {
	err = manifests.Documents(data, func(place string, document []byte) error {
		var object map[string]any
		if err := utiljson.Unmarshal(document, &object); err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		objects, ok := object["items"].([]any)
		if !ok {
			objects = []any{object}
		}
		for _, o := range objects {
			if content, ok := o.(map[string]any); ok && content["kind"] == "APIService" {
				found = append(found, &unstructured.Unstructured{Object: content})
			}
		}
		return nil
	})
	return found, err
}

// named returns the APIService of a name, nil if there is none.
func named(services []*unstructured.Unstructured, name string) *unstructured.Unstructured {
	for _, service := range services {
		if service.GetName() == name {
			return service
		}
	}
	return nil
}
