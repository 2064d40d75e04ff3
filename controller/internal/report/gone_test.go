// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/docket-project/docket/controller/internal/policy"
)

// beingDeleted is the answer to a write into a namespace that is being deleted.
func beingDeleted(about schema.GroupResource) *apierrors.StatusError {
	err := apierrors.NewForbidden(about, "p", errors.New("unable to create new content in namespace default because it is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Message: "namespace default is being terminated", Field: "metadata.namespace"}}
	return err
}

// TestNamespaceBeingDeleted: reports that can't be written any more are no errors, neither in the log nor in
// the metric that alerts look at.
func TestNamespaceBeingDeleted(t *testing.T) {
	t.Parallel()
	reports := schema.GroupResource{Group: "wgpolicyk8s.io", Resource: "policyreports"}
	for want, err := range map[string]error{
		"namespace_gone": beingDeleted(reports), "forbidden": apierrors.NewForbidden(reports, "p", errors.New("exceeded quota")),
		"not_found": apierrors.NewNotFound(reports, "p"), "error": errors.New("connection refused"), "success": nil, "conflict": apierrors.NewConflict(reports, "p", nil),
	} {
		if got := resultOf(err); got != want {
			t.Errorf("%v is counted as %s", err, got)
		}
	}
	if got := resultOf(apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "default")); got != "namespace_gone" {
		t.Errorf("no namespace is counted as %s", got)
	}

	for _, test := range []struct {
		message string
		err     error
		want    int
	}{{"being deleted", beingDeleted(reports), 0}, {"quota", apierrors.NewForbidden(reports, "p", errors.New("exceeded quota")), 1}} {
		w := startServer(t).world(t, Options{Split: true})
		w.load(t)
		w.gateway.set(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodPost {
				return nil, test.err
			}
			return nil, nil // Ask the server.
		})
		w.layout.Set(clusterPolicy("a"), pod("default", "x"), []policy.Result{pass("r")})
		logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
		if err := w.writer.Flush(klog.NewContext(t.Context(), logger)); err == nil {
			t.Errorf("%s: written", test.message)
		}
		errorsTold := 0
		for _, entry := range logger.GetSink().(ktesting.Underlier).GetBuffer().Data() {
			if entry.Type == ktesting.LogError {
				errorsTold++
			}
		}
		if errorsTold != test.want {
			t.Errorf("%s: %d errors in the log", test.message, errorsTold)
		}
	}
}
