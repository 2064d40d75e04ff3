// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/value"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/docket-project/docket/internal/store/engine"
)

// ResourceConfig describes a resource to store.
type ResourceConfig struct {
	GroupResource schema.GroupResource
	// Prefix of the resource's storage keys; a slash is added when it lacks one.
	Prefix string
	// Codec encodes objects as they are stored.
	Codec runtime.Codec
	// OneVersion says that Codec converts and defaults nothing when it decodes, so that
	// what was written need not be decoded to know what was stored.
	OneVersion bool
	// ManyVersions says that there may be further Resources of the same objects whose codecs decode them as other
	// versions, and that such come and go. Decoded objects are then neither kept nor shared between watchers, and the
	// store forgets the Resource.
	ManyVersions bool
	// Transformer of encoded objects; none when nil.
	Transformer value.Transformer
	NewFunc     func() runtime.Object
	NewListFunc func() runtime.Object
	// Attributes returns labels and selectable fields of an object, to index.
	Attributes storage.AttrFunc
	// Project returns the result rows of an object; none when nil.
	Project Projector
}

// Projector returns the result rows of an object, nil for none.
type Projector func(runtime.Object) (*engine.Projection, error)

// Resource is the storage.Interface of one resource.
type Resource struct {
	store       *Store
	config      ResourceConfig
	resource    engine.Resource
	transformer value.Transformer
	versioner   storage.Versioner
	// label names the resource in metrics.
	label     string
	progress  broadcast
	streaming pageSize
}

var _ storage.Interface = (*Resource)(nil)

// Resource returns the storage of a resource. It needs no closing.
func (s *Store) Resource(config ResourceConfig) *Resource {
	if !strings.HasSuffix(config.Prefix, "/") {
		config.Prefix += "/"
	}
	r := &Resource{
		store: s, config: config, resource: engine.Resource(config.Prefix),
		transformer: config.Transformer, versioner: storage.APIObjectVersioner{},
		label: config.GroupResource.String(),
	}
	r.progress.init()
	s.add(r)
	return r
}

// Versioner implements storage.Interface.
func (r *Resource) Versioner() storage.Versioner { return r.versioner }

// Get implements storage.Interface.
func (r *Resource) Get(ctx context.Context, key string, opts storage.GetOptions, out runtime.Object) (err error) {
	key, err = r.prepareKey(key, false)
	if err != nil {
		return err
	}
	defer r.observe("get", &err)()
	row, state, err := r.store.engine.Get(ctx, r.resource, r.rest(key))
	if err != nil {
		return apiError("get "+r.label, err)
	}
	if err := r.atLeast(opts.ResourceVersion, state.Revision); err != nil {
		return err
	}
	if row == nil {
		if opts.IgnoreNotFound {
			return runtime.SetZeroValue(out)
		}
		return storage.NewKeyNotFoundError(key, 0)
	}
	if err := r.fill(ctx, out, *row); err != nil {
		if utilfeature.DefaultFeatureGate.Enabled(features.AllowUnsafeMalformedObjectDeletion) {
			return storage.NewCorruptObjError(key, err)
		}
		return err
	}
	return nil
}

// fill sets out to the object of a row.
func (r *Resource) fill(ctx context.Context, out runtime.Object, row engine.Row) error {
	if encoded, ok := out.(EncodedObject); ok {
		data, err := r.encoded(ctx, row, make([]byte, 0, roomOf(row)))
		if err != nil {
			return err
		}
		encoded.SetJSON(data)
		return nil
	}
	object, err := r.object(ctx, row, r.store.cache.put)
	if err != nil {
		return err
	}
	return copyInto(out, object)
}

// Stats implements storage.Interface.
func (r *Resource) Stats(ctx context.Context) (storage.Stats, error) {
	stats, err := r.store.engine.Stats(ctx, r.resource)
	if err != nil {
		return storage.Stats{}, apiError("count "+r.label, err)
	}
	result := storage.Stats{ObjectCount: stats.Objects}
	if stats.Objects > 0 {
		result.EstimatedAverageObjectSizeBytes = stats.Bytes / stats.Objects
	}
	return result, nil
}

// EnableResourceSizeEstimation implements storage.Interface. Sizes are always known, so there is nothing to enable.
func (r *Resource) EnableResourceSizeEstimation(storage.KeysFunc) error { return nil }

// ReadinessCheck implements storage.Interface. Readiness is one check for all resources: Store.Ready.
func (r *Resource) ReadinessCheck() error { return nil }

// CompactRevision implements storage.Interface.
func (r *Resource) CompactRevision() int64 { return int64(r.store.hub.State().Compacted) }

// GetCurrentResourceVersion implements storage.Interface. It asks the
// database, and makes sure that watches see what it saw soon.
func (r *Resource) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	state, err := r.store.engine.State(ctx)
	if err != nil {
		return 0, apiError("read the resource version of "+r.label, err)
	}
	if state.Revision > r.store.hub.State().Revision {
		r.store.wake()
	}
	return uint64(state.Revision), nil
}

// RequestWatchProgress implements storage.Interface: watches that asked for progress get a bookmark.
func (r *Resource) RequestWatchProgress(context.Context) error {
	r.store.wake()
	r.progress.send()
	return nil
}

