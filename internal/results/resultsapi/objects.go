// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/results/mapping"
	"github.com/docket-project/docket/internal/store/engine"
)

// object returns a row as an object. The caller converts an object outside namespaces.
func (s *source) object(row *namedRow) (v1alpha1.PolicyResult, error) {
	result := v1alpha1.Result{
		Cluster: s.cluster,
		Result:  row.Verdict.Result, Severity: row.Verdict.Severity, Source: row.Verdict.Source,
		Policy: row.Verdict.Policy, Rule: row.Verdict.Rule, Category: row.Verdict.Category, Scored: row.Verdict.Scored,
		Message: engine.Message(row.Verdict.Message, row.Subject),
		Report:  v1alpha1.ReportReference{Kind: row.Report.Kind, Name: row.Report.Name, Index: row.Index},
	}
	if about := row.Subject; about != nil {
		result.Subject = &v1alpha1.Subject{
			APIVersion: about.APIVersion, Kind: about.Kind, Namespace: about.Namespace, Name: about.Name, UID: types.UID(about.UID),
		}
	}
	if row.Seconds != 0 {
		at := metav1.Unix(row.Seconds, 0)
		result.Timestamp = &at
	}
	if row.Verdict.Properties != "" {
		if err := json.Unmarshal([]byte(row.Verdict.Properties), &result.Properties); err != nil {
			return v1alpha1.PolicyResult{}, fmt.Errorf("read the properties of a result of %s %s/%s: %w",
				row.Report.Kind, row.Report.Namespace, row.Report.Name, err)
		}
	}
	metadata := s.metadata(row.Report, row.name)
	metadata.Labels = labelsOf(&result)
	return v1alpha1.PolicyResult{ObjectMeta: metadata, Result: result}, nil
}

// metadata returns the metadata of an object for a result of a report.
func (s *source) metadata(report *engine.ReportRow, name string) metav1.ObjectMeta {
	metadata := metav1.ObjectMeta{
		Name: name, Namespace: report.Namespace,
		// The same in each answer of each server, and another one in each cluster.
		UID: types.UID(uuid.NewSHA1(uuid.NameSpaceOID, []byte(s.cluster+"\x00"+report.UID+"\x00"+name)).String()),
	}
	if report.CreatedAt != 0 {
		metadata.CreationTimestamp = metav1.Time{Time: time.Unix(report.CreatedAt, 0)}
	}
	if version := s.version(report.Kind); version != "" && report.UID != "" {
		metadata.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: version, Kind: report.Kind, Name: report.Name, UID: types.UID(report.UID),
		}}
	}
	return metadata
}

// version returns the API version of a kind of reports, "" if it is not served.
func (s *source) version(kind string) string {
	served := s.served()
	i := slices.IndexFunc(served, func(k mapping.Kind) bool { return k.Kind == kind })
	if i < 0 {
		return ""
	}
	return served[i].GroupVersion().String()
}

// revision is a revision of the store as clients see it.
func revision(state engine.State) string { return fmt.Sprint(int64(state.Revision)) }
