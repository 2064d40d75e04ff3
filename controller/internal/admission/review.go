// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"fmt"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	// maxBody bounds the body of a request, which has both objects, in bytes.
	maxBody = 8 << 20
	// leastMargin is the least time kept for sending the response; a tenth of the time limit if that is more.
	leastMargin = 100 * time.Millisecond
)

const reviewKind = "AdmissionReview"

// operations are those of [admissionv1.Operation].
var operations = []admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect}

// parseReview decodes the body of a request.
func parseReview(body []byte) (*admissionv1.AdmissionRequest, error) {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, fmt.Errorf("the body is not an %s: %w", reviewKind, err)
	}
	if version := admissionv1.SchemeGroupVersion.String(); review.APIVersion != version || review.Kind != reviewKind {
		return nil, fmt.Errorf("the body is a %q of %q; give an %s of %s", review.Kind, review.APIVersion, reviewKind, version)
	}
	request := review.Request
	switch {
	case request == nil:
		return nil, errors.New("request is missing")
	case request.UID == "":
		return nil, errors.New("request.uid is missing")
	case request.Kind.Kind == "" || request.Kind.Version == "":
		return nil, errors.New("request.kind: kind or version is missing")
	case request.Resource.Resource == "" || request.Resource.Version == "":
		return nil, errors.New("request.resource: resource or version is missing")
	case !slices.Contains(operations, request.Operation):
		return nil, fmt.Errorf("request.operation: %q is none of %q", request.Operation, operations)
	}
	return request, nil
}

// parseObjects decodes the objects of a request.
func parseObjects(request *admissionv1.AdmissionRequest) (*policy.Request, error) {
	result := &policy.Request{AdmissionRequest: request}
	var err error
	if result.New, err = parseObject(&request.Object); err != nil {
		return nil, fmt.Errorf("request.object: %w", err)
	}
	if result.Old, err = parseObject(&request.OldObject); err != nil {
		return nil, fmt.Errorf("request.oldObject: %w", err)
	}
	return result, nil
}

// parseObject returns nil if there is no object.
func parseObject(raw *runtime.RawExtension) (*unstructured.Unstructured, error) {
	var fields map[string]any
	if len(raw.Raw) > 0 {
		if err := json.Unmarshal(raw.Raw, &fields); err != nil {
			return nil, err
		}
	}
	if fields == nil {
		return nil, nil // There is none.
	}
	object := &unstructured.Unstructured{Object: fields}
	if object.GetKind() == "" || object.GetAPIVersion() == "" {
		return nil, errors.New("kind or apiVersion is missing")
	}
	return object, nil
}

// parseTimeout parses how long the client waits, which is at most ours, the limit of the webhook configuration. It
// returns how much of that policies may use and, a little more, when the response is made without those that have
// not answered.
func parseTimeout(text string, ours time.Duration) (limit, late time.Duration, err error) {
	timeout := ours
	if text != "" {
		if timeout, err = time.ParseDuration(text); err != nil || timeout <= 0 {
			return 0, 0, fmt.Errorf("timeout: %q is not a duration such as 10s", text)
		}
	}
	timeout = min(timeout, ours)
	limit = max(timeout-max(leastMargin, timeout/10), timeout/2)
	return limit, limit + (timeout-limit)/2, nil
}
