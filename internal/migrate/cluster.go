// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/server/imports"
)

// customResources returns the custom resources of a cluster as destination.
func customResources(cluster *api, kinds []imports.Kind) destination {
	return importing(cluster, clusterPlace{cluster}, kinds, imports.Portable, cluster.retry)
}

// clusterPlace writes custom resources through the API.
type clusterPlace struct{ *api }

var _ imports.Place = clusterPlace{}

// Get implements imports.Place.
func (p clusterPlace) Get(ctx context.Context, kind imports.Kind, namespace, name string) (imports.Object, error) {
	found, err := p.get(ctx, kind, namespace, name)
	if err != nil || found == nil {
		return nil, err
	}
	object, _, err := kind.Decode(found.object)
	return object, err
}

// Create implements imports.Place.
func (p clusterPlace) Create(ctx context.Context, kind imports.Kind, object imports.Object) error {
	return p.put(ctx, kind, p.client.Post().AbsPath(p.path(kind, object.GetNamespace(), "")), object, "")
}

// Update implements imports.Place.
func (p clusterPlace) Update(ctx context.Context, kind imports.Kind, current, object imports.Object) error {
	return p.put(ctx, kind, p.client.Put().AbsPath(p.path(kind, object.GetNamespace(), object.GetName())), object,
		current.GetResourceVersion())
}

func (p clusterPlace) put(ctx context.Context, kind imports.Kind, request *rest.Request, object imports.Object, version string) error {
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var content map[string]any
	if err := utiljson.Unmarshal(data, &content); err != nil {
		return err
	}
	content["apiVersion"] = kind.Group + "/" + p.version
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		return fmt.Errorf("object %s has no metadata", object.GetName())
	}
	// The cluster assigns these. A UID would be a precondition.
	for _, field := range []string{"uid", "creationTimestamp", "generation", "resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		delete(metadata, field)
	}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	if data, err = json.Marshal(content); err != nil {
		return err
	}
	err = request.Param("fieldManager", "docket-migrate").SetHeader("Content-Type", "application/json").Body(data).Do(ctx).Error()
	if changed(err) {
		return imports.ErrChanged
	}
	if err == nil && object.GetDeletionTimestamp() != nil {
		// It waits for its finalizers in the cluster, too.
		err = p.client.Delete().AbsPath(p.path(kind, object.GetNamespace(), object.GetName())).Do(ctx).Error()
	}
	return err
}

// Delete implements imports.Place.
func (p clusterPlace) Delete(ctx context.Context, kind imports.Kind, current imports.Object) error {
	uid, version := current.GetUID(), current.GetResourceVersion()
	err := p.client.Delete().AbsPath(p.path(kind, current.GetNamespace(), current.GetName())).
		Body(&metav1.DeleteOptions{
			TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
			Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		}).Do(ctx).Error()
	if changed(err) {
		return imports.ErrChanged
	}
	return err
}

// changed reports whether an object is no longer in the expected state.
func changed(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}
