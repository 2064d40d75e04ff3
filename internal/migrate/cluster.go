// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/internal/imports"
	"github.com/docket-project/docket/internal/registry"
)

// destination is where reports go.
type destination interface {
	// list returns what is there, with resource versions that are not compared with
	// those of the source.
	list(ctx context.Context, kind registry.Kind, whole bool) entries
	// get returns a whole report, nil if there is none.
	get(ctx context.Context, kind registry.Kind, namespace, name string) (*entry, error)
	// write imports items; outcomes are in their order, and none is imports.Again.
	write(ctx context.Context, request imports.Request) ([]imports.Outcome, error)
	// scope says how much of a report can be kept.
	scope() imports.Scope
}

// docketServer is a Docket server as destination.
type docketServer struct{ *api }

func (d docketServer) list(ctx context.Context, kind registry.Kind, whole bool) entries {
	return d.api.list(ctx, kind, whole, nil)
}

func (docketServer) scope() imports.Scope { return imports.Exact }

func (d docketServer) write(ctx context.Context, request imports.Request) ([]imports.Outcome, error) {
	return writeAll(ctx, d.retry, request, func(request imports.Request) (response imports.Response, err error) {
		err = d.post(ctx, imports.Path, request, &response)
		return response, explain(err, "Docket")
	})
}

// writeAll sends a request, and again what was not done of it.
func writeAll(
	ctx context.Context, retry *retrier, request imports.Request, send func(imports.Request) (imports.Response, error),
) ([]imports.Outcome, error) {
	outcomes := make([]imports.Outcome, len(request.Items))
	left := make([]int, len(request.Items))
	for i := range left {
		left[i] = i
	}
	err := retry.do(ctx, "import", func() error {
		part := imports.Request{Mode: request.Mode}
		for _, i := range left {
			part.Items = append(part.Items, request.Items[i])
		}
		response, err := send(part)
		if err != nil {
			return err
		}
		if len(response.Outcomes) != len(left) {
			return fmt.Errorf("%d items were imported with %d outcomes", len(left), len(response.Outcomes))
		}
		var again []int
		var why string
		for n, i := range left {
			outcomes[i] = response.Outcomes[n]
			if outcomes[i].Result == imports.Again {
				again, why = append(again, i), outcomes[i].Message
			}
		}
		if left = again; len(left) > 0 {
			return apierrors.NewServiceUnavailable(fmt.Sprintf("%d reports could not be written: %s", len(left), why))
		}
		return nil
	})
	return outcomes, err
}

// cluster is the custom resources of a cluster as destination.
type cluster struct {
	*api

	importer *imports.Importer
}

func newCluster(reports *api) *cluster {
	return &cluster{reports, imports.New(clusterPlace{reports}, imports.Portable, reports.retry.clock)}
}

func (c *cluster) list(ctx context.Context, kind registry.Kind, whole bool) entries {
	return c.api.list(ctx, kind, whole, nil)
}

func (*cluster) scope() imports.Scope { return imports.Portable }

func (c *cluster) write(ctx context.Context, request imports.Request) ([]imports.Outcome, error) {
	return writeAll(ctx, c.retry, request, func(request imports.Request) (imports.Response, error) {
		return c.importer.Import(ctx, request), nil
	})
}

// clusterPlace writes custom resources through the API.
type clusterPlace struct{ *api }

var _ imports.Place = clusterPlace{}

// Get implements imports.Place.
func (p clusterPlace) Get(ctx context.Context, kind registry.Kind, namespace, name string) (report.Accessor, error) {
	found, err := p.get(ctx, kind, namespace, name)
	if err != nil || found == nil {
		return nil, err
	}
	object, _, err := imports.Decode(kind, found.object)
	return object, err
}

// Create implements imports.Place.
func (p clusterPlace) Create(ctx context.Context, kind registry.Kind, object report.Accessor) error {
	return p.put(ctx, kind, p.client.Post().AbsPath(p.path(kind, object.GetNamespace(), "")), object, "")
}

// Update implements imports.Place.
func (p clusterPlace) Update(ctx context.Context, kind registry.Kind, current, object report.Accessor) error {
	return p.put(ctx, kind, p.client.Put().AbsPath(p.path(kind, object.GetNamespace(), object.GetName())), object,
		current.GetResourceVersion())
}

func (p clusterPlace) put(ctx context.Context, kind registry.Kind, request *rest.Request, object report.Accessor, version string) error {
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var content map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&content); err != nil {
		return err
	}
	content["apiVersion"] = kind.GroupVersionKind.Group + "/" + p.version(kind)
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		return fmt.Errorf("report %s has no metadata", object.GetName())
	}
	// The cluster decides about these. A UID would be taken for a precondition.
	for _, field := range []string{"uid", "creationTimestamp", "generation", "resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		delete(metadata, field)
	}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	if data, err = json.Marshal(content); err != nil {
		return err
	}
	err = request.Param("fieldManager", "docket-migrate").SetHeader("Content-Type", "application/json").Body(data).Do(ctx).Error()
	if changed(err) {
		return imports.ErrChanged
	}
	if err == nil && object.GetDeletionTimestamp() != nil {
		// It waits for its finalizers there, too.
		err = p.client.Delete().AbsPath(p.path(kind, object.GetNamespace(), object.GetName())).Do(ctx).Error()
	}
	return err
}

// Delete implements imports.Place.
func (p clusterPlace) Delete(ctx context.Context, kind registry.Kind, current report.Accessor) error {
	uid, version := current.GetUID(), current.GetResourceVersion()
	err := p.client.Delete().AbsPath(p.path(kind, current.GetNamespace(), current.GetName())).
		Body(&metav1.DeleteOptions{
			TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
			Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		}).Do(ctx).Error()
	if changed(err) {
		return imports.ErrChanged
	}
	return err
}

// changed says that an object is not in the state any more that was expected.
func changed(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}