// prepareKey checks a key, and makes it a prefix when it is recursive.
func (r *Resource) prepareKey(key string, recursive bool) (string, error) {
	if !storable(key) {
		return "", apierrors.NewBadRequest("names and namespaces must be UTF-8 text without zero bytes")
	}
	return storage.PrepareKey(r.config.Prefix, key, recursive)
}

// storable reports whether every engine can hold a key.
func storable(key string) bool { return utf8.ValidString(key) && !strings.ContainsRune(key, 0) }

// rest returns a prepared key without the resource's prefix.
func (r *Resource) rest(key string) string { return key[len(r.config.Prefix):] }

// atLeast implements the promise that data is at least as new as a requested resource version.
func (r *Resource) atLeast(requested string, actual engine.Revision) error {
	if requested == "" {
		return nil
	}
	revision, err := r.versioner.ParseResourceVersion(requested)
	if err != nil {
		return badResourceVersion(err)
	}
	if revision > uint64(actual) {
		return storage.NewTooLargeResourceVersionError(revision, uint64(actual), retryAfterSeconds)
	}
	return nil
}

// keepFunc puts an object into the cache, or not.
type keepFunc func(key cacheKey, revision engine.Revision, object runtime.Object, size int32)

// object returns the decoded object of a row, shared and not to be changed.
func (r *Resource) object(ctx context.Context, row engine.Row, keep keepFunc) (runtime.Object, error) {
	key := cacheKey{r.resource, row.Key}
	if r.cacheable() {
		if object := r.store.cache.get(key, row.Revision); object != nil {
			cacheRequests.WithLabelValues("hit").Inc()
			return object, nil
		}
		cacheRequests.WithLabelValues("miss").Inc()
	}
	data, _, err := r.unpack(ctx, row.Key, row.Value)
	if err != nil {
		return nil, err
	}
	object, err := r.decode(data, row.Revision)
	if err != nil {
		return nil, err
	}
	if r.cacheable() {
		keep(key, row.Revision, object, row.Size)
	}
	return object, nil
}

// cacheable: what a transformer says may change from one read to the next, and the cache knows objects by key only.
func (r *Resource) cacheable() bool { return r.transformer == nil && !r.config.ManyVersions }

// unpack returns the encoded object of a value, and whether the transformer wants it rewritten.
func (r *Resource) unpack(ctx context.Context, key string, v engine.Value) ([]byte, bool, error) {
	data, err := r.store.codec.Unpack(v)
	if err != nil {
		return nil, false, r.corrupt(key, err)
	}
	if r.transformer == nil {
		return data, false, nil
	}
	data, stale, err := r.transformer.TransformFromStorage(ctx, data, r.transformContext(key))
	if err != nil {
		return nil, false, storage.NewInternalError(&corruptError{fmt.Errorf("unable to transform key %q: %w", r.config.Prefix+key, err)})
	}
	return data, stale, nil
}

// corrupt is the error of a value that can't be unpacked.
func (r *Resource) corrupt(key string, err error) error {
	return storage.NewInternalError(&corruptError{fmt.Errorf("object %s%s: %w", r.config.Prefix, key, err)})
}

// pack returns the value to store for an encoded object.
func (r *Resource) pack(ctx context.Context, key string, data []byte) (engine.Value, error) {
	if r.transformer != nil {
		var err error
		if data, err = r.transformer.TransformToStorage(ctx, data, r.transformContext(key)); err != nil {
			return engine.Value{}, storage.NewInternalError(err)
		}
	}
	return r.store.codec.Pack(data), nil
}

// transformContext binds a value to its key, so that it can't be moved.
func (r *Resource) transformContext(key string) value.Context {
	return value.DefaultContext(r.config.Prefix + key)
}

// decode returns the object of encoded data, with its resource version set.
func (r *Resource) decode(data []byte, revision engine.Revision) (runtime.Object, error) {
	object, _, err := r.config.Codec.Decode(data, nil, r.config.NewFunc())
	if err != nil {
		return nil, &corruptError{err}
	}
	if err := r.versioner.UpdateObject(object, uint64(revision)); err != nil {
		return nil, fmt.Errorf("set the resource version: %w", err)
	}
	return object, nil
}

// observe records how long an operation took when the returned function runs.
func (r *Resource) observe(operation string, err *error) func() {
	clock := r.store.options.Clock
	start := clock.Now()
	return func() { observeOperation(operation, r.label, *err, clock.Since(start)) }
}

// expiry returns the Unix time at which a time to live in seconds ends.
func (r *Resource) expiry(ttl uint64) int64 {
	if ttl == 0 {
		return 0
	}
	return r.store.options.Clock.Now().Add(time.Duration(ttl) * time.Second).Unix()
}

// copyInto sets out to a deep copy of object.
func copyInto(out, object runtime.Object) error {
	target, err := conversion.EnforcePtr(out)
	if err != nil {
		return fmt.Errorf("output object: %w", err)
	}
	source := reflect.ValueOf(object.DeepCopyObject())
	if source.Kind() != reflect.Pointer || source.Elem().Type() != target.Type() {
		return fmt.Errorf("output object is a %T, stored is a %T", out, object)
	}
	target.Set(source.Elem())
	return nil
}

// broadcast wakes everybody who waits on it at the time.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

func (b *broadcast) init() { b.ch = make(chan struct{}) }

// wait returns a channel that is closed by the next send.
func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ch
}

func (b *broadcast) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.ch)
	b.ch = make(chan struct{})
}
