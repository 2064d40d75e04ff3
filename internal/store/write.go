// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/docket-project/docket/internal/store/engine"
)

// state is a stored object as a write sees it.
type state struct {
	object runtime.Object
	meta   storage.ResponseMeta
	// revision is 0 when there is no object.
	revision engine.Revision
	data     []byte
	value    engine.Value
	// stale: the transformer wants the object to be written even if unchanged.
	stale bool
}

// Create implements storage.Interface.
func (r *Resource) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) (err error) {
	key, err = r.prepareKey(key, false)
	if err != nil {
		return err
	}
	defer r.observe("create", &err)()
	if version, err := r.versioner.ObjectResourceVersion(obj); err == nil && version != 0 {
		return storage.ErrResourceVersionSetOnCreate
	}
	if err := r.versioner.PrepareObjectForStorage(obj); err != nil {
		return fmt.Errorf("prepare the object for storage: %w", err)
	}
	data, err := runtime.Encode(r.config.Codec, obj)
	if err != nil {
		return err
	}
	op, err := r.op(ctx, engine.Create, r.rest(key), data, ttl)
	if err != nil {
		return err
	}
	if err := r.derive(&op, obj); err != nil {
		return err
	}
	outcome, err := r.submit(ctx, op, engine.Value{})
	if err != nil {
		return apiError("create "+r.label, err)
	}
	if outcome.Revision == 0 {
		return storage.NewKeyExistsError(key, 0)
	}
	if out == nil {
		return nil
	}
	return r.answer(out, obj, data, op, outcome.Revision)
}

// op returns the change that writes an object with an encoding, without what is derived from it.
func (r *Resource) op(ctx context.Context, kind engine.OpKind, key string, data []byte, ttl uint64) (engine.Op, error) {
	value, err := r.pack(ctx, key, data)
	return engine.Op{Kind: kind, Resource: r.resource, Key: key, Value: value, ExpiresAt: r.expiry(ttl)}, err
}

// answer puts what was written into out, and into the cache. written is the object that data is the encoding of.
func (r *Resource) answer(out, written runtime.Object, data []byte, op engine.Op, revision engine.Revision) error {
	object, err := r.asStored(written, data, revision)
	if err != nil {
		return err
	}
	if r.cacheable() {
		r.store.cache.put(cacheKey{r.resource, op.Key}, revision, object, op.Value.Size)
	}
	return copyInto(out, object)
}

// asStored returns the object that reading data would give.
func (r *Resource) asStored(written runtime.Object, data []byte, revision engine.Revision) (runtime.Object, error) {
	if !r.config.OneVersion {
		return r.decode(data, revision)
	}
	object := written.DeepCopyObject()
	if err := r.versioner.UpdateObject(object, uint64(revision)); err != nil {
		return nil, fmt.Errorf("set the resource version: %w", err)
	}
	return object, cutTimes(object)
}

// cutTimes drops what JSON has no room for: parts of a second.
func cutTimes(object runtime.Object) error {
	o, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	o.SetCreationTimestamp(metav1.Time{Time: o.GetCreationTimestamp().Truncate(time.Second)})
	if deleted := o.GetDeletionTimestamp(); deleted != nil {
		o.SetDeletionTimestamp(&metav1.Time{Time: deleted.Truncate(time.Second)})
	}
	fields := o.GetManagedFields()
	for i := range fields {
		if t := fields[i].Time; t != nil {
			fields[i].Time = &metav1.Time{Time: t.Truncate(time.Second)}
		}
	}
	return nil
}

// GuaranteedUpdate implements storage.Interface. The object is always read: only the watch cache of k8s.io/apiserver
// suggests what it may be, and there is none above a Resource.
func (r *Resource) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, _ runtime.Object,
) (err error) {
	key, err = r.prepareKey(key, false)
	if err != nil {
		return err
	}
	if _, err := conversion.EnforcePtr(destination); err != nil {
		return fmt.Errorf("output object: %w", err)
	}
	defer r.observe("update", &err)()
	original, err := r.read(ctx, key, ignoreNotFound, false)
	for err == nil && original != nil {
		original, err = r.tryUpdate(ctx, key, destination, preconditions, tryUpdate, original, ignoreNotFound)
	}
	return err
}

