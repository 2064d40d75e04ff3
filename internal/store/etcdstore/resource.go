// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdstore

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// resource is the storage of one resource. Operations end when etcd goes away, and
// errors are those that clients of the other engines get.
type resource struct {
	storage.Interface

	// label names the resource in errors.
	label    string
	presence *presence
}

// kind says what an error means for the data.
type kind bool

const (
	// read changes nothing.
	read kind = false
	// write may have changed something when it ends with an error.
	write kind = true
)

// do runs an operation on a key.
func (r *resource) do(ctx context.Context, what string, k kind, key string, run func(context.Context) error) error {
	if err := checkKey(key); err != nil {
		return err
	}
	what += " " + r.label
	ctx, end, err := r.presence.begin(ctx)
	if err != nil {
		return unavailable(what)
	}
	defer end()
	err = run(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errAway) {
		err = errAway
	}
	return apiError(what, k, err)
}

// Create implements storage.Interface.
func (r *resource) Create(ctx context.Context, key string, object, out runtime.Object, ttl uint64) error {
	return r.do(ctx, "create", write, key, func(ctx context.Context) error {
		return r.Interface.Create(ctx, key, object, out, ttl)
	})
}

// Delete implements storage.Interface.
func (r *resource) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, cached runtime.Object, options storage.DeleteOptions,
) error {
	return r.do(ctx, "delete", write, key, func(ctx context.Context) error {
		return r.Interface.Delete(ctx, key, out, preconditions, validate, cached, options)
	})
}

// GuaranteedUpdate implements storage.Interface.
func (r *resource) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, update storage.UpdateFunc, cached runtime.Object,
) error {
	return r.do(ctx, "update", write, key, func(ctx context.Context) error {
		return r.Interface.GuaranteedUpdate(ctx, key, out, ignoreNotFound, preconditions, update, cached)
	})
}

// Get implements storage.Interface.
func (r *resource) Get(ctx context.Context, key string, options storage.GetOptions, out runtime.Object) error {
	return r.do(ctx, "get", read, key, func(ctx context.Context) error {
		return r.Interface.Get(ctx, key, options, out)
	})
}

// GetList implements storage.Interface.
func (r *resource) GetList(ctx context.Context, key string, options storage.ListOptions, out runtime.Object) error {
	return r.do(ctx, "list", read, key, func(ctx context.Context) error {
		return r.Interface.GetList(ctx, key, options, out)
	})
}

// GetCurrentResourceVersion implements storage.Interface.
func (r *resource) GetCurrentResourceVersion(ctx context.Context) (version uint64, err error) {
	err = r.do(ctx, "read the resource version of", read, "", func(ctx context.Context) error {
		version, err = r.Interface.GetCurrentResourceVersion(ctx)
		return err
	})
	return version, err
}

// Watch implements storage.Interface. A watch that is open outlives an absence of etcd.
func (r *resource) Watch(ctx context.Context, key string, options storage.ListOptions) (watch.Interface, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	what := "watch " + r.label
	if r.presence.away() != nil {
		return nil, unavailable(what)
	}
	w, err := r.Interface.Watch(ctx, key, options)
	return w, apiError(what, read, err)
}
