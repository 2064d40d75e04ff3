// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// budget bounds the data of resources in memory. A resource that comes when it is used up is kept without its data,
// which are requested again for each evaluation. The nil budget has no bound.
type budget struct {
	// limit is in bytes.
	limit int64
	used  atomic.Int64
	// missing is the number of resources without data.
	missing atomic.Int64
	told    atomic.Bool
}

// newBudget returns a budget of some bytes; 0 means a quarter of GOMEMLIMIT, and no bound without that.
func newBudget(bytes int64) *budget {
	const share = 4 // The rest is for results, evaluations and the garbage of both.
	if bytes == 0 {
		if bytes = debug.SetMemoryLimit(-1); bytes == math.MaxInt64 {
			return nil
		}
		bytes /= share
	}
	return &budget{limit: bytes}
}

// spend counts the data of a resource until it is no longer in memory, or drops them if there is no room.
func (b *budget) spend(p *packed) {
	if b == nil {
		return
	}
	size := int64(len(p.data))
	if b.used.Add(size) <= b.limit {
		runtime.AddCleanup(p, func(size int64) { b.used.Add(-size) }, size)
		return
	}
	b.used.Add(-size)
	p.data, p.codec, p.dropped = nil, nil, true
	b.missing.Add(1)
	runtime.AddCleanup(p, func(n int64) { b.missing.Add(n) }, -1)
}

// observe sets the metrics, and logs once that the budget is used up.
func (b *budget) observe(ctx context.Context) {
	if b == nil {
		return
	}
	missing := b.missing.Load()
	dataBytes.Set(float64(b.used.Load()))
	notKept.Set(float64(missing))
	if missing > 0 && !b.told.Swap(true) {
		klog.FromContext(ctx).Info("There is not enough memory for all resources: some are requested again for each evaluation, which is slower. Raise GOMEMLIMIT and the container's limit",
			"resources", missing, "bytes", b.limit)
	}
}

const (
	firstFetchPause = 100 * time.Millisecond
	lastFetchPause  = 10 * time.Second
)

// fetch requests a resource whose data are not in memory. While the API does not answer, it waits. It returns nil if
// the resource is gone, which its source will tell, too.
func fetch(ctx context.Context, client dynamic.Interface, clock clock.Clock, k *kind, p *packed) (*unstructured.Unstructured, error) {
	resource := client.Resource(k.resource.GroupVersionResource)
	get := resource.Get
	if p.namespace != "" {
		get = resource.Namespace(p.namespace).Get
	}
	for pause := firstFetchPause; ; pause = min(2*pause, lastFetchPause) {
		fetched.Inc()
		object, err := get(ctx, p.name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), err == nil && object.GetUID() != p.uid:
			return nil, nil // See above.
		case err == nil:
			_, err = pack(object, detailNone, nil) // Strips it.
			return object, err
		case apierrors.IsForbidden(err):
			return nil, fmt.Errorf("request %s/%s again: %w", p.namespace, p.name, err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-clock.After(pause):
		}
	}
}