// tryUpdate tries once. It returns nil when it is done, or the object that was written meanwhile, to be updated
// instead.
func (r *Resource) tryUpdate(ctx context.Context, key string, destination runtime.Object, preconditions *storage.Preconditions,
	update storage.UpdateFunc, original *state, ignoreNotFound bool,
) (next *state, err error) {
	if err := preconditions.Check(key, original.object); err != nil {
		return nil, err
	}
	// update may change the object that it is given.
	before, err := r.derivedBefore(original.object)
	if err != nil {
		return nil, err
	}
	updated, ttl, err := update(original.object, original.meta)
	if err != nil {
		return nil, err
	}
	if err := r.versioner.PrepareObjectForStorage(updated); err != nil {
		return nil, fmt.Errorf("prepare the object for storage: %w", err)
	}
	data, err := runtime.Encode(r.config.Codec, updated)
	if err != nil {
		return nil, err
	}
	if !original.stale && original.revision != 0 && bytes.Equal(data, original.data) {
		return nil, r.unchanged(destination, original)
	}
	var seconds uint64
	if ttl != nil {
		seconds = *ttl
	}
	kind := engine.Update
	if original.revision == 0 {
		kind = engine.Create
	}
	op, err := r.op(ctx, kind, r.rest(key), data, seconds)
	if err != nil {
		return nil, err
	}
	op.Expect = original.revision
	if err := before.derive(&op, updated); err != nil {
		return nil, err
	}
	outcome, err := r.submit(ctx, op, original.value)
	if err != nil {
		return nil, apiError("update "+r.label, err)
	}
	if outcome.Revision == 0 {
		return r.state(ctx, key, outcome.Current, ignoreNotFound, false)
	}
	return nil, r.answer(destination, updated, data, op, outcome.Revision)
}

// unchanged answers an update that changes nothing without writing.
func (r *Resource) unchanged(destination runtime.Object, original *state) error {
	object, err := r.decode(original.data, original.revision)
	if err != nil {
		return err
	}
	return copyInto(destination, object)
}

// Delete implements storage.Interface. The object is always read, as GuaranteedUpdate does.
func (r *Resource) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validateDeletion storage.ValidateObjectFunc, _ runtime.Object, opts storage.DeleteOptions,
) (err error) {
	key, err = r.prepareKey(key, false)
	if err != nil {
		return err
	}
	if _, err := conversion.EnforcePtr(out); err != nil {
		return fmt.Errorf("output object: %w", err)
	}
	defer r.observe("delete", &err)()
	unread := opts.IgnoreStoreReadError && utilfeature.DefaultFeatureGate.Enabled(features.AllowUnsafeMalformedObjectDeletion)
	original, err := r.read(ctx, key, false, unread)
	if err != nil {
		return err
	}
	for {
		if err := preconditions.Check(key, original.object); err != nil {
			return err
		}
		if err := validateDeletion(ctx, original.object); err != nil {
			return err
		}
		op := engine.Op{Kind: engine.Delete, Resource: r.resource, Key: r.rest(key), Expect: original.revision}
		outcome, err := r.submit(ctx, op, original.value)
		if err != nil {
			return apiError("delete "+r.label, err)
		}
		if outcome.Revision == 0 {
			if original, err = r.state(ctx, key, outcome.Current, false, unread); err != nil {
				return err
			}
			continue
		}
		if unread {
			return nil
		}
		object, err := r.decode(original.data, outcome.Revision)
		if err != nil {
			return err
		}
		return copyInto(out, object)
	}
}

// read returns the object as the database has it.
func (r *Resource) read(ctx context.Context, key string, ignoreNotFound, unread bool) (*state, error) {
	row, _, err := r.store.engine.Get(ctx, r.resource, r.rest(key))
	if err != nil {
		return nil, apiError("read "+r.label, err)
	}
	return r.state(ctx, key, row, ignoreNotFound, unread)
}

// state of a row; nil is no object. With unread the value isn't looked at.
func (r *Resource) state(ctx context.Context, key string, row *engine.Row, ignoreNotFound, unread bool) (*state, error) {
	if row == nil {
		if !ignoreNotFound {
			return nil, storage.NewKeyNotFoundError(key, 0)
		}
		return &state{object: r.config.NewFunc()}, nil
	}
	s := &state{
		revision: row.Revision, meta: storage.ResponseMeta{ResourceVersion: uint64(row.Revision)},
		value: row.Value,
	}
	if unread {
		s.stale = true
		return s, nil
	}
	var err error
	if s.data, s.stale, err = r.unpack(ctx, row.Key, row.Value); err != nil {
		return nil, err
	}
	s.object, err = r.decode(s.data, row.Revision)
	return s, err
}

// errGuarded says that what the caller took for given before it wrote has changed.
var errGuarded = errors.New("the guard of the write has changed")

type guardKey struct{}

// WithGuard returns a context whose writes, to any resource, happen only while an object of this resource has a
// resource version, or does not exist for 0: the database itself checks it in each commit, so that after a change of
// the object no such write happens any more, by any process. Writes that fail by it are answered with 503 and
// Retry-After.
func (r *Resource) WithGuard(ctx context.Context, key string, version uint64) context.Context {
	return context.WithValue(ctx, guardKey{}, &engine.Guard{
		Resource: r.resource, Key: r.rest(key), Revision: engine.Revision(version),
	})
}

// submit commits an op under the guard of its context.
func (r *Resource) submit(ctx context.Context, op engine.Op, previous engine.Value) (engine.Outcome, error) {
	op.Guard, _ = ctx.Value(guardKey{}).(*engine.Guard)
	outcome, err := r.store.writer.Submit(ctx, op, previous)
	if err == nil && outcome.Guarded {
		err = errGuarded
	}
	return outcome, err
}
