// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// terminating is what kube-apiserver answers.
const terminating = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",
"message":"policyreports.wgpolicyk8s.io \"polr-ns-shop-p\" is forbidden: unable to create new content in namespace shop because it is being terminated",
"reason":"Forbidden","details":{"name":"polr-ns-shop-p","group":"wgpolicyk8s.io","kind":"policyreports","causes":[{"reason":"NamespaceTerminating","message":"namespace shop is being terminated","field":"metadata.namespace"}]},"code":403}`

func TestNamespaceGone(t *testing.T) {
	t.Parallel()
	var status metav1.Status
	testkit.NoError(t, json.Unmarshal([]byte(terminating), &status))
	reports := schema.GroupResource{Group: "wgpolicyk8s.io", Resource: "policyreports"}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"none": {}, "terminating": {fmt.Errorf("create the report: %w", &apierrors.StatusError{ErrStatus: status}), true},
		"no namespace": {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"), true},
		"no report":    {apierrors.NewNotFound(reports, "p"), false},
		"quota":        {apierrors.NewForbidden(reports, "p", errors.New("exceeded quota")), false},
		"unreachable":  {errors.New("connection refused"), false},
	} {
		if got := policy.NamespaceGone(test.err); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
