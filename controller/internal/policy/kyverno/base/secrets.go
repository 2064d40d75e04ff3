// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jellydator/ttlcache/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"

	"github.com/docket-project/docket/controller/internal/policy/reach"
	"github.com/docket-project/docket/controller/internal/policy/registry"
)

const (
	// secretAge is how long a Secret is used after it was read.
	secretAge = time.Minute
	// maxSecrets is how many are kept.
	maxSecrets = 1000
	// secretTimeout is how long one may take to be read.
	secretTimeout = 5 * time.Second
)

var secrets = corev1.Resource("secrets")

// secretCache reads Secrets one by one: the controller may get the ones that policies name, and list none. It keeps
// them, and the errors, for a moment.
type secretCache struct {
	client kubernetes.Interface
	kept   *ttlcache.Cache[string, keptSecret]
}

type keptSecret struct {
	secret *corev1.Secret
	err    error
}

func newSecretCache(client kubernetes.Interface) *secretCache {
	return &secretCache{client: client, kept: ttlcache.New(
		ttlcache.WithDisableTouchOnHit[string, keptSecret](),
		ttlcache.WithTTL[string, keptSecret](secretAge), ttlcache.WithCapacity[string, keptSecret](maxSecrets),
	)}
}

func (c *secretCache) get(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	key := namespace + "/" + name
	if item := c.kept.Get(key); item != nil {
		return item.Value().secret, item.Value().err
	}
	limited, cancel := context.WithTimeout(ctx, secretTimeout)
	defer cancel()
	secret, err := c.client.CoreV1().Secrets(namespace).Get(limited, name, metav1.GetOptions{})
	if ctx.Err() == nil {
		c.kept.Set(key, keptSecret{secret, err}, ttlcache.DefaultTTL)
	}
	return secret, err
}

// SecretLister reads Secrets by name, for one evaluation.
type SecretLister struct {
	Context context.Context //nolint:containedctx // Kyverno's interface passes none.
	scope   reach.Scope
	cache   *secretCache
}

var _ corev1listers.SecretLister = (*SecretLister)(nil)

var errSecretsByName = errors.New("secrets are read by name")

// List is that of listers; nobody calls it.
func (l *SecretLister) List(labels.Selector) ([]*corev1.Secret, error) { return nil, errSecretsByName }

// Secrets returns the lister for a namespace.
func (l *SecretLister) Secrets(namespace string) corev1listers.SecretNamespaceLister {
	return &namespaceSecrets{lister: l, namespace: namespace}
}

type namespaceSecrets struct {
	lister    *SecretLister
	namespace string
}

func (n *namespaceSecrets) List(labels.Selector) ([]*corev1.Secret, error) {
	return nil, errSecretsByName
}

// Get reads a Secret. One that can't be read counts as missing, which the engine takes as none: the
// registry may answer without. If it does not, the session says what was missing.
func (n *namespaceSecrets) Get(name string) (*corev1.Secret, error) {
	l := n.lister
	if err := l.scope.CheckNamespace(n.namespace); err != nil {
		return nil, fmt.Errorf("secret %s/%s: %w", n.namespace, name, err)
	}
	secret, err := l.cache.get(reach.With(l.Context, l.scope), n.namespace, name)
	if err == nil {
		return secret, nil
	}
	if session, missing := registry.From(l.Context); missing == nil {
		session.Note(fmt.Sprintf("the Secret %s/%s with credentials can't be read: %v", n.namespace, name, err))
	}
	return nil, apierrors.NewNotFound(secrets, name)
}
