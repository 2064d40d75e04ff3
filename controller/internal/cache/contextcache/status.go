// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	// ConditionReady reports whether policies get data of an entry that are up to date.
	ConditionReady = "Ready"
	// statusPause is the shortest time between two looks at the status of all entries.
	statusPause = time.Second
	// measurePause is how long what changes all the time is left alone in the status of an entry.
	measurePause = time.Minute
)

// Status is the status of a CachedContextEntry. That of a GlobalContextEntry has Conditions and
// LastRefreshTime only.
type Status struct {
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	// LastRefreshTime is when the data were complete last: a list, or an answer.
	LastRefreshTime *metav1.Time `json:"lastRefreshTime,omitempty"`
	// Resource is what the entry's resource was found to be; nil for calls.
	Resource *StatusResource `json:"resource,omitempty"`
	// Objects is how many there are; nil for calls, and while there are no data.
	Objects *int64 `json:"objects,omitempty"`
	// Bytes is the memory that the data take; nil while there are none.
	Bytes *int64 `json:"bytes,omitempty"`
}

// StatusResource is a resource of the API.
type StatusResource struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
}

// statusWriter writes the status of entry objects.
type statusWriter struct {
	cache *Cache
	// recorder takes Events about entries; nil for none.
	recorder record.EventRecorder
	// warned are the warnings of which there was an Event, by object.
	warned map[types.UID]string
	// measured is when what changes all the time was written last, by object.
	measured map[types.UID]time.Time
	// plain are kinds whose status keeps no conditions.
	plain map[string]bool
	// failed are the errors of the last attempts, which are logged once.
	failed map[types.UID]string
}

// MaintainStatus writes the status of entry objects until ctx is done, and returns nil then. Only
// the leader calls it, beside [Cache.Run].
func (c *Cache) MaintainStatus(ctx context.Context, recorder record.EventRecorder) error {
	w := &statusWriter{cache: c, recorder: recorder, warned: map[types.UID]string{}, measured: map[types.UID]time.Time{}, plain: map[string]bool{}, failed: map[types.UID]string{}}
	c.statusChanged()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.reporting.C():
		}
		w.all(ctx)
		timer := c.config.Clock.NewTimer(statusPause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

func (w *statusWriter) all(ctx context.Context) {
	index := w.cache.index.Load()
	exist := map[types.UID]bool{}
	for kind, declared := range w.cache.kinds {
		for key, d := range declared.All() {
			name := key.Name
			uid := d.object.GetUID()
			exist[uid] = true
			e := index.entries[policy.Entry{Kind: kind, Name: name}]
			if e == nil || e.definition != d.definition {
				continue // Not looked at yet.
			}
			w.warn(e, d.object)
			err := w.one(ctx, e, d.object)
			if ctx.Err() != nil {
				return
			}
			w.note(ctx, kind, name, uid, err)
		}
	}
	maps.DeleteFunc(w.measured, func(uid types.UID, _ time.Time) bool { return !exist[uid] })
	gone := func(uid types.UID, _ string) bool { return !exist[uid] }
	maps.DeleteFunc(w.warned, gone)
	maps.DeleteFunc(w.failed, gone)
}

// warn sends an Event about what may be wrong with an entry, once.
func (w *statusWriter) warn(e *entry, object *unstructured.Unstructured) {
	uid := object.GetUID()
	if w.recorder != nil && e.warning != "" && w.warned[uid] != e.warning {
		w.recorder.Event(object, corev1.EventTypeWarning, ReasonSeveralGroups, e.warning)
	}
	w.warned[uid] = e.warning
}

// note logs an error once.
func (w *statusWriter) note(ctx context.Context, kind, name string, uid types.UID, err error) {
	if err == nil {
		delete(w.failed, uid)
		return
	}
	w.cache.config.Metrics.failures.WithLabelValues(reasonOf(err)).Inc()
	if w.failed[uid] != err.Error() {
		klog.FromContext(ctx).Error(err, "The status of an entry of the context cache can't be written; will retry", "kind", kind, "name", name)
	}
	w.failed[uid] = err.Error()
}

// one writes the status of an object if it is not as it should be.
func (w *statusWriter) one(ctx context.Context, e *entry, object *unstructured.Unstructured) error {
	resource, found := w.cache.config.Served.Current().Lookup(entryResource(object.GetKind()), object.GetKind())
	if !found {
		return nil
	}
	client, name := w.cache.config.Client.Resource(resource.GroupVersionResource), object.GetName()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		before := statusOf(object)
		next := w.next(e, object, before)
		if canonical(before) == canonical(next) {
			return nil
		}
		patch, err := patchOf(object, next)
		if err != nil {
			return err
		}
		written, err := client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}, "status")
		if apierrors.IsConflict(err) {
			current, getErr := client.Get(ctx, name, metav1.GetOptions{})
			if getErr != nil {
				return getErr
			}
			current.SetKind(object.GetKind())
			if current.GetUID() != object.GetUID() || current.GetGeneration() != object.GetGeneration() {
				return nil // Another one; it is seen soon.
			}
			object = current
			return err
		}
		if err == nil {
			w.wrote(object, next, written)
		}
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil // Deleted meanwhile.
	}
	return err
}

