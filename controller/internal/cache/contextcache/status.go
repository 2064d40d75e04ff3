// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
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
	LastRefreshTime *metav1.Time `json:"lastRefreshTime"`
	// Resource is what the entry's resource was found to be; nil for calls.
	Resource *StatusResource `json:"resource"`
	// Objects is how many there are; nil for calls, and while there are no data.
	Objects *int64 `json:"objects"`
	// Bytes is the memory that the data take; nil while there are none.
	Bytes *int64 `json:"bytes"`
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
	// known is what was done about each object.
	known map[types.UID]*statusNotes
	// plain are kinds whose status keeps no conditions.
	plain map[string]bool
}

// statusNotes are what was done about an object.
type statusNotes struct {
	// warned is the warning of which there was an Event, failed the error of the last attempt, which is logged once.
	warned, failed string
	// measured is when what changes all the time was written last.
	measured time.Time
}

// MaintainStatus writes the status of entry objects until ctx is done, and returns nil then. Only
// the leader calls it, beside [Cache.Run].
func (c *Cache) MaintainStatus(ctx context.Context, recorder record.EventRecorder) error {
	w := &statusWriter{cache: c, recorder: recorder, known: map[types.UID]*statusNotes{}, plain: map[string]bool{}}
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

// all writes what should be different. What fails or meets a conflict is retried at the next look.
func (w *statusWriter) all(ctx context.Context) {
	index, known := w.cache.index.Load(), map[types.UID]*statusNotes{}
	for kind, declared := range w.cache.kinds {
		for key, d := range declared.All() {
			uid := d.object.GetUID()
			notes := w.known[uid]
			if notes == nil {
				notes = &statusNotes{}
			}
			known[uid] = notes
			e := index.entries[policy.Entry{Kind: kind, Name: key.Name}]
			if e == nil || e.definition != d.definition {
				continue // Not looked at yet.
			}
			if w.recorder != nil && e.warning != "" && notes.warned != e.warning {
				w.recorder.Event(d.object, corev1.EventTypeWarning, ReasonSeveralGroups, e.warning)
			}
			notes.warned = e.warning
			err := w.one(ctx, e, d.object, notes)
			if ctx.Err() != nil {
				return
			}
			w.note(ctx, d.object, notes, err)
		}
	}
	w.known = known
}

// note logs an error once.
func (w *statusWriter) note(ctx context.Context, object *unstructured.Unstructured, notes *statusNotes, err error) {
	if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		notes.failed = "" // Another version of it is seen soon.
		return
	}
	w.cache.config.Metrics.failures.WithLabelValues(reasonOf(err)).Inc()
	if notes.failed != err.Error() {
		klog.FromContext(ctx).Error(err, "The status of an entry of the context cache can't be written; will retry", "kind", object.GetKind(), "name", object.GetName())
	}
	notes.failed = err.Error()
}

// one writes the status of an object if it is not as it should be.
func (w *statusWriter) one(ctx context.Context, e *entry, object *unstructured.Unstructured, notes *statusNotes) error {
	resource, found := w.cache.config.Served.Current().Lookup(entryResource(object.GetKind()), object.GetKind())
	before := statusOf(object)
	next := w.next(e, object, before, notes.measured)
	if !found || equality.Semantic.DeepEqual(before, next) {
		return nil
	}
	// It fails if the object has changed. What the status should not have any more is null.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": object.GetResourceVersion()}, "status": next})
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	written, err := w.cache.config.Client.Resource(resource.GroupVersionResource).Patch(
		ctx, object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "docket-controller"}, "status")
	if err != nil {
		return err
	}
	notes.measured = w.cache.config.Clock.Now()
	if len(next.Conditions) > 0 && len(statusOf(written).Conditions) == 0 {
		w.plain[object.GetKind()] = true
	}
	return nil
}

// next returns the status that an object should have.
func (w *statusWriter) next(e *entry, object *unstructured.Unstructured, before *Status, measured time.Time) *Status {
	now := w.cache.config.Clock.Now()
	recent := now.Sub(measured) < measurePause
	next := &Status{Conditions: append([]metav1.Condition(nil), before.Conditions...)}
	reason, message := e.condition()
	status := metav1.ConditionFalse
	if reason == ReasonLoaded {
		status = metav1.ConditionTrue
	}
	if !w.plain[object.GetKind()] {
		recent = !setCondition(&next.Conditions, metav1.Condition{
			Type: ConditionReady, Status: status, Reason: reason, Message: message,
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
		if next.LastRefreshTime == nil || next.LastRefreshTime.Before(before.LastRefreshTime) {
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
