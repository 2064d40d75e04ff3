// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy/call"
	"github.com/docket-project/docket/controller/internal/policy/reach"
)

// Behind is the cluster of which documents are a part. It is asked for each thing once, and never again after it has
// not answered: so a scan ends soon when its cluster goes away.
type Behind struct {
	// client makes the requests. Its guard knows what policies may ask for.
	client rest.Interface
	name   string
	kinds  *served.Catalog
	// timeout bounds a request, and memory the bytes of answers that are remembered.
	timeout time.Duration
	memory  int64

	lists      Once[question, []stored]
	remembered atomic.Int64
	away       atomic.Pointer[error]
}

// NewBehind returns a cluster that serves some kinds. A request may take until the timeout, and what is remembered a
// number of bytes; 0 is the default, and no limit.
func NewBehind(config *rest.Config, kinds *served.Catalog, timeout time.Duration, memory int64) (*Behind, error) {
	guarded, err := reach.Guarded(config)
	if err != nil {
		return nil, err
	}
	client, err := restClient(guarded)
	if err != nil {
		return nil, err
	}
	return &Behind{client: client, name: config.Host, kinds: kinds, timeout: cmp.Or(timeout, call.DefaultTimeout), memory: cmp.Or(memory, math.MaxInt64)}, nil
}

// restClient returns a client for any path.
func restClient(config *rest.Config) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion() // Of errors.
	return rest.UnversionedRESTClientFor(config)
}

// Served returns the kinds of the cluster; none if there is no cluster.
func (b *Behind) Served() *served.Catalog {
	if b == nil {
		return &served.Catalog{}
	}
	return b.kinds
}

// question is what the answer of the cluster depends on: a namespaced policy may not read what others have asked for.
type question struct {
	selection Selection
	scope     reach.Scope
}

// has reports whether the cluster serves a resource in its version.
func (b *Behind) has(r served.Resource) bool {
	_, found := b.Served().Find(func(one *served.Resource) bool {
		return one.GroupVersionResource == r.GroupVersionResource && one.Listable
	})
	return found
}

// list returns the objects of a selection. Nobody may change them.
func (b *Behind) list(ctx context.Context, of Selection) ([]stored, error) {
	of.Filter, of.Bare = "", false
	scope, _ := reach.Of(ctx)
	return b.lists.Get(reach.With(ctx, scope), question{of, scope}, func(ctx context.Context) ([]stored, error) {
		request := b.client.Get().AbsPath(of.Path()).SetHeader("Accept", "application/json")
		for name, value := range map[string]string{"labelSelector": of.Labels, "fieldSelector": of.Fields} {
			if value != "" {
				request = request.Param(name, value)
			}
		}
		_, body, err := b.do(ctx, request)
		if apierrors.IsNotFound(err) && of.Name != "" {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if b.remembered.Add(int64(len(body))) > b.memory {
			b.remembered.Store(int64(len(body)))
			b.lists.Forget()
		}
		return read(body)
	})
}

// read returns the objects in an answer.
func read(body []byte) ([]stored, error) {
	content, _, err := unstructured.UnstructuredJSONScheme.Decode(body, nil, nil)
	if err != nil {
		return nil, err
	}
	var found []stored
	add := func(object runtime.Object) error {
		if one, ok := object.(*unstructured.Unstructured); ok {
			found = append(found, store(one))
		}
		return nil
	}
	if list, ok := content.(*unstructured.UnstructuredList); ok {
		return found, list.EachListItem(add)
	}
	return found, add(content)
}

// forward passes a request on.
func (b *Behind) forward(r *http.Request) (*http.Response, error) {
	request := b.client.Verb(r.Method).AbsPath(r.URL.Path)
	for name, values := range r.URL.Query() {
		for _, value := range values {
			request = request.Param(name, value)
		}
	}
	for _, name := range []string{"Accept", "Content-Type"} {
		if value := r.Header.Get(name); value != "" {
			request = request.SetHeader(name, value)
		}
	}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		request = request.Body(body)
	}
	code, body, err := b.do(r.Context(), request)
	if err != nil {
		return failed(r, err)
	}
	return respond(r, code, json.RawMessage(body))
}

// do makes a request. An error that is no answer of the cluster is the last one that it is asked for.
func (b *Behind) do(ctx context.Context, request *rest.Request) (code int, body []byte, err error) {
	if away := b.away.Load(); away != nil {
		return 0, nil, *away
	}
	limited, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	result := request.Do(limited).StatusCode(&code)
	if err = result.Error(); err == nil {
		body, err = result.Raw()
	}
	var status apierrors.APIStatus
	if err == nil || ctx.Err() != nil || reach.Refused(err) || errors.As(err, &status) {
		return code, body, err
	}
	if limited.Err() != nil {
		err = fmt.Errorf("no answer within %s", b.timeout)
	}
	err = fmt.Errorf("the cluster %s has gone away: %w", b.name, err)
	b.away.CompareAndSwap(nil, &err)
	return 0, nil, err
}
