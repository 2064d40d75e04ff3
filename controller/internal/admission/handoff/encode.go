// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"

	"github.com/docket-project/docket/api/report"
	reportsv1 "github.com/docket-project/docket/api/reportskyverno/v1"
	"github.com/docket-project/docket/controller/internal/policy"
)

// Labels and annotations of EphemeralReports: ours, and those of Kyverno that kubectl shows.
const (
	// Selector matches the EphemeralReports that are ours.
	Selector       = managedByLabel + "=" + manager
	managedByLabel = "app.kubernetes.io/managed-by"
	manager        = "docket-controller"
	// AdmittedAnnotation has what is not in the results: an envelope as JSON.
	AdmittedAnnotation = "docket.dev/admitted"

	sourceLabel         = "audit.kyverno.io/source"
	groupLabel          = "audit.kyverno.io/resource.group"
	versionLabel        = "audit.kyverno.io/resource.version"
	kindLabel           = "audit.kyverno.io/resource.kind"
	hashLabel           = "audit.kyverno.io/resource.hash"
	nameAnnotation      = "audit.kyverno.io/resource.name"
	namespaceAnnotation = "audit.kyverno.io/resource.namespace"
)

const (
	formatVersion = 1
	// The limits of an EphemeralReport: policies, and roughly the bytes of its results.
	maxPolicies, maxBytes = 100, 256 << 10
	maxMessage            = 8 << 10
	maxProperty           = 1 << 10
	maxProperties         = 32
	ellipsis              = "…"
)

// envelope is the content of the annotation: what is not in the results.
type envelope struct {
	Version  int        `json:"version"`
	Group    string     `json:"group,omitempty"`
	Resource string     `json:"resource"`
	Policies []admitted `json:"policies"`
}

// admitted is a [policy.Admitted] without what is elsewhere in the report. It has the number of its results, which are
// the next ones of the report.
type admitted struct {
	Policy      string    `json:"policy"`
	Fingerprint string    `json:"fingerprint"`
	Content     string    `json:"content"`
	Time        time.Time `json:"time"`
	Results     int       `json:"results"`
	Deleted     bool      `json:"deleted,omitempty"`
}

// resourceOf returns the resource of reports on namespaced or cluster-scoped subjects.
func resourceOf(namespaced bool) schema.GroupVersionResource {
	if namespaced {
		return reportsv1.SchemeGroupVersion.WithResource("ephemeralreports")
	}
	return reportsv1.SchemeGroupVersion.WithResource("clusterephemeralreports")
}

func at(client dynamic.Interface, namespace string) dynamic.ResourceInterface {
	return client.Resource(resourceOf(namespace != "")).Namespace(namespace)
}

// encode returns EphemeralReports with the items of one subject, and the number of items that don't fit into any.
func encode(items []Item) (objects []*unstructured.Unstructured, left int) {
	var batch []Item
	size := 0
	flush := func() {
		if len(batch) > 0 {
			objects = append(objects, encodeBatch(batch))
		}
		batch, size = nil, 0
	}
	for _, item := range items {
		item.Results = fitResults(item.Results)
		add := item.size()
		if add > maxBytes {
			left++
			continue
		}
		// All items of a report are for one resource; there are two if the object came in two versions.
		if len(batch) == maxPolicies || size+add > maxBytes || len(batch) > 0 && (batch[0].Resource != item.Resource || batch[0].Subject != item.Subject) {
			flush()
		}
		batch, size = append(batch, item), size+add
	}
	flush()
	return objects, left
}

