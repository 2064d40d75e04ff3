// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
)

const acceptJSON = "application/json"

// fail answers a request with an error as a Status.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	responsewriters.ErrorNegotiated(err, aggregatorscheme.Codecs, schema.GroupVersion{Version: "v1"}, w, r)
}

// unauthorized is a 401 that says why.
func unauthorized(reason string) error { return apierrors.NewUnauthorized(reason) }

// forbidden is a 403 of the gateway itself, about no particular resource.
func forbidden(format string, values ...any) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: "docket gateway: " + fmt.Sprintf(format, values...),
	}}
}
