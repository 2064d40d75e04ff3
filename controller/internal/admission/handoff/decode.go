// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/api/report"
	reportsv1 "github.com/docket-project/docket/api/reportskyverno/v1"
	"github.com/docket-project/docket/controller/internal/policy"
)

// maxAhead is how far the clock of another replica may be ahead. A request from tomorrow would take precedence over
// all of today's.
const maxAhead = 10 * time.Minute

// decode is the inverse of [encode]. It trusts nothing: a right to write EphemeralReports in a namespace must not
// allow results for subjects elsewhere.
func decode(object *unstructured.Unstructured, now time.Time) ([]policy.Admitted, error) {
	var body reportsv1.ReportBody
	spec, ok := object.Object["spec"].(map[string]any)
	if !ok {
		return nil, errors.New("there is no spec")
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(map[string]any{"spec": spec}, &body, true); err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	note, err := decodeNote(object.GetAnnotations()[AdmittedAnnotation])
	if err != nil {
		return nil, fmt.Errorf("annotation %s: %w", AdmittedAnnotation, err)
	}
	subject, version, err := subjectOf(&body, object.GetNamespace())
	if err != nil {
		return nil, fmt.Errorf("owner: %w", err)
	}
	if version.Group != note.Group {
		return nil, fmt.Errorf("annotation %s: the group is not that of the owner", AdmittedAnnotation)
	}
	results := body.GetResults()
	items := make([]policy.Admitted, 0, len(note.Policies))
	for i := range note.Policies {
		item, err := note.Policies[i].decode(now)
		if err != nil {
			return nil, fmt.Errorf("annotation %s: policy %d: %w", AdmittedAnnotation, i, err)
		}
		count := note.Policies[i].Results
		if count < 0 || count > len(results) {
			return nil, fmt.Errorf("policy %s: %d results are said to be there, and %d are", item.Policy, count, len(results))
		}
		item.Subject, item.Resource = subject, version.WithResource(note.Resource)
		if item.Results, err = resultsOf(results[:count], &item); err != nil {
			return nil, err
		}
		results = results[count:]
		items = append(items, item)
	}
	if len(results) > 0 {
		return nil, fmt.Errorf("%d results belong to no policy", len(results))
	}
	return items, nil
}

func decodeNote(text string) (envelope, error) {
	var note envelope
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&note); err != nil {
		return note, err
	}
	switch {
	case decoder.More():
		return note, errors.New("there is something after it")
	case note.Version != formatVersion:
		return note, fmt.Errorf("version %d is not known", note.Version)
	case note.Resource == "":
		return note, errors.New("there is no resource")
	case len(note.Policies) == 0:
		return note, errors.New("there are no policies")
	}
	return note, nil
}

func (a *admitted) decode(now time.Time) (policy.Admitted, error) {
	id, err := policy.ParseIdentity(a.Policy)
	if err != nil {
		return policy.Admitted{}, err
	}
	item := policy.Admitted{Policy: id, Fingerprint: a.Fingerprint, Deleted: a.Deleted, Time: a.Time}
	content, err := hex.DecodeString(a.Content)
	switch {
	case err != nil || len(content) != len(item.Content):
		return item, fmt.Errorf("%q is not the hash of a content", a.Content)
	case a.Deleted && a.Results > 0:
		return item, errors.New("what is deleted has no results")
	case a.Fingerprint == "":
		return item, errors.New("there is no fingerprint")
	case a.Time.IsZero() || a.Time.After(now.Add(maxAhead)):
		return item, fmt.Errorf("the time %s is missing or to come", a.Time.Format(time.RFC3339))
	}
	item.Content = policy.Content(content)
	return item, nil
}

// subjectOf returns the subject, which is in the namespace of the report.
func subjectOf(body *reportsv1.ReportBody, namespace string) (policy.Reference, schema.GroupVersion, error) {
	owner := body.GetOwner()
	if owner == nil {
		return policy.Reference{}, schema.GroupVersion{}, errors.New("it is missing")
	}
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return policy.Reference{}, version, err
	}
	if owner.Kind == "" || owner.Name == "" || owner.UID == "" || version.Version == "" {
		return policy.Reference{}, version, errors.New("apiVersion, kind, name or uid is missing")
	}
	return policy.Reference{APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: namespace, Name: owner.Name, UID: owner.UID}, version, nil
}

// resultsOf returns the results of one policy.
func resultsOf(results []report.Result, item *policy.Admitted) ([]policy.Result, error) {
	var found []policy.Result
	for i := range results {
		r := &results[i]
		if r.Policy != item.Policy.ResultName() {
			return nil, fmt.Errorf("policy %s: a result is of the policy %q", item.Policy, r.Policy)
		}
		if !slices.Contains(report.Outcomes(), r.Result) {
			return nil, fmt.Errorf("policy %s: %q is not an outcome", item.Policy, r.Result)
		}
		found = append(found, policy.Result{Rule: r.Rule, Outcome: r.Result, Message: r.Message, Properties: r.Properties})
	}
	return found, nil
}
