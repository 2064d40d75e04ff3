// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
)

// runManagers lets kube-controller-manager do what it does with reports: remove those
// whose owners are gone, count them for quotas, and empty namespaces.
func runManagers(t *testing.T, p *programCluster) []string {
	s := &transcript{t: t, kubectl: p.cluster.Kubectl(t, p.namespace)}
	const counted = "count/policyreports.wgpolicyk8s.io=2"
	s.run("", "create", "quota", "reports", "--hard="+counted)
	s.run("", "create", "configmap", "owner")
	s.run("", "wait", "--for=jsonpath={.status.hard}", "resourcequota/reports")
	uid := s.kubectl.Run(t, "get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}")
	for _, name := range []string{"owned", "free", "one-too-many"} {
		s.run(reportText(t, sample.Kinds()[0], name, func(o *unstructured.Unstructured) {
			if name == "owned" {
				o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: types.UID(uid)}})
			}
		}), "create", "-f", "-")
	}
	s.run("", "wait", "--for=jsonpath={.status.used.count/policyreports\\.wgpolicyk8s\\.io}=2", "--timeout=60s", "resourcequota/reports")
	s.run("", "delete", "configmap", "owner")
	s.kubectl.Run(t, "wait", "--for=delete", "--timeout=55s", "policyreport/owned") // Says nothing if it is gone already.
	s.run("", "get", "policyreports,reports.openreports.io,ephemeralreports", "-o", "name")
	s.run("", "wait", "--for=jsonpath={.status.used.count/policyreports\\.wgpolicyk8s\\.io}=1", "--timeout=55s", "resourcequota/reports")
	s.run("", "delete", "namespace", p.namespace, "--timeout=55s")
	s.run("", "create", "namespace", p.namespace)
	s.run("", "get", "policyreports,reports.openreports.io,ephemeralreports", "-o", "name")
	return s.lines
}

// reportText is a report of a kind as JSON.
func reportText(t *testing.T, kind sample.Kind, name string, changes ...func(*unstructured.Unstructured)) string {
	t.Helper()
	object := sample.Cluster{Now: sampleTime}.Report(kind, 1, 2)
	object.SetName(name)
	object.SetNamespace("")
	object.SetOwnerReferences(nil)
	for _, change := range changes {
		change(object)
	}
	data := testkit.Must(json.Marshal(object))(t)
	return fmt.Sprintf("%s\n", data)
}
