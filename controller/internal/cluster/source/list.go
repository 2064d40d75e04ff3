// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

const (
	// pageSize is the number of objects in one request: decoded, that many large pods take some 10 MB.
	pageSize = 250
	// listAttempts is how often a list is begun if it expires while it is read.
	listAttempts = 3
)

// pages lists in pages and watches. A reflector must not list by a watch instead: decoding one event for each
// object takes both sides more than twice the time.
type pages struct {
	*cache.ListWatch
}

// IsWatchListSemanticsUnSupported tells the reflector so. The name is that of client-go.
func (pages) IsWatchListSemanticsUnSupported() bool { return true }

// collected are all objects of a resource as the store takes them, for a reflector.
type collected struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []runtime.Object
}

// DeepCopyObject is that of [runtime.Object]. The objects never change.
func (c *collected) DeepCopyObject() runtime.Object { return c }

// prepared is an object that a store's transformer returned.
type prepared struct{ object any }

// GetObjectKind is that of [runtime.Object].
func (*prepared) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject is that of [runtime.Object].
func (p *prepared) DeepCopyObject() runtime.Object { return p }

// list reads all objects, page by page, so that no more than a page is in memory as the API server sent it. It
// ignores the options of the reflector: the list is of the state at that time.
func (s *Source) list(ctx context.Context, transform cache.TransformFunc) (runtime.Object, error) {
	s.listing.Lock()
	defer s.listing.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var err error
	for range listAttempts {
		var all *collected
		if all, err = s.listOnce(ctx, transform); err == nil {
			s.note(ctx, OperationList, nil)
			return all, nil
		}
		if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			break
		}
	}
	s.note(ctx, OperationList, err)
	return nil, err
}

func (s *Source) listOnce(ctx context.Context, transform cache.TransformFunc) (*collected, error) {
	all := &collected{}
	options := metav1.ListOptions{Limit: cmp.Or(s.config.PageSize, pageSize), LabelSelector: s.config.Labels, FieldSelector: s.config.Fields}
	if s.config.Listing != nil {
		s.config.Listing()
	}
	for {
		page, err := s.client().List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			var object any = &page.Items[i]
			if transform != nil {
				if object, err = transform(object); err != nil {
					return nil, err
				}
			}
			all.Items = append(all.Items, &prepared{object})
		}
		all.ResourceVersion = page.GetResourceVersion()
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return all, nil
		}
	}
}
