// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultview

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/api/results/v1alpha1"
)

// pageSize is how many results are asked for at once.
const pageSize = 500

// Client asks a cluster.
type Client struct {
	rest      rest.Interface
	parameter runtime.ParameterCodec
}

// NewClient returns a client of the cluster that config names. It sends nothing yet.
func NewClient(config *rest.Config) (*Client, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c := rest.CopyConfig(config)
	version := v1alpha1.SchemeGroupVersion
	c.GroupVersion, c.APIPath = &version, "/apis"
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	// A list in pages is many requests of one person.
	c.QPS, c.Burst = 50, 100
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, err
	}
	return &Client{client, runtime.NewParameterCodec(scheme)}, nil
}

// Place is where results are looked for.
type Place struct {
	// Namespace of the reports; "" for all.
	Namespace string
	// Global means reports outside namespaces, in place of those in namespaces.
	Global bool
}

// resource of the results in a place.
func (p Place) resource() string {
	if p.Global {
		return "clusterpolicyresults"
	}
	return "policyresults"
}

// Results calls each for the results in a place that selectors choose, page by page, until it returns an error or limit
// were seen; 0 is no limit. It reports whether there are more.
func (c *Client) Results(ctx context.Context, at Place, by Selection, limit int, each func(*v1alpha1.PolicyResult) error) (more bool, err error) {
	options := metav1.ListOptions{LabelSelector: by.labels(), FieldSelector: by.fields(), Limit: pageSize}
	for seen := 0; ; {
		if limit > 0 {
			options.Limit = int64(min(pageSize, limit-seen))
		}
		page, err := c.page(ctx, at, options)
		if err != nil {
			return false, err
		}
		for i := range page.Items {
			if err := each(&page.Items[i]); err != nil {
				return false, err
			}
		}
		seen += len(page.Items)
		options.Continue = page.Continue
		if page.Continue == "" || limit > 0 && seen >= limit {
			return page.Continue != "", nil
		}
	}
}

func (c *Client) page(ctx context.Context, at Place, options metav1.ListOptions) (*v1alpha1.PolicyResultList, error) {
	if !at.Global {
		var list v1alpha1.PolicyResultList
		return &list, c.list(ctx, at.resource(), at.Namespace, options, &list)
	}
	var list v1alpha1.ClusterPolicyResultList
	err := c.list(ctx, at.resource(), "", options, &list)
	page := &v1alpha1.PolicyResultList{ListMeta: list.ListMeta, Items: make([]v1alpha1.PolicyResult, len(list.Items))}
	for i := range list.Items {
		page.Items[i] = v1alpha1.PolicyResult(list.Items[i])
	}
	return page, err
}

func (c *Client) list(ctx context.Context, resource, namespace string, options metav1.ListOptions, into runtime.Object) error {
	err := c.rest.Get().NamespaceIfScoped(namespace, namespace != "").Resource(resource).VersionedParams(&options, c.parameter).Do(ctx).Into(into)
	return explain("list "+resource, err)
}

// Extent is which results a question is about.
type Extent struct {
	// Namespace of the reports; "" for everything.
	Namespace string
	// AllClusters says that those of all clusters of the database are meant; Namespace is "" then.
	AllClusters bool
}

// String says where that is, for people.
func (in Extent) String() string {
	switch {
	case in.AllClusters:
		return "of all clusters"
	case in.Namespace != "":
		return "in namespace " + in.Namespace
	}
	return "in all namespaces"
}

// CheckNamespace returns an error if the cluster says that a namespace does not exist.
func (c *Client) CheckNamespace(ctx context.Context, name string) error {
	err := c.rest.Get().AbsPath("/api/v1/namespaces", name).Do(ctx).Error()
	if apierrors.IsNotFound(err) && isNamespace(err) {
		return explain("", err)
	}
	return nil // Those who may not read namespaces learn it from what they ask for.
}

// Nothing says that no result matches, and where and among how many was looked. The error is a [NamespaceError] for a
// namespace that does not exist.
func (c *Client) Nothing(ctx context.Context, in Extent, by Selection) (string, error) {
	if in.Namespace != "" {
		if err := c.CheckNamespace(ctx, in.Namespace); err != nil {
			return "", err
		}
	}
	status, err := c.Query(ctx, in, v1alpha1.ResultQuerySpec{})
	if err != nil {
		return "", err
	}
	note := fmt.Sprintf("There are no results %s.", in)
	if len(status.Groups) > 0 && status.Groups[0].Results > 0 {
		note = fmt.Sprintf("None of the %d results %s matches", status.Groups[0].Results, in)
		if len(by.Results) > 0 {
			note += " (" + strings.Join(by.Results, ", ") + ")"
		}
		note += "."
	}
	if in.Namespace != "" {
		note += " For all namespaces: -A."
	}
	return note + "\n", nil
}

// Query answers a question.
func (c *Client) Query(ctx context.Context, in Extent, spec v1alpha1.ResultQuerySpec) (*v1alpha1.ResultQueryStatus, error) {
	if in.AllClusters {
		query := &v1alpha1.FleetQuery{Spec: spec}
		err := c.rest.Post().Resource("fleetqueries").Body(query).Do(ctx).Into(query)
		if apierrors.IsForbidden(err) {
			return nil, fmt.Errorf("create fleetqueries: %w; the ClusterRole docket:fleet-view gives the right to see the results of all clusters", err)
		}
		return &query.Status, explain("create fleetqueries", err)
	}
	if in.Namespace == "" {
		query := &v1alpha1.ResultQuery{Spec: spec}
		err := c.rest.Post().Resource("resultqueries").Body(query).Do(ctx).Into(query)
		return &query.Status, explain("create resultqueries", err)
	}
	query := &v1alpha1.LocalResultQuery{Spec: spec}
	err := c.rest.Post().Namespace(in.Namespace).Resource("localresultqueries").Body(query).Do(ctx).Into(query)
	return &query.Status, explain("create localresultqueries", err)
}
