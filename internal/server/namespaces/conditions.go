// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// shown parts of a list in a message; the rest is a number.
const shown = 20

// report writes what was found to the conditions of the namespace, if it has changed.
func (c *Controller) report(ctx context.Context, emptied *corev1.Namespace, found *findings) error {
	wanted := found.conditions()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		namespace, err := c.core.CoreV1().Namespaces().Get(ctx, emptied.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && namespace.UID != emptied.UID {
			return nil // The namespace is gone.
		}
		if err != nil {
			return err
		}
		changed := namespace.Status.Phase != corev1.NamespaceTerminating
		namespace.Status.Phase = corev1.NamespaceTerminating
		for _, condition := range wanted {
			changed = set(&namespace.Status, condition) || changed
		}
		if !changed {
			return nil
		}
		_, err = c.core.CoreV1().Namespaces().UpdateStatus(ctx, namespace, metav1.UpdateOptions{})
		return err
	})
}

// set sets a condition in status and reports whether that changed anything. A condition that
// is false is not added, so that a namespace without problems ends without conditions.
func set(status *corev1.NamespaceStatus, condition corev1.NamespaceCondition) bool {
	i := slices.IndexFunc(status.Conditions, func(have corev1.NamespaceCondition) bool { return have.Type == condition.Type })
	if i < 0 {
		if condition.Status == corev1.ConditionFalse {
			return false
		}
		condition.LastTransitionTime = metav1.Now()
		status.Conditions = append(status.Conditions, condition)
		return true
	}
	have := &status.Conditions[i]
	if have.Status == condition.Status && have.Reason == condition.Reason && have.Message == condition.Message {
		return false
	}
	condition.LastTransitionTime = have.LastTransitionTime
	if have.Status != condition.Status {
		condition.LastTransitionTime = metav1.Now()
	}
	*have = condition
	return true
}

// conditions are all that there can be about the end of a namespace.
func (f *findings) conditions() []corev1.NamespaceCondition {
	return []corev1.NamespaceCondition{
		about(corev1.NamespaceDeletionDiscoveryFailure, f.discovery != nil,
			"DiscoveryFailed", "ResourcesDiscovered", func() string { return explain(f.discovery) },
			"the resources of all groups are known"),
		about(corev1.NamespaceDeletionGVParsingFailure, f.parsing != nil,
			"GroupVersionParsingFailed", "ParsedGroupVersions", func() string { return f.parsing.Error() },
			"the names of all group versions make sense"),
		about(corev1.NamespaceDeletionContentFailure, f.deletion != nil,
			"ContentDeletionFailed", "ContentDeleted", func() string { return f.deletion.Error() },
			"no deletion was refused"),
		about(corev1.NamespaceContentRemaining, len(f.objects) > 0,
			"SomeResourcesRemain", "ContentRemoved", f.remaining,
			"nothing is left of what could be found"),
		about(corev1.NamespaceFinalizersRemaining, len(f.finalizers) > 0,
			"SomeFinalizersRemain", "ContentHasNoFinalizers", f.held,
			"no object is held by a finalizer"),
	}
}

func about(kind corev1.NamespaceConditionType, is bool, reason, otherwise string, message func() string, fine string) corev1.NamespaceCondition {
	if is {
		return corev1.NamespaceCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message()}
	}
	return corev1.NamespaceCondition{Type: kind, Status: corev1.ConditionFalse, Reason: otherwise, Message: fine}
}

func (f *findings) remaining() string {
	var parts []string
	for resource, count := range f.objects {
		parts = append(parts, fmt.Sprintf("%d of %s", count, resource))
	}
	slices.Sort(parts)
	return "objects remain: " + joinSome(parts)
}

func (f *findings) held() string {
	var parts []string
	for _, finalizer := range slices.Sorted(maps.Keys(f.finalizers)) {
		parts = append(parts, fmt.Sprintf("%s on %d", finalizer, f.finalizers[finalizer]))
	}
	return "finalizers hold objects until their owners remove them: " + joinSome(parts)
}

func joinSome(parts []string) string {
	if more := len(parts) - shown; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(parts[:shown], ", "), more)
	}
	return strings.Join(parts, ", ")
}
