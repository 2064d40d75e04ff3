// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package v1_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/docket-project/docket/api/reportskyverno/v1"
)

// An ephemeral report is about its owner.
func ExampleEphemeralReport() {
	r := v1.EphemeralReport{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}
	r.Spec.Owner = &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "web"}
	scope := r.GetScope()
	fmt.Println(scope.Kind, scope.Namespace+"/"+scope.Name)
	// Output: Pod shop/web
}
