// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/docket-project/docket/internal/server/imports"
)

// reader reads the objects of one side.
type reader interface {
	// list returns the objects of a kind: whole, or only their metadata. Unless version
	// is nil, it receives the resource version of the list; empty if the side has none.
	list(ctx context.Context, kind imports.Kind, whole bool, version *string) entries
	// get returns a whole object, nil if there is none.
	get(ctx context.Context, kind imports.Kind, namespace, name string) (*entry, error)
}

// watcher is a reader that can be watched.
type watcher interface {
	reader
	// watch calls handle for every event after a resource version. It ends with
	// errExpired, an error of handle, or the error of ctx.
	watch(ctx context.Context, kind imports.Kind, version string, handle func(event) error) error
}

// event is an event of a watch.
type event struct {
	// entry is the object; nil for a bookmark.
	entry *entry
	// version is the resource version of the event: earlier ones don't follow.
	version string
	// deleted and modified say what happened to the object. If neither is set, it was
	// created.
	deleted, modified bool
}

// item returns the item that imports the event.
func (e event) item(kind imports.Kind) imports.Item {
	if e.deleted {
		return e.entry.deletion(kind, e.entry.version)
	}
	// An object that was modified had been imported before.
	return e.entry.item(kind, e.modified)
}

// destination is where objects go. Its resource versions have nothing to do with those
// of the source.
type destination struct {
	reader

	// scope is the part of an object that can be kept.
	scope imports.Scope
	send  func(context.Context, imports.Request) (imports.Response, error)
	retry *retrier
}

// docketServer returns a running server as destination.
func docketServer(server *api) destination {
	return destination{server, imports.Exact, func(ctx context.Context, request imports.Request) (response imports.Response, err error) {
		err = server.post(ctx, imports.Path, request, &response)
		return response, explain(err, "Docket")
	}, server.retry}
}

// importing returns a destination to which this process writes.
func importing(side reader, to imports.Place, kinds []imports.Kind, scope imports.Scope, retry *retrier) destination {
	importer := imports.New(to, kinds, scope, retry.clock)
	return destination{side, scope, func(ctx context.Context, request imports.Request) (imports.Response, error) {
		return importer.Import(ctx, request), nil
	}, retry}
}

// write imports items, and retries those that may succeed later. The outcomes are in the
// order of the items, and no outcome is imports.Again.
func (d destination) write(ctx context.Context, mode imports.Mode, items []imports.Item) ([]imports.Outcome, error) {
	outcomes := make([]imports.Outcome, len(items))
	left := make([]int, len(items))
	for i := range left {
		left[i] = i
	}
	err := d.retry.do(ctx, "import", func() error {
		part := imports.Request{Mode: mode}
		for _, i := range left {
			part.Items = append(part.Items, items[i])
		}
		response, err := d.send(ctx, part)
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
			return apierrors.NewServiceUnavailable(fmt.Sprintf("%d objects could not be written: %s", len(left), why))
		}
		return nil
	})
	return outcomes, err
}