func encodeBatch(items []Item) *unstructured.Unstructured {
	first := &items[0]
	subject := first.Subject
	note := envelope{Version: formatVersion, Group: first.Resource.Group, Resource: first.Resource.Resource}
	var results []report.Result
	for i := range items {
		item := &items[i]
		note.Policies = append(note.Policies, admitted{
			Policy: item.Policy.String(), Fingerprint: item.Fingerprint, Content: item.Content.String(),
			Time: item.Time.UTC(), Results: len(item.Results), Deleted: item.Deleted,
		})
		for _, r := range item.Results {
			results = append(results, render(item, r))
		}
	}
	meta := metav1.ObjectMeta{
		Namespace: subject.Namespace, Name: string(uuid.NewUUID()),
		Labels: map[string]string{
			managedByLabel: manager, sourceLabel: commonSource(items), groupLabel: first.Resource.Group,
			versionLabel: first.Resource.Version, kindLabel: subject.Kind, hashLabel: first.Content.String(),
		},
		Annotations: map[string]string{nameAnnotation: subject.Name, namespaceAnnotation: subject.Namespace, AdmittedAnnotation: encodeNote(note)},
	}
	// They are for people: what is not valid as a label is left out.
	maps.DeleteFunc(meta.Labels, func(_, value string) bool { return value == "" || len(validation.IsValidLabelValue(value)) > 0 })
	body := reportsv1.ReportBody{Spec: reportsv1.EphemeralReportSpec{
		Owner:   &metav1.OwnerReference{APIVersion: subject.APIVersion, Kind: subject.Kind, Name: subject.Name, UID: subject.UID},
		Summary: report.Count(results).Summary(), Results: results,
	}}
	return toUnstructured(meta, body)
}

// commonSource returns the engine of all items; empty if there are several.
func commonSource(items []Item) string {
	source := items[0].Presentation.Source
	for i := range items {
		if items[i].Presentation.Source != source {
			return ""
		}
	}
	return source
}

// encodeNote returns no error, since encoding/json accepts every envelope.
func encodeNote(note envelope) string {
	data, err := json.Marshal(note)
	if err != nil {
		return ""
	}
	return string(data)
}

func toUnstructured(meta metav1.ObjectMeta, body reportsv1.ReportBody) *unstructured.Unstructured {
	kind := "EphemeralReport"
	var typed any = &reportsv1.EphemeralReport{ObjectMeta: meta, ReportBody: body}
	if meta.Namespace == "" {
		kind = "ClusterEphemeralReport"
		typed = &reportsv1.ClusterEphemeralReport{ObjectMeta: meta, ReportBody: body}
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		fields = map[string]any{} // This can't happen with these types. The server would refuse an empty object.
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetGroupVersionKind(reportsv1.SchemeGroupVersion.WithKind(kind))
	return object
}

func render(item *Item, r policy.Result) report.Result {
	shown, subject := &item.Presentation, &item.Subject
	result := report.Result{
		Policy: item.Policy.ResultName(), Rule: r.Rule, Category: shown.Category, Severity: shown.Severity,
		Timestamp: &metav1.Timestamp{Seconds: item.Time.Unix()}, Result: r.Outcome, Scored: new(shown.Scored),
		Message: r.Message, Properties: r.Properties,
		Resources: []report.ObjectReference{{
			APIVersion: subject.APIVersion, Kind: subject.Kind, Namespace: subject.Namespace, Name: subject.Name, UID: subject.UID,
		}},
	}
	if shown.Source != "" {
		result.Source = new(shown.Source)
	}
	return result
}

// fitResults shortens the texts of results, without changing the originals, which are shared.
func fitResults(results []policy.Result) []policy.Result {
	fitted := slices.Clone(results)
	for i := range fitted {
		fitted[i].Rule, fitted[i].Message = Cut(fitted[i].Rule, maxProperty), Cut(fitted[i].Message, maxMessage)
		fitted[i].Properties = fitProperties(fitted[i].Properties)
	}
	return fitted
}

func fitProperties(properties map[string]string) map[string]string {
	if len(properties) == 0 {
		return nil
	}
	keys := slices.Sorted(maps.Keys(properties))
	fitted := make(map[string]string, len(keys))
	for _, key := range keys[:min(len(keys), maxProperties)] {
		fitted[Cut(key, maxProperty)] = Cut(properties[key], maxProperty)
	}
	return fitted
}

// Cut makes a text valid UTF-8 of at most limit bytes.
func Cut(text string, limit int) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if len(text) <= limit {
		return text
	}
	end := limit - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}
