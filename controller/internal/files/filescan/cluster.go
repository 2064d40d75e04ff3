// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
)

// pageSize is the number of objects in a page, which bounds the memory that one response takes on both sides.
const pageSize = 500

// Cluster is the source for the resources of a cluster. Each kind that a policy matches is listed once, in
// pages. A Cluster is for one scan.
type Cluster struct {
	client     dynamic.Interface
	namespaces []string
	catalog    *served.Catalog

	// failed are kinds that could not be listed. They make the scan incomplete, as do API groups that didn't answer.
	failed map[schema.GroupKind]error
}

// IncompleteError says which resources a scan has not seen. All others are evaluated.
type IncompleteError struct{ cause error }

// Error implements error.
func (e *IncompleteError) Error() string { return "the scan is incomplete: " + e.cause.Error() }

// Unwrap returns the errors of the kinds.
func (e *IncompleteError) Unwrap() error { return e.cause }

// NewCluster discovers the kinds of a cluster. With namespaces, only resources in these are scanned, and no
// cluster-scoped ones.
func NewCluster(client dynamic.Interface, lister served.Lister, namespaces []string) (*Cluster, error) {
	catalog, err := served.Discover(lister, nil)
	if err != nil {
		return nil, err
	}
	return &Cluster{client: client, namespaces: namespaces, catalog: catalog, failed: map[schema.GroupKind]error{}}, nil
}

// Objects lists all objects of some kinds, such as those of policies, given with the plural names of their
// resources. A kind that the cluster doesn't have has no objects.
func (c *Cluster) Objects(ctx context.Context, resources map[schema.GroupKind]string) ([]manifest.Object, error) {
	kinds := make([]schema.GroupKind, 0, len(resources))
	for kind := range resources {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	var objects []manifest.Object
	for _, kind := range kinds {
		if err := c.catalog.GroupError(kind.Group); err != nil {
			return nil, fmt.Errorf("list %s: %w", kind, err)
		}
		found, ok := c.catalog.Lookup(schema.GroupResource{Group: kind.Group, Resource: resources[kind]}, kind.Kind)
		if !ok || !found.Listable {
			continue
		}
		err := c.list(ctx, found.GroupVersionResource, "", func(object *unstructured.Unstructured) error {
			objects = append(objects, manifest.Object{Unstructured: object, Origin: "the cluster"})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// Each implements [Source]. It goes on when a kind can't be listed, and then returns an [*IncompleteError].
func (c *Cluster) Each(ctx context.Context, policies []policy.Policy, visit func(Item) error) error {
	spaces, err := c.allNamespaces(ctx)
	if err != nil {
		return err
	}
	for _, kind := range c.plan(policies) {
		resource := kind.Resource.GroupVersionResource
		err := c.eachOf(ctx, resource, func(object *unstructured.Unstructured) error {
			policy.Strip(object)
			subject, err := policy.NewSubject(object, resource, spaces, true)
			if err != nil {
				return err
			}
			return visit(Item{Policies: kind.Policies, Subject: subject})
		})
		var listing *listError
		if errors.As(err, &listing) && ctx.Err() == nil {
			c.failed[kind.Resource.GVK().GroupKind()] = err
			continue
		}
		if err != nil {
			return err
		}
	}
	return c.incomplete()
}

// plan returns what to list, and the policies that match it: everything that package scan would watch,
// and what can be listed and not watched.
func (c *Cluster) plan(policies []policy.Policy) []served.Assignment[policy.Policy] {
	excluded := policy.NewExclusion()
	return served.Assign(policies, func(p policy.Policy) []served.Resource {
		return c.catalog.Matching(p.Targets(), excluded, func(r served.Resource) bool {
			return r.Listable && (r.Namespaced || len(c.namespaces) == 0)
		})
	})
}

// named returns a function for the resources of a kind in a catalog. The group may be "*".
func named(catalog *served.Catalog) func(group, kind string) []schema.GroupResource {
	return func(group, kind string) []schema.GroupResource {
		var out []schema.GroupResource
		for _, r := range catalog.Resources() {
			if r.Kind == kind && (group == "*" || group == r.Group) && !slices.Contains(out, r.GroupResource()) {
				out = append(out, r.GroupResource())
			}
		}
		return out
	}
}

// Covers reports whether the scan has seen all resources of the kind and namespace of a subject, so that a
// subject that it has not seen does not exist.
func (c *Cluster) Covers(subject policy.Reference) bool {
	kind := schema.FromAPIVersionAndKind(subject.APIVersion, subject.Kind)
	if c.catalog.GroupError(kind.Group) != nil || c.failed[kind.GroupKind()] != nil {
		return false
	}
	return len(c.namespaces) == 0 || slices.Contains(c.namespaces, subject.Namespace)
}

// Complete reports whether the scan covers everything in the cluster.
func (c *Cluster) Complete() bool { return len(c.namespaces) == 0 }

func (c *Cluster) incomplete() error {
	var errs []error
	for version, err := range c.catalog.Failed() {
		errs = append(errs, fmt.Errorf("API group %s: %w", version, err))
	}
	for _, err := range c.failed {
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return nil
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return &IncompleteError{errors.Join(errs...)}
}

// eachOf lists one kind, in the namespaces of the scan.
func (c *Cluster) eachOf(ctx context.Context, resource schema.GroupVersionResource, visit func(*unstructured.Unstructured) error) error {
	if len(c.namespaces) == 0 {
		return c.list(ctx, resource, "", visit)
	}
	for _, namespace := range c.namespaces {
		if err := c.list(ctx, resource, namespace, visit); err != nil {
			return err
		}
	}
	return nil
}

// listError distinguishes a failed list from an error of the visitor.
type listError struct {
	what string
	err  error
}

func (e *listError) Error() string { return "list " + e.what + ": " + e.err.Error() }
func (e *listError) Unwrap() error { return e.err }

// list calls visit for each object of a resource.
func (c *Cluster) list(ctx context.Context, resource schema.GroupVersionResource, namespace string, visit func(*unstructured.Unstructured) error) error {
	var client dynamic.ResourceInterface = c.client.Resource(resource)
	what := resource.GroupResource().String()
	if namespace != "" {
		client = c.client.Resource(resource).Namespace(namespace)
		what += " in " + namespace
	}
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := client.List(ctx, options)
		if next := afterExpiry(err); next != "" && next != options.Continue {
			options.Continue = next
			continue
		}
		if err != nil {
			return &listError{what, err}
		}
		for i := range page.Items {
			if err := visit(&page.Items[i]); err != nil {
				return err
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// afterExpiry returns where to continue if the evaluation took so long that the server no longer has the state of the
// first page. The other pages are of a later state, which does no harm here: each object is still seen once.
func afterExpiry(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return ""
	}
	return status.Status().Continue
}

var namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// allNamespaces lists all namespaces.
func (c *Cluster) allNamespaces(ctx context.Context) (namespaces, error) {
	spaces := namespaces{}
	err := c.list(ctx, namespaceResource, "", spaces.add)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("policies may read namespaces: %w", err)
	}
	return spaces, nil
}
