// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/kyverno/kyverno/pkg/clients/dclient"
	"github.com/kyverno/kyverno/pkg/engine/adapters"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/reach"
)

// newClient returns Kyverno's client. Its context is over before it starts, which ends the
// goroutine that would drop its discovery cache now and then: it also drops it when it does not
// find a kind.
func newClient(c base.Config) (engineapi.Client, error) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	client, err := dclient.NewClient(over, c.Client, c.Kubernetes, time.Hour, false, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot make the client of the policy engine: %w", err)
	}
	return adapters.Client(client), nil
}

// scopedClient asks for what the policy may ask for, see [reach.Scope].
type scopedClient struct {
	engineapi.Client
	scope reach.Scope
}

// RawAbsPath is that of the engine's client, as are the next ones.
func (c *scopedClient) RawAbsPath(ctx context.Context, path, method string, body io.Reader) ([]byte, error) {
	if err := c.scope.Check(method, path); err != nil {
		return nil, err
	}
	return c.Client.RawAbsPath(reach.With(ctx, c.scope), path, method, body)
}

// accessReviews is where the engine asks what a user may do, in any namespace.
const accessReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

// CanI asks about the rights of any user.
func (c *scopedClient) CanI(ctx context.Context, kind, namespace, verb, subresource, user string) (bool, string, error) {
	if err := c.scope.Check(http.MethodPost, accessReviews); err != nil {
		return false, "", err
	}
	return c.Client.CanI(reach.With(ctx, c.scope), kind, namespace, verb, subresource, user)
}

// GetResource reads an object.
func (c *scopedClient) GetResource(ctx context.Context, apiVersion, kind, namespace, name string, subresources ...string) (*unstructured.Unstructured, error) {
	if err := c.scope.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	return c.Client.GetResource(reach.With(ctx, c.scope), apiVersion, kind, namespace, name, subresources...)
}

// ListResource reads the objects of a kind.
func (c *scopedClient) ListResource(ctx context.Context, apiVersion, kind, namespace string, selector *metav1.LabelSelector) (*unstructured.UnstructuredList, error) {
	if err := c.scope.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	return c.Client.ListResource(reach.With(ctx, c.scope), apiVersion, kind, namespace, selector)
}

// GetResources reads objects of several kinds.
func (c *scopedClient) GetResources(
	ctx context.Context, group, version, kind, subresource, namespace, name string, selector *metav1.LabelSelector,
) ([]engineapi.Resource, error) {
	if err := c.scope.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	return c.Client.GetResources(reach.With(ctx, c.scope), group, version, kind, subresource, namespace, name, selector)
}

// GetNamespace reads a namespace. The engine asks for that of the subject, which [subjectClient]
// knows; another one is none of a namespaced policy's business.
func (c *scopedClient) GetNamespace(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Namespace, error) {
	if err := c.scope.CheckNamespace(""); err != nil {
		return nil, err
	}
	return c.Client.GetNamespace(reach.With(ctx, c.scope), name, options)
}

// subjectClient answers for the subject's namespace without asking the cluster, so that it is the one
// that the caller evaluates with.
type subjectClient struct {
	engineapi.Client
	namespace *corev1.Namespace
}

// GetNamespace is that of the engine's client.
func (c *subjectClient) GetNamespace(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Namespace, error) {
	if c.namespace != nil && c.namespace.Name == name {
		return c.namespace, nil
	}
	return c.Client.GetNamespace(ctx, name, options)
}

// absentClient is the client of evaluation from files.
type absentClient struct{}

func (absentClient) RawAbsPath(context.Context, string, string, io.Reader) ([]byte, error) {
	return nil, base.ErrNoCluster
}

func (absentClient) CanI(context.Context, string, string, string, string, string) (bool, string, error) {
	return false, "", base.ErrNoCluster
}

func (absentClient) GetResource(context.Context, string, string, string, string, ...string) (*unstructured.Unstructured, error) {
	return nil, base.ErrNoCluster
}

func (absentClient) ListResource(context.Context, string, string, string, *metav1.LabelSelector) (*unstructured.UnstructuredList, error) {
	return nil, base.ErrNoCluster
}

func (absentClient) GetResources(context.Context, string, string, string, string, string, string, *metav1.LabelSelector) ([]engineapi.Resource, error) {
	return nil, base.ErrNoCluster
}

func (absentClient) GetNamespace(context.Context, string, metav1.GetOptions) (*corev1.Namespace, error) {
	return nil, base.ErrNoCluster
}

func (absentClient) IsNamespaced(string, string, string) (bool, error) {
	return false, base.ErrNoCluster
}
