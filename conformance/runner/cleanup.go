// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// cleanupTime is how long a run tries to remove what it made, if a check may not take longer.
const cleanupTime = time.Minute

// cleanUp removes all that the run made and returns what it could not remove. It works with a server
// that breaks rules: nothing is removed whose name is not the run's.
func (r *run) cleanUp(ctx context.Context) (left []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(cleanupTime, r.options.Timeout))
	defer cancel()
	for _, resource := range r.resources {
		if resource.readOnly != "" && !resource.tried || !resource.Has("create", "list", "delete") {
			continue
		}
		switch {
		case !resource.Namespaced:
			left = append(left, r.sweep(ctx, resource, "")...)
		case r.rooms.given != "":
			left = append(left, r.sweep(ctx, resource, r.rooms.given)...)
		default:
			for _, namespace := range r.rooms.all() {
				r.sweep(ctx, resource, namespace) // What stays, stays with its namespace.
			}
		}
	}
	return append(left, r.closeRooms(ctx)...)
}

// sweep deletes the objects of the run in a namespace, and returns those that stay.
func (r *run) sweep(ctx context.Context, resource *Resource, namespace string) (left []string) {
	response, err := r.client.do(ctx, Get(resource.CollectionPath(namespace), "labelSelector", RunLabel+"="+r.id))
	if err != nil || !response.OK() {
		return r.leftOf(resource, namespace, "-l "+RunLabel+"="+r.id)
	}
	list, err := response.list()
	if err != nil {
		return r.leftOf(resource, namespace, "-l "+RunLabel+"="+r.id)
	}
	for i := range list.Items {
		object := &list.Items[i]
		if !strings.HasPrefix(object.GetName(), r.id+"-") || namespace != "" && object.GetNamespace() != namespace {
			continue // Not what was asked for.
		}
		if !r.remove(ctx, resource, object) {
			left = append(left, r.leftOf(resource, namespace, object.GetName())...)
		}
	}
	return left
}

func (r *run) leftOf(resource *Resource, namespace, name string) []string {
	text := resource.Name
	if resource.GroupVersion.Group != "" {
		text += "." + resource.GroupVersion.Group
	}
	if namespace != "" {
		text += " -n " + namespace
	}
	return []string{text + " " + name}
}

// remove deletes an object that may have finalizers.
func (r *run) remove(ctx context.Context, resource *Resource, object *unstructured.Unstructured) bool {
	path := resource.ObjectPath(object.GetNamespace(), object.GetName())
	if len(object.GetFinalizers()) > 0 {
		if _, err := r.client.do(ctx, Patch(path, types.MergePatchType, map[string]any{"metadata": map[string]any{"finalizers": nil}})); err != nil {
			return false
		}
	}
	response, err := r.client.do(ctx, Delete(path, DeleteNow()))
	return err == nil && (response.OK() || response.Code == http.StatusNotFound)
}

// closeRooms deletes the namespaces of the run and waits until they are gone.
func (r *run) closeRooms(ctx context.Context) (left []string) {
	names := r.rooms.all()
	for _, name := range names {
		response, err := r.client.do(ctx, Delete(namespacesPath+"/"+name, nil))
		if err != nil || !response.OK() && response.Code != http.StatusNotFound && response.Code != http.StatusConflict {
			left = append(left, "namespace "+name)
		}
	}
	if len(left) > 0 {
		return left
	}
	for _, name := range names {
		for !r.gone(ctx, namespacesPath+"/"+name) {
			if pause(ctx, poll) != nil {
				left = append(left, "namespace "+name)
				break
			}
		}
	}
	return left
}

func (r *run) gone(ctx context.Context, path string) bool {
	response, err := r.client.do(ctx, Get(path))
	return err == nil && response.Code == http.StatusNotFound
}