const fieldManager = "docket-controller"

// wrote notes the result of a write.
func (w *statusWriter) wrote(object *unstructured.Unstructured, next *Status, written *unstructured.Unstructured) {
	w.measured[object.GetUID()] = w.cache.config.Clock.Now()
	if len(next.Conditions) > 0 && len(statusOf(written).Conditions) == 0 {
		w.plain[object.GetKind()] = true
	}
}

// next returns the status that an object should have.
func (w *statusWriter) next(e *entry, object *unstructured.Unstructured, before *Status) *Status {
	now := w.cache.config.Clock.Now()
	recent := now.Sub(w.measured[object.GetUID()]) < measurePause
	next := &Status{Conditions: append([]metav1.Condition(nil), before.Conditions...)}
	c := e.condition()
	status := metav1.ConditionFalse
	if c.ready {
		status = metav1.ConditionTrue
	}
	if !w.plain[object.GetKind()] {
		recent = !setCondition(&next.Conditions, metav1.Condition{
			Type: ConditionReady, Status: status, Reason: c.reason, Message: c.message,
			ObservedGeneration: object.GetGeneration(), LastTransitionTime: metav1.NewTime(now),
		}, recent) && recent
	}
	measure(next, e)
	if recent {
		next.LastRefreshTime, next.Objects, next.Bytes = before.LastRefreshTime, before.Objects, before.Bytes
	}
	if similar(before.Bytes, next.Bytes) {
		next.Bytes = before.Bytes
	}
	if object.GetKind() == policy.GlobalContextEntry {
		next.Resource, next.Objects, next.Bytes = nil, nil, nil
		if next.LastRefreshTime != nil && next.LastRefreshTime.Before(before.LastRefreshTime) {
			next.LastRefreshTime = before.LastRefreshTime // Kyverno writes it, too.
		}
		return next
	}
	next.ObservedGeneration = object.GetGeneration()
	return next
}

// similar reports whether two sizes differ so little that nobody wants to know.
func similar(a, b *int64) bool {
	return a != nil && b != nil && max(*a, *b)-min(*a, *b) <= *a/10
}

// setCondition reports whether something else is wrong or right than before. A message that only puts
// the same failure in other words waits for its time.
func setCondition(list *[]metav1.Condition, condition metav1.Condition, recent bool) bool {
	before := meta.FindStatusCondition(*list, condition.Type)
	same := before != nil && before.Reason == condition.Reason && before.ObservedGeneration == condition.ObservedGeneration
	if same && recent {
		return false
	}
	meta.SetStatusCondition(list, condition)
	return !same
}

// measure adds what is known of the data.
func measure(status *Status, e *entry) {
	if e.data == nil {
		return
	}
	objects := e.data.origin.call == nil
	if r := e.data.origin.selection.Resource; objects {
		status.Resource = &StatusResource{Group: r.Group, Version: r.Version, Resource: r.Resource}
	}
	s := e.data.state.Load()
	if !s.refreshed.IsZero() {
		status.LastRefreshTime = &metav1.Time{Time: s.refreshed.UTC().Truncate(time.Second)}
	}
	if s.data == nil {
		return
	}
	size := s.data.Bytes()
	status.Bytes = &size
	if objects {
		count := int64(s.data.Len())
		status.Objects = &count
	}
}

// statusOf reads the status of an object. One that somebody else has spoiled is none, and written
// again.
func statusOf(object *unstructured.Unstructured) *Status {
	status := &Status{}
	fields, found, err := unstructured.NestedMap(object.Object, "status")
	if err != nil || !found {
		return status
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, status); err != nil {
		return &Status{}
	}
	return status
}

// patchOf returns a merge patch that fails if the object has changed. What the status should not
// have any more is null.
func patchOf(object *unstructured.Unstructured, next *Status) ([]byte, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(next)
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	if object.GetKind() == policy.CachedContextEntry {
		for _, name := range []string{"lastRefreshTime", "resource", "objects", "bytes"} {
			if _, found := fields[name]; !found {
				fields[name] = nil
			}
		}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": object.GetResourceVersion()}, "status": fields,
	})
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	return patch, nil
}

// canonical returns a status in the form in which two can be compared.
func canonical(status *Status) string {
	data, err := json.Marshal(status)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
