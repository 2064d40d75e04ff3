// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kyverno/kyverno/pkg/clients/dclient"
	"github.com/kyverno/kyverno/pkg/engine/adapters"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
)

var errNoCluster = errors.New("there is no cluster to ask: the policy is evaluated from files")

// newClient returns Kyverno's client. Its context is over before it starts, which ends the
// goroutine that would drop its discovery cache now and then: it also drops it when it does not
// find a kind.
func newClient(c Config) (engineapi.Client, error) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	client, err := dclient.NewClient(over, c.Client, c.Kubernetes, time.Hour, false, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot make the client of the policy engine: %w", err)
	}
	return adapters.Client(client), nil
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

// namespaceOf returns the namespace of a subject as far as it is known, nil if it has none.
func namespaceOf(subject policy.Subject) *corev1.Namespace {
	return namespaceNamed(subject.Object.GetNamespace(), subject.NamespaceObject, subject.NamespaceLabels)
}

// namespaceNamed returns the namespace if it is known, or else what its labels make of it.
func namespaceNamed(name string, known *corev1.Namespace, labels map[string]string) *corev1.Namespace {
	if name == "" {
		return nil
	}
	if known != nil && known.Name == name {
		return known
	}
	return &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
	}
}

// absentClient is the client of evaluation from files.
type absentClient struct{}

func (absentClient) RawAbsPath(context.Context, string, string, io.Reader) ([]byte, error) {
	return nil, errNoCluster
}

func (absentClient) CanI(context.Context, string, string, string, string, string) (bool, string, error) {
	return false, "", errNoCluster
}

func (absentClient) GetResource(context.Context, string, string, string, string, ...string) (*unstructured.Unstructured, error) {
	return nil, errNoCluster
}

func (absentClient) ListResource(context.Context, string, string, string, *metav1.LabelSelector) (*unstructured.UnstructuredList, error) {
	return nil, errNoCluster
}

func (absentClient) GetResources(context.Context, string, string, string, string, string, string, *metav1.LabelSelector) ([]engineapi.Resource, error) {
	return nil, errNoCluster
}

func (absentClient) GetNamespace(context.Context, string, metav1.GetOptions) (*corev1.Namespace, error) {
	return nil, errNoCluster
}

func (absentClient) IsNamespaced(string, string, string) (bool, error) {
	return false, errNoCluster
}
