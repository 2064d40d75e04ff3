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

// encoded is a report with everything but its type and metadata as JSON: what is large is encoded once, for both the
// hash and a request.
type encoded struct {
	object  report.Accessor
	content []byte
}

func encodeReport(object report.Accessor) (encoded, error) {
	content, err := json.Marshal(object.GetContent())
	if err != nil {
		return encoded{}, fmt.Errorf("encode the report %s: %w", keyOf(object), err)
	}
	return encoded{object: object, content: content}, nil
}

// hash ignores what servers and others add to the metadata.
func (e encoded) hash() (hash, error) {
	head, err := json.Marshal(struct {
		Namespace, Name     string
		Labels, Annotations map[string]string
	}{e.object.GetNamespace(), e.object.GetName(), keepOurs(e.object.GetLabels()), keepOurs(e.object.GetAnnotations())})
	if err != nil {
		return hash{}, fmt.Errorf("encode the metadata of the report %s: %w", keyOf(e.object), err)
	}
	return sha256.Sum256(append(head, e.content...)), nil
}

// request returns the whole report, with the metadata that it has now. Its content must not be empty.
func (e encoded) request(k kind) ([]byte, error) {
	head, err := json.Marshal(struct {
		metav1.TypeMeta `json:",inline"`

		Metadata metav1.Object `json:"metadata"`
	}{k.typeMeta(), e.object.(metav1.ObjectMetaAccessor).GetObjectMeta()})
	if err != nil {
		return nil, fmt.Errorf("encode the metadata of the report %s: %w", keyOf(e.object), err)
	}
	head[len(head)-1] = ',' // Instead of the closing brace.
	return append(head, e.content[1:]...), nil
}

// hashOf returns the hash of a report.
func hashOf(object report.Accessor) (hash, error) {
	e, err := encodeReport(object)
	if err != nil {
		return hash{}, err
	}
	return e.hash()
}
