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

// newClient returns Kyverno's client. Its context has ended before it starts, which ends the goroutine that would drop
// its discovery cache at intervals: it also drops it when it does not find a kind.
func newClient(c base.Config) (engineapi.Client, error) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	client, err := dclient.NewClient(ended, c.Client, c.Kubernetes, time.Hour, false, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot make the client of the policy engine: %w", err)
	}
	return adapters.Client(client), nil
}

// scopedClient asks for what the policy may ask for, see [reach.Scope].
type scopedClient struct {
	engineapi.Client
	scope reach.Scope
	// subject is the namespace of the subject as the caller evaluates with it; nil if it is unknown.
	subject *corev1.Namespace
}

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

// GetNamespace reads a namespace. The engine asks for the subject's, which is known; namespaced policies get no other.
func (c *scopedClient) GetNamespace(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Namespace, error) {
	if c.subject != nil && c.subject.Name == name {
		return c.subject, nil
	}
	if err := c.scope.CheckNamespace(""); err != nil {
		return nil, err
	}
	return c.Client.GetNamespace(reach.With(ctx, c.scope), name, options)
}
