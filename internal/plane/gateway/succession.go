// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/singleflight"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/plane/aggregator"
	"github.com/docket-project/docket/internal/server/namespaces"
)

const (
	// settledLifetime is how long requests that only read trust the last comparison.
	settledLifetime = time.Second
	settledKept     = 8192
	// settleTimeout bounds the deletion of what an earlier namespace has left.
	settleTimeout = time.Minute
)

// succession keeps the objects of registered servers from outliving their namespace where
// the sweeper can't see its end: the right to read a namespace often ends with it. Before
// anything is read or written in a namespace, its UID is compared with the remembered
// one. If it is another namespace by now, the remaining objects of the earlier one are deleted first.
type succession struct {
	uids    *namespaceUIDs
	content *content
	// settled has the namespaces that were compared a moment ago, by group.
	settled *cache.LRUExpireCache
	same    singleflight.Group
}

func newSuccession(m *namespaceUIDs, c *content) *succession {
	return &succession{uids: m, content: c, settled: cache.NewLRUExpireCache(settledKept)}
}

// wrap makes the comparison before next, which handles authorized requests. The cluster is
// asked in the caller's name, since the gateway itself may have no permission.
func (s *succession) wrap(next http.Handler, who profile, owner owner) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		c := callerFrom(r.Context())
		if !ok || c == nil || !info.IsResourceRequest || info.Namespace == "" || !isRemote(owner, info) {
			next.ServeHTTP(w, r)
			return
		}
		get := func(ctx context.Context) (*corev1.Namespace, error) { return who.namespace(ctx, c, info.Namespace) }
		if err := s.admit(r.Context(), info, get); err != nil {
			fail(w, r, aggregator.Unavailable("docket gateway: can't find out whether namespace %s has been recreated: %v", info.Namespace, err))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isRemote(owner owner, info *request.RequestInfo) bool {
	_, remote, ok := owner(schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion})
	return remote && ok
}

// namespaceGetter asks the cluster for a namespace.
type namespaceGetter func(context.Context) (*corev1.Namespace, error)

// admit settles a namespace for a request. Requests that may create objects always ask
// the cluster: what is written to the later namespace must not be taken for the earlier one's.
func (s *succession) admit(ctx context.Context, info *request.RequestInfo, get namespaceGetter) error {
	key := uidKey(info.APIGroup, info.Namespace)
	creates := slices.Contains([]string{"create", "update", "patch"}, info.Verb)
	if _, ok := s.settled.Get(key); ok && !creates {
		return nil
	}
	now, err := s.settle(ctx, info.APIGroup, info.Namespace, get)
	if err == nil && now != nil && now.DeletionTimestamp == nil {
		s.settled.Add(key, nil, settledLifetime)
	}
	return err
}

// settle deletes a group's objects that belong to an earlier namespace of this name, and
// returns the namespace; nil if it is gone, or the caller may not get it.
//
// The order makes it safe, even with several gateways: the recorded UID is read before
// the cluster is asked, so the cluster's answer is never older.
func (s *succession) settle(ctx context.Context, group, namespace string, get namespaceGetter) (*corev1.Namespace, error) {
	known, err := s.uids.of(ctx, group, namespace)
	if err != nil {
		return nil, err
	}
	now, err := get(ctx)
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err):
		return nil, nil // There is no namespace to tell of, which is no failure.
	case err != nil:
		return nil, fmt.Errorf("ask the cluster: %w", err)
	case now.UID == known || now.UID == "":
		return now, nil
	}
	// One caller who gives up must not fail the others who wait for the same.
	ctx = context.WithoutCancel(ctx)
	_, err, _ = s.same.Do(uidKey(group, namespace)+"/"+string(known)+"/"+string(now.UID), func() (any, error) {
		ctx, cancel := context.WithTimeout(ctx, settleTimeout)
		defer cancel()
		return nil, s.succeed(ctx, group, namespace, known, now.UID)
	})
	return now, err
}

// succeed deletes the remaining objects of the namespace known, and records now in its place.
func (s *succession) succeed(ctx context.Context, group, namespace string, known, now types.UID) error {
	if known == "" {
		return s.uids.replace(ctx, group, namespace, known, now)
	}
	resources, err := s.content.resources(ctx, group)
	if err != nil {
		return err
	}
	deleted, err := namespaces.Sweep(ctx, s.content.own, namespace, resources, func(ctx context.Context) (namespaces.Belongs, error) {
		// While the recorded UID is the old one, no gateway lets anyone write to the new
		// namespace: what was found belongs to the old one.
		switch still, err := s.uids.of(ctx, group, namespace); {
		case err != nil || still == now:
			return nil, err // Another gateway has done it.
		case still != known:
			return nil, errConflict
		}
		return namespaces.All, nil
	})
	if deleted > 0 {
		emptiedNamespaces.Inc()
		klog.InfoS("Deleted what an earlier namespace of the same name had left behind", "namespace", namespace, "group", group, "objects", deleted)
	}
	if err != nil {
		return err
	}
	return s.uids.replace(ctx, group, namespace, known, now)
}
