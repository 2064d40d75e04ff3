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

	"github.com/docket-project/docket/controller/internal/filescan/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
)

// pageSize bounds what one answer of the server can cost both sides.
const pageSize = 500

// Lister is the part of discovery that a scan needs.
type Lister interface {
	ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error)
}

// Cluster is the source for the resources of a cluster. Each kind that a policy matches is
// listed once, in pages. It is for one scan.
type Cluster struct {
	client     dynamic.Interface
	namespaces []string
	served     []servedResource

	// unknown are groups that discovery could not tell about, failed kinds that could not be
	// listed. Both make the scan incomplete.
	unknown map[string]error
	failed  map[schema.GroupKind]error
}

// IncompleteError says which resources a scan has not seen. What it has seen is evaluated.
type IncompleteError struct{ cause error }

// Error implements error.
func (e *IncompleteError) Error() string { return "the scan is incomplete: " + e.cause.Error() }

// Unwrap returns what went wrong for each kind.
func (e *IncompleteError) Unwrap() error { return e.cause }

// NewCluster asks the server for its resources. With namespaces, only what is in them is
// scanned, and nothing that is in none.
func NewCluster(client dynamic.Interface, lister Lister, namespaces []string) (*Cluster, error) {
	groups, lists, err := lister.ServerGroupsAndResources()
	cluster := &Cluster{
		client: client, namespaces: namespaces,
		unknown: map[string]error{}, failed: map[schema.GroupKind]error{},
	}
	if err != nil {
		if len(lists) == 0 {
			return nil, fmt.Errorf("ask the cluster for its resources: %w", err)
		}
		if err := cluster.noteUnknown(err); err != nil {
			return nil, err
		}
	}
	cluster.served = servedResources(groups, lists)
	return cluster, nil
}

// Objects lists all objects of some kinds, such as those of policies; a kind that the cluster
// doesn't have has none. The map has the resources of the kinds.
func (c *Cluster) Objects(ctx context.Context, resources map[schema.GroupKind]string) ([]manifest.Object, error) {
	kinds := make([]schema.GroupKind, 0, len(resources))
	for kind := range resources {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	var objects []manifest.Object
	for _, kind := range kinds {
		if err := c.unknown[kind.Group]; err != nil {
			return nil, fmt.Errorf("list %s: %w", kind, err)
		}
		i := slices.IndexFunc(c.served, func(s servedResource) bool { return s.kind.GroupKind() == kind })
		if i < 0 {
			continue
		}
		err := c.list(ctx, c.served[i].resource, "", func(object *unstructured.Unstructured) error {
			objects = append(objects, manifest.Object{Unstructured: object, Origin: "the cluster"})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// Each implements [Source]. It goes on when a kind can't be listed, and then returns an
// [*IncompleteError].
func (c *Cluster) Each(ctx context.Context, policies []policy.Policy, visit func(Item) error) error {
	spaces, err := c.allNamespaces(ctx)
	if err != nil {
		return err
	}
	for _, target := range c.plan(policies) {
		err := c.eachOf(ctx, target.served, func(object *unstructured.Unstructured) error {
			strip(object)
			return visit(Item{Policies: target.policies, Subject: policy.Subject{
				Object: object, Resource: target.served.resource,
				NamespaceLabels: spaces.labelsFor(object), NamespaceObject: spaces[object.GetNamespace()],
			}})
		})
		var listing *listError
		if errors.As(err, &listing) && ctx.Err() == nil {
			c.failed[target.served.kind.GroupKind()] = err
			continue
		}
		if err != nil {
			return err
		}
	}
	return c.incomplete()
}

// Covers reports whether the scan has seen all resources of the kind and namespace of a subject,
// so that one that it has not seen is gone.
func (c *Cluster) Covers(subject policy.Reference) bool {
	kind := schema.FromAPIVersionAndKind(subject.APIVersion, subject.Kind)
	if c.unknown[kind.Group] != nil || c.failed[kind.GroupKind()] != nil {
		return false
	}
	return len(c.namespaces) == 0 || slices.Contains(c.namespaces, subject.Namespace)
}

// Complete reports whether the scan covers everything in the cluster.
func (c *Cluster) Complete() bool { return len(c.namespaces) == 0 }

func (c *Cluster) incomplete() error {
	var errs []error
	for group, err := range c.unknown {
		errs = append(errs, fmt.Errorf("group %s: %w", group, err))
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

// eachOf lists one kind, in the namespaces that are asked for.
func (c *Cluster) eachOf(ctx context.Context, served servedResource, visit func(*unstructured.Unstructured) error) error {
	if len(c.namespaces) == 0 {
		return c.list(ctx, served.resource, "", visit)
	}
	for _, namespace := range c.namespaces {
		if err := c.list(ctx, served.resource, namespace, visit); err != nil {
			return err
		}
	}
	return nil
}

// listError tells trouble with the server from an error of the visitor.
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

// afterExpiry returns where to go on when evaluating took so long that the server has forgotten
// the state of the first page. The rest comes from a later state, which does no harm here: each
// object is still seen once.
func afterExpiry(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return ""
	}
	return status.Status().Continue
}

// allNamespaces lists all namespaces.
func (c *Cluster) allNamespaces(ctx context.Context) (namespaces, error) {
	spaces := namespaces{}
	err := c.list(ctx, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", spaces.add)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("policies may look at namespaces: %w", err)
	}
	return spaces, nil
}

// strip removes what no policy reads and what may be most of an object.
func strip(object *unstructured.Unstructured) {
	unstructured.RemoveNestedField(object.Object, "metadata", "managedFields")
}
