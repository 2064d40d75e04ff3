// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/kyverno/kyverno/pkg/cel/libs"
	"github.com/kyverno/sdk/extensions/cel/utils"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/meter"
	"github.com/docket-project/docket/controller/internal/policy/reach"
	"github.com/docket-project/docket/controller/internal/policy/registry"
)

var errReadOnly = errors.New("a validating policy can't generate resources")

// library is what CEL expressions can ask beside the subject. Unlike Kyverno's it fails on what is
// not there, where that one answers null, and limits each request.
type library struct {
	client dynamic.Interface
	mapper meta.RESTMapper
	// entries may be nil.
	entries policy.Entries
	scope   reach.Scope
	// registries is nil if they are not asked.
	registries *base.RegistryAccess
	// evaluation is that for which the cluster is asked, once [library.During] is called.
	evaluation context.Context //nolint:containedctx // Kyverno's interface passes none.
	// images is the evaluation for which images are asked about, by a policy with credentials of its
	// own or without. It may be nil.
	images         context.Context //nolint:containedctx // Kyverno's interface passes none.
	ownCredentials bool
}

var (
	_ libs.Context = (*library)(nil)
	_ meter.During = (*library)(nil)
)

// newLibrary returns the library of a cluster.
func newLibrary(client dynamic.Interface, mapper meta.RESTMapper, entries policy.Entries, registries *base.RegistryAccess) *library {
	return &library{evaluation: context.Background(), client: client, mapper: mapper, entries: entries, registries: registries}
}

// during returns the library for the evaluation of a policy that verifies images.
func (l *library) during(ctx context.Context, namespace string, ownCredentials bool) *library {
	out := l.of(namespace)
	out.images, out.ownCredentials = ctx, ownCredentials
	return out
}

// of returns the library of the policies in a namespace; empty for cluster policies.
func (l *library) of(namespace string) *library {
	out := *l
	out.scope = reach.Scope{Namespace: namespace}
	return &out
}

// resources returns the way to a resource, unless the policy may not ask for it.
func (l *library) resources(method, apiVersion, resource, namespace, name string) (dynamic.ResourceInterface, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	if err := l.scope.Check(method, base.PathOf(version, resource, namespace, name)); err != nil {
		return nil, err
	}
	client := l.client.Resource(version.WithResource(resource))
	if namespace == "" {
		return client, nil
	}
	return client.Namespace(namespace), nil
}

func (l *library) During(ctx context.Context) any {
	out := *l
	out.evaluation = ctx
	return &out
}

func (l *library) limited() (context.Context, context.CancelFunc) {
	return context.WithTimeout(reach.With(l.evaluation, l.scope), base.DefaultTimeout)
}

func (l *library) ListResources(apiVersion, resource, namespace string, selector map[string]string) (*unstructured.UnstructuredList, error) {
	client, err := l.resources(http.MethodGet, apiVersion, resource, namespace, "")
	if err != nil {
		return nil, fmt.Errorf("cannot list %s: %w", resource, err)
	}
	ctx, cancel := l.limited()
	defer cancel()
	return client.List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(selector).String()})
}

// GetResource reads one resource.
func (l *library) GetResource(apiVersion, resource, namespace, name string) (*unstructured.Unstructured, error) {
	client, err := l.resources(http.MethodGet, apiVersion, resource, namespace, name)
	if err != nil {
		return nil, fmt.Errorf("cannot get %s %s: %w", resource, name, err)
	}
	ctx, cancel := l.limited()
	defer cancel()
	if object, err := l.cached(ctx, apiVersion, resource, namespace, name); !errors.Is(err, base.ErrNotCached) {
		return object, err
	}
	return client.Get(ctx, name, metav1.GetOptions{})
}

// cached returns an object from the context cache, with errNotCached if the cluster has to be asked.
func (l *library) cached(ctx context.Context, apiVersion, resource, namespace, name string) (*unstructured.Unstructured, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	path := base.PathOf(version, resource, namespace, name)
	if !base.IsWatchedObject(path) {
		return nil, base.ErrNotCached
	}
	data, err := base.CachedObject(ctx, l.entries, path, l.scope.Namespace)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	return object, object.UnmarshalJSON(data)
}

// PostResource asks for an access review; all else that could be created is refused.
func (l *library) PostResource(apiVersion, resource, namespace string, data map[string]any) (*unstructured.Unstructured, error) {
	client, err := l.resources(http.MethodPost, apiVersion, resource, namespace, "")
	if err != nil {
		return nil, fmt.Errorf("cannot post %s: %w", resource, err)
	}
	ctx, cancel := l.limited()
	defer cancel()
	return client.Create(ctx, &unstructured.Unstructured{Object: data}, metav1.CreateOptions{})
}

// ToGVR finds the resource of a kind.
func (l *library) ToGVR(apiVersion, kind string) (*schema.GroupVersionResource, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	mapping, err := l.mapper.RESTMapping(schema.GroupKind{Group: version.Group, Kind: kind}, version.Version)
	if err != nil {
		return nil, err
	}
	return &mapping.Resource, nil
}

// GetGlobalReference returns the data of an entry of the context cache, or those of a projection, which are
// shared: CEL has no way to change them. An index becomes a map of CEL.
func (l *library) GetGlobalReference(name, projection string) (any, error) {
	if l.entries == nil {
		return nil, fmt.Errorf("global context entry %s: %w", name, base.ErrNoEntries)
	}
	ctx, cancel := l.limited()
	defer cancel()
	data, err := l.entries.Query(ctx, policy.Query{
		Entry: policy.Entry{Kind: policy.GlobalContextEntry, Name: name}, Projection: projection, Namespace: l.scope.Namespace, Indexes: true,
	})
	if err != nil {
		return nil, fmt.Errorf("global context entry %s: %w", name, err)
	}
	if index, ok := data.(policy.Index); ok {
		return meter.NewIndex(index, base.GlobalContext), nil
	}
	return data, nil
}

// GetImageData asks a registry about an image. The options have the credentials of the policy, or those of the library.
func (l *library) GetImageData(image string, options []remote.Option) (map[string]any, error) {
	if l.registries == nil {
		return nil, fmt.Errorf("image %s: %w", image, registry.ErrNone)
	}
	ctx, cancel := l.limited()
	defer cancel()
	if l.images != nil {
		ctx = l.images
	} else {
		ctx = registry.With(ctx, l.registries.Session(l.scope))
	}
	images := newImageContext(l.registries, l.scope, l.ownCredentials, false)
	images.begin(ctx)
	data, err := images.Get(ctx, image, options, nil)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", image, err)
	}
	return utils.GetValue(data.Data())
}

// GetHTTPMocks has none: requests go out, by [celServices].
func (l *library) GetHTTPMocks() map[string]any { return nil }

// GenerateResources fails.
func (l *library) GenerateResources(string, []map[string]any) error { return errReadOnly }

// GetGeneratedResources returns nothing.
func (l *library) GetGeneratedResources() []*unstructured.Unstructured { return nil }

// ClearGeneratedResources has nothing to clear.
func (l *library) ClearGeneratedResources()                                    {}
func (l *library) SetGenerateContext(_, _, _, _, _, _, _, _ string, _, _ bool) {}

// Clone returns the library itself, which never changes.
func (l *library) Clone() libs.Context { return l }
