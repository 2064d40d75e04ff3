// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/cluster/broadcast"
	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	// ConditionReady says whether a policy is evaluated.
	ConditionReady = "Ready"
	// The reasons are Kyverno's.
	reasonSucceeded, reasonFailed = "Succeeded", "Failed"
	// statusRetry is how long a status that could not be written is left alone.
	statusRetry = 30 * time.Second
	// maxConditionMessage is the limit of a condition's message in the API, in bytes.
	maxConditionMessage = 32768
)

// statusWriter writes the status of policies.
type statusWriter struct {
	client dynamic.Interface
	now    func() time.Time
	// written is what the status of each policy says.
	written map[types.UID]metav1.Condition
	// failed are the errors of the last attempts, which are logged once.
	failed map[types.UID]string
}

// MaintainStatus keeps the condition [ConditionReady] of all policies of Kyverno's kinds until ctx is done, and
// returns nil then. Only the leader should call it, and only where Kyverno, which writes the same, does not run.
func (s *Set) MaintainStatus(ctx context.Context) error {
	changed := broadcast.NewTrigger()
	defer s.Subscribe(changed.Fire)()
	w := &statusWriter{client: s.config.Client, now: s.config.Clock.Now, written: map[types.UID]metav1.Condition{}, failed: map[types.UID]string{}}
	changed.Fire()
	retry := s.config.Clock.NewTicker(statusRetry)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed.C():
		case <-retry.C():
			if len(w.failed) == 0 {
				continue
			}
		}
		if snapshot := s.Current(); snapshot != nil {
			w.all(ctx, snapshot)
		}
	}
}

// all writes each status that is not as it should be.
func (w *statusWriter) all(ctx context.Context, snapshot *Snapshot) {
	exist := map[types.UID]bool{}
	for _, item := range snapshot.Items {
		if ctx.Err() != nil {
			return
		}
		if item.Object.GroupVersionKind().Group == policy.AdmissionGroup {
			continue // kube-controller-manager writes it.
		}
		uid, want := item.Object.GetUID(), conditionOf(item)
		exist[uid] = true
		if w.written[uid] == want {
			continue
		}
		err := w.one(ctx, item, want)
		switch {
		case err == nil:
			w.written[uid] = want
			delete(w.failed, uid)
		case ctx.Err() == nil:
			if w.failed[uid] != err.Error() {
				klog.FromContext(ctx).Error(err, "The status of a policy can't be written; will retry", "policy", item.Policy.Identity())
			}
			w.failed[uid] = err.Error()
		}
	}
	gone := func(uid types.UID) bool { return !exist[uid] }
	maps.DeleteFunc(w.written, func(uid types.UID, _ metav1.Condition) bool { return gone(uid) })
	maps.DeleteFunc(w.failed, func(uid types.UID, _ string) bool { return gone(uid) })
}

// conditionOf returns what the status of a policy should say, without a time.
func conditionOf(item *Item) metav1.Condition {
	condition := metav1.Condition{
		Type: ConditionReady, Status: metav1.ConditionTrue, Reason: reasonSucceeded, Message: "Ready", ObservedGeneration: item.Object.GetGeneration(),
	}
	if doubt := item.Policy.Doubt(); doubt != nil {
		condition.Message = doubt.Error()
	}
	if problem := item.Policy.Problem(); problem != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, reasonFailed, problem.Error()
	}
	if len(condition.Message) > maxConditionMessage {
		condition.Message = strings.ToValidUTF8(condition.Message[:maxConditionMessage], "")
	}
	return condition
}

// one writes the status of a policy, unless it says already what it should.
func (w *statusWriter) one(ctx context.Context, item *Item, want metav1.Condition) error {
	kind := item.Object.GroupVersionKind()
	resource := w.client.Resource(kind.GroupVersion().WithResource(policy.Kinds()[kind.GroupKind()])).Namespace(item.Object.GetNamespace())
	current, err := resource.Get(ctx, item.Object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && current.GetUID() != item.Object.GetUID() {
		return nil // Deleted meanwhile.
	}
	if err != nil {
		return err
	}
	at := conditionsPath(kind.Group)
	conditions := conditionsIn(current, at)
	want.LastTransitionTime = metav1.NewTime(w.now())
	if !meta.SetStatusCondition(&conditions, want) {
		return nil
	}
	patch, err := statusPatch(current.GetResourceVersion(), kind.Group, conditions)
	if err != nil {
		return err
	}
	_, err = resource.Patch(ctx, item.Object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}, "status")
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

const fieldManager = "docket-controller"

// conditionsPath returns where the kinds of a group have their conditions.
func conditionsPath(group string) []string {
	if group == policy.CELGroup {
		return []string{"status", "conditionStatus", "conditions"}
	}
	return []string{"status", "conditions"}
}

// conditionsIn returns the conditions of an object. What somebody else has spoiled is overwritten.
func conditionsIn(object *unstructured.Unstructured, path []string) []metav1.Condition {
	list, _, err := unstructured.NestedSlice(object.Object, path...)
	if err != nil {
		return nil
	}
	conditions := make([]metav1.Condition, 0, len(list))
	for _, entry := range list {
		fields, ok := entry.(map[string]any)
		var condition metav1.Condition
		if ok && runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &condition) == nil {
			conditions = append(conditions, condition)
		}
	}
	return conditions
}

// statusPatch returns a merge patch that fails if the object has changed.
func statusPatch(resourceVersion, group string, conditions []metav1.Condition) ([]byte, error) {
	status := map[string]any{"conditions": conditions}
	if group == policy.CELGroup {
		status["ready"] = meta.IsStatusConditionTrue(conditions, ConditionReady)
		status["message"] = ""
		status = map[string]any{"conditionStatus": status}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": resourceVersion}, "status": status})
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	return patch, nil
}
