// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/docket-project/docket/controller/internal/policy"
)

// Labels and annotations of reports. They, not names, say what a report is about.
const (
	// ManagedByLabel has the value Manager on every report that is ours. No other report is ever changed.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	Manager        = "docket-controller"
	// InstanceLabel is the instance that a report belongs to, if that has a name. Reports of other instances are
	// never changed either.
	InstanceLabel = "docket.dev/instance"
	// PolicyKindLabel, PolicyNameLabel and PolicyNamespaceLabel are for selectors. The end of a name that is
	// too long for a label is replaced by a hash.
	PolicyKindLabel      = "docket.dev/policy-kind"
	PolicyNameLabel      = "docket.dev/policy-name"
	PolicyNamespaceLabel = "docket.dev/policy-namespace"
	// LayoutLabel is LayoutSplit, or LayoutNamespace for reports on all policies.
	LayoutLabel     = "docket.dev/layout"
	LayoutSplit     = "split"
	LayoutNamespace = "namespace"
	// ChunkLabel is the number of the report among those on the same policy and namespace.
	ChunkLabel = "docket.dev/chunk"
	// PolicyAnnotation is the policy of a split report, as [policy.Identity.String] returns it.
	PolicyAnnotation = "docket.dev/policy"
	// PoliciesAnnotation lists the policies of a report on all policies: identity=source, separated by commas.
	PoliciesAnnotation = "docket.dev/policies"
)

// selector matches the reports of an instance.
func selector(instance string) string {
	const ours = ManagedByLabel + "=" + Manager
	if instance == "" {
		return ours + ",!" + InstanceLabel
	}
	return ours + "," + InstanceLabel + "=" + instance
}

// belongs reports whether a report with these labels is one of an instance.
func belongs(labels map[string]string, instance string) bool {
	of, named := labels[InstanceLabel]
	return labels[ManagedByLabel] == Manager && of == instance && named == (instance != "")
}

// label returns the value of LayoutLabel.
func (o *Options) label() string {
	if o.Split {
		return LayoutSplit
	}
	return LayoutNamespace
}

// marks returns the labels and annotations of a chunk.
func (c *chunk) marks() (labels, annotations map[string]string) {
	labels = map[string]string{ManagedByLabel: Manager, ChunkLabel: strconv.Itoa(c.number)}
	if c.group.instance != "" {
		labels[InstanceLabel] = c.group.instance
	}
	owner := c.group.key.owner
	if owner == nil {
		labels[LayoutLabel] = LayoutNamespace
		return labels, map[string]string{PoliciesAnnotation: c.policies()}
	}
	id := owner.id
	labels[LayoutLabel] = LayoutSplit
	labels[PolicyKindLabel] = id.Kind
	labels[PolicyNameLabel] = shorten(id.Name, validation.LabelValueMaxLength)
	if id.Namespace != "" {
		labels[PolicyNamespaceLabel] = id.Namespace
	}
	return labels, map[string]string{PolicyAnnotation: id.String()}
}

func (c *chunk) policies() string {
	entries := make([]string, 0, len(c.owners))
	for owner := range c.owners {
		entries = append(entries, owner.id.String()+"="+listedSource(owner.presentation.Source))
	}
	slices.Sort(entries)
	return strings.Join(entries, ",")
}

// listedSource returns a source as it is in [PoliciesAnnotation], where it can't have a comma.
func listedSource(source string) string {
	return strings.ReplaceAll(source, ",", " ")
}

// named is what results say about which policy they belong to.
type named struct {
	source, policy string
}

// parsePolicies reads a [PoliciesAnnotation], without its invalid entries.
func parsePolicies(text string) map[named]policy.Identity {
	result := map[named]policy.Identity{}
	for entry := range strings.SplitSeq(text, ",") {
		identity, source, _ := strings.Cut(entry, "=")
		if id, err := policy.ParseIdentity(identity); err == nil {
			result[named{source: source, policy: id.ResultName()}] = id
		}
	}
	return result
}

// isOurs reports whether key is one of our labels or annotations.
func isOurs(key string) bool {
	switch key {
	case ManagedByLabel, InstanceLabel, PolicyKindLabel, PolicyNameLabel, PolicyNamespaceLabel, LayoutLabel, ChunkLabel,
		PolicyAnnotation, PoliciesAnnotation:
		return true
	default:
		return false
	}
}

// keepOurs returns our labels or annotations, without those that others have added.
func keepOurs(all map[string]string) map[string]string {
	ours := maps.Clone(all)
	maps.DeleteFunc(ours, func(key, _ string) bool { return !isOurs(key) })
	return ours
}

// foreign is what others have added to the metadata of a report, as of one resourceVersion. It goes into the
// update of that version: if somebody adds something meanwhile, the update is a conflict.
type foreign struct {
	labels, annotations map[string]string
	owners              []metav1.OwnerReference
	finalizers          []string
}

// foreignOf returns what others have added to an object, with which it shares nothing; nil, for most reports,
// if there is nothing.
func foreignOf(object metav1.Object) *foreign {
	f := foreign{
		labels: othersOf(object.GetLabels()), annotations: othersOf(object.GetAnnotations()),
		owners: slices.Clone(object.GetOwnerReferences()), finalizers: slices.Clone(object.GetFinalizers()),
	}
	if len(f.labels) == 0 && len(f.annotations) == 0 && len(f.owners) == 0 && len(f.finalizers) == 0 {
		return nil
	}
	return &f
}

// othersOf returns the keys that are not ours.
func othersOf(all map[string]string) map[string]string {
	others := maps.Clone(all)
	maps.DeleteFunc(others, func(key, _ string) bool { return isOurs(key) })
	return others
}

// addTo adds it to a report that has only our metadata. f may be nil.
func (f *foreign) addTo(object metav1.Object) {
	if f == nil {
		return
	}
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	maps.Copy(labels, f.labels)
	maps.Copy(annotations, f.annotations)
	object.SetLabels(labels)
	object.SetAnnotations(annotations)
	object.SetOwnerReferences(f.owners)
	object.SetFinalizers(f.finalizers)
}
