// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
)

// kind is one of the four kinds of reports that may be ours.
type kind struct {
	version    schema.GroupVersion
	name       string
	resource   string
	namespaced bool
}

func (k kind) typeMeta() metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: k.version.String(), Kind: k.name}
}

func (k kind) gvr() schema.GroupVersionResource { return k.version.WithResource(k.resource) }

// kindOf returns the kind of the reports of an API.
func kindOf(api API, namespaced bool) kind {
	switch {
	case api == OpenReports && namespaced:
		return kind{openreports.SchemeGroupVersion, "Report", "reports", true}
	case api == OpenReports:
		return kind{openreports.SchemeGroupVersion, "ClusterReport", "clusterreports", false}
	case namespaced:
		return kind{wgpolicy.SchemeGroupVersion, "PolicyReport", "policyreports", true}
	default:
		return kind{wgpolicy.SchemeGroupVersion, "ClusterPolicyReport", "clusterpolicyreports", false}
	}
}

// empty returns an empty report of the kind, to decode into.
func (k kind) empty() report.Accessor {
	switch k.name {
	case "Report":
		return &openreports.Report{}
	case "ClusterReport":
		return &openreports.ClusterReport{}
	case "PolicyReport":
		return &wgpolicy.PolicyReport{}
	default:
		return &wgpolicy.ClusterPolicyReport{}
	}
}

// hash identifies everything in a report that is ours.
type hash [sha256.Size]byte

// hashOf returns the hash of the content of a report. It ignores what servers and others add to the metadata.
func hashOf(k kind, object report.Accessor) (hash, error) {
	data, err := json.Marshal(struct {
		Namespace, Name     string
		Labels, Annotations map[string]string
		Content             any
	}{object.GetNamespace(), object.GetName(), keepOurs(object.GetLabels()), keepOurs(object.GetAnnotations()), object.GetContent()})
	if err != nil {
		return hash{}, fmt.Errorf("encode %s %s/%s: %w", k.name, object.GetNamespace(), object.GetName(), err)
	}
	return sha256.Sum256(data), nil
}
