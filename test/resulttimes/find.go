// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/api/results/v1alpha1"
)

// sums are numbers of results.
type sums struct {
	// severe are failures of critical or high severity.
	results, fail, errors, severe int64
}

func (s *sums) add(c *v1alpha1.Counts) {
	s.results += c.Total
	s.fail += c.Fail
	s.errors += c.Error
	s.severe += c.FailBySeverity["critical"] + c.FailBySeverity["high"]
}

// subjects is what requests are about, and how many results there are, so that answers can be checked.
type subjects struct {
	namespace, policy, kind, property string
	limit                             int

	// The numbers of all results in reports of namespaces, and of those in reports of the one namespace.
	sums

	inNamespace sums
	// everything has the results of reports that have no namespace, too.
	everything sums
	// ofPolicy and ofKind are numbers of results in reports of namespaces.
	ofPolicy, ofKind int64
	// The numbers of summaries.
	namespaces, policies, policiesOfNamespace, policiesOfNamespaces int
}

// find asks for what requests can be about.
func find(ctx context.Context, client *rest.RESTClient, o *options) (*subjects, error) {
	about := &subjects{namespace: o.namespace, policy: o.policy, kind: o.kind, property: o.property, limit: o.limit}
	var all v1alpha1.ClusterPolicySummaryList
	if err := get(ctx, client, "clusterpolicysummaries", &all); err != nil {
		return nil, err
	}
	about.policies = len(all.Items)
	for i := range all.Items {
		about.everything.add(&all.Items[i].Counts)
	}
	var policies v1alpha1.PolicySummaryList
	if err := get(ctx, client, "policysummaries", &policies); err != nil {
		return nil, err
	}
	if len(policies.Items) == 0 {
		return nil, errors.New("there are no results in reports of namespaces: go run ./test/fill makes some")
	}
	about.count(policies.Items)
	kind, err := about.ask(ctx, client, "resultqueries", v1alpha1.ResultQuerySpec{
		Filter: "subject.kind == " + strconv.Quote(o.kind) + ` && report.namespace != ""`,
	})
	if err != nil {
		return nil, err
	}
	for _, group := range kind.Groups {
		about.ofKind += group.Results
	}
	return about, nil
}

// count adds the summaries of the policies of namespaces up, and chooses the namespace and the policy with most
// results.
func (s *subjects) count(policies []v1alpha1.PolicySummary) {
	ofNamespaces, ofPolicies, number := map[string]*sums{}, map[string]int64{}, map[string]int{}
	for i := range policies {
		p := &policies[i]
		if ofNamespaces[p.Namespace] == nil {
			ofNamespaces[p.Namespace] = &sums{}
		}
		ofNamespaces[p.Namespace].add(&p.Counts)
		number[p.Namespace]++
		ofPolicies[p.Policy] += p.Total
		s.add(&p.Counts)
	}
	if s.namespace == "" {
		s.namespace = largest(ofNamespaces, func(of *sums) int64 { return of.results })
	}
	if s.policy == "" {
		s.policy = largest(ofPolicies, func(results int64) int64 { return results })
	}
	if of := ofNamespaces[s.namespace]; of != nil {
		s.inNamespace = *of
	}
	s.ofPolicy = ofPolicies[s.policy]
	s.namespaces, s.policiesOfNamespace, s.policiesOfNamespaces = len(ofNamespaces), number[s.namespace], len(policies)
}

// largest returns the key of the largest value; the first of several.
func largest[T any](all map[string]T, size func(T) int64) (key string) {
	most := int64(-1)
	for name, of := range all {
		if n := size(of); n > most || n == most && name < key {
			key, most = name, n
		}
	}
	return key
}

// path returns the path of a resource of the group.
func path(resource string) string {
	return "/apis/" + v1alpha1.SchemeGroupVersion.String() + "/" + resource
}

// get reads a list.
func get(ctx context.Context, client *rest.RESTClient, resource string, list any) error {
	return read(ctx, client.Get().AbsPath(path(resource)), resource, list)
}

func read(ctx context.Context, request *rest.Request, what string, list any) error {
	body, err := send(ctx, request)
	if err == nil {
		err = json.Unmarshal(body, list)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	return nil
}

// revision returns the resource version of all reports of the cluster, which each write raises.
func revision(ctx context.Context, client *rest.RESTClient) (string, error) {
	var list metav1.PartialObjectMetadataList
	request := client.Get().AbsPath("/apis/wgpolicyk8s.io/v1alpha2/policyreports").Param("limit", "1")
	err := read(ctx, request, "policyreports", &list)
	return list.ResourceVersion, err
}

// ask asks a question.
func (s *subjects) ask(ctx context.Context, client *rest.RESTClient, resource string, spec v1alpha1.ResultQuerySpec) (*v1alpha1.ResultQueryStatus, error) {
	body, err := send(ctx, question(client, resource, &spec))
	var answer v1alpha1.ResultQuery
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", resource, err)
	}
	return &answer.Status, nil
}

// question returns the request that asks one.
func question(client *rest.RESTClient, resource string, spec *v1alpha1.ResultQuerySpec) *rest.Request {
	// Of both kinds of questions, this is all that is sent.
	body, err := json.Marshal(struct {
		Spec *v1alpha1.ResultQuerySpec `json:"spec"`
	}{spec})
	if err != nil {
		panic(err) // It has texts and numbers only.
	}
	return client.Post().AbsPath(path(resource)).SetHeader("Content-Type", "application/json").Body(body)
}
