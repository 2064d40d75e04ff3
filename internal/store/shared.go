// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"io"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/hub"
)

// change is an event of the cluster as the watchers of a resource share it:
// each object is decoded once, and encoded once for each encoding.
type change struct {
	resource *Resource
	entry    *hub.Entry[change]

	nowOnce, beforeOnce sync.Once
	nowVersion          *version
	nowErr              error
	beforeVersion       *version
	beforeErr           error
}

func (r *Resource) newChange(entry *hub.Entry[change]) *change {
	return &change{resource: r, entry: entry}
}

// charge says that the change takes so many bytes more.
func (c *change) charge(bytes int) { c.entry.Charge(c, int64(bytes)) }

// now returns the object that the change wrote.
func (c *change) now(ctx context.Context) (*version, error) {
	c.nowOnce.Do(func() {
		c.nowVersion, c.nowErr = c.version(context.WithoutCancel(ctx), c.entry.Value)
	})
	return c.nowVersion, c.nowErr
}

// before returns the object that was replaced or deleted, at the revision of
// the change: to a watcher it is the last that it sees of it.
func (c *change) before(ctx context.Context) (*version, error) {
	c.beforeOnce.Do(func() {
		c.beforeVersion, c.beforeErr = c.version(context.WithoutCancel(ctx), c.entry.Previous)
	})
	return c.beforeVersion, c.beforeErr
}

func (c *change) version(ctx context.Context, v engine.Value) (*version, error) {
	data, _, err := c.resource.unpack(ctx, c.entry.Key, v)
	if err != nil {
		return nil, err
	}
	object, err := c.resource.decode(data, c.entry.Revision)
	if err != nil {
		return nil, err
	}
	c.charge(objectFactor * len(data))
	return newVersion(object, c.charge), nil
}

// metaObject is what all stored objects are.
type metaObject interface {
	runtime.Object
	metav1.Object
}

// version is a decoded object that several watchers send to their clients.
type version struct {
	object runtime.Object
	shared *sharedObject
}

func newVersion(object runtime.Object, charge func(bytes int)) *version {
	v := &version{object: object}
	if m, ok := object.(metaObject); ok {
		v.shared = &sharedObject{metaObject: m, charge: charge, encodings: map[runtime.Identifier]*encoding{}}
	}
	return v
}

// forWatcher returns the object to put into an event. With shared, clients of
// one encoding share its bytes; it isn't worth it for one or two.
func (v *version) forWatcher(shared bool) runtime.Object {
	if shared && v.shared != nil {
		return v.shared
	}
	return v.object.DeepCopyObject()
}

// sharedObject is an object that remembers its encodings. Receivers of a watch event must not change it: the handlers
// of k8s.io/apiserver call GetObject for a copy before they do.
type sharedObject struct {
	metaObject
	charge func(bytes int)

	mu        sync.Mutex
	encodings map[runtime.Identifier]*encoding
}

var _ runtime.CacheableObject = (*sharedObject)(nil)

type encoding struct {
	once sync.Once
	data []byte
	err  error
}

// CacheEncode implements runtime.CacheableObject.
func (o *sharedObject) CacheEncode(id runtime.Identifier, encode func(runtime.Object, io.Writer) error, w io.Writer) error {
	o.mu.Lock()
	e, ok := o.encodings[id]
	if !ok {
		e = &encoding{}
		o.encodings[id] = e
	}
	o.mu.Unlock()
	e.once.Do(func() {
		var buffer bytes.Buffer
		e.err = encode(o.GetObject(), &buffer)
		e.data = buffer.Bytes()
		o.charge(len(e.data))
	})
	if e.err != nil {
		return e.err
	}
	if splice, ok := w.(runtime.Splice); ok {
		splice.Splice(e.data)
		return nil
	}
	_, err := w.Write(e.data)
	return err
}

// GetObject implements runtime.CacheableObject: it returns a copy.
func (o *sharedObject) GetObject() runtime.Object { return o.DeepCopyObject() }
