// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/imports"
	"github.com/docket-project/docket/internal/registry"
)

// migrationVersion is the name of the version that is added to CRDs.
const migrationVersion = "migration"

const (
	// pageSize is how many reports are listed at once: about 3 MB.
	pageSize = 500
	// watchSeconds is how long a watch is kept open before the next one.
	watchSeconds = 300
	// rewatchPause keeps a server that ends each watch at once from being flooded.
	rewatchPause = 20 * time.Millisecond
)

// api is the reports as an API server shows them.
type api struct {
	client *rest.RESTClient
	// version at which reports of a kind are read and written.
	version func(registry.Kind) string
	retry   *retrier
}

// newClient returns a client for any path, without a limit of its own. Requests of a
// migration pass the holds that the migration itself sets.
func newClient(config *rest.Config) (*rest.RESTClient, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return marked{inner} })
	return rest.UnversionedRESTClientFor(config)
}

// marked marks requests as those of a migration.
type marked struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (m marked) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set(imports.HoldHeader, "true")
	return m.RoundTripper.RoundTrip(request)
}

// realVersion is the version that clients use.
func realVersion(kind registry.Kind) string { return kind.GroupVersionKind.Version }

// addedVersion is the version for the migration.
func addedVersion(registry.Kind) string { return migrationVersion }

func (a *api) path(kind registry.Kind, namespace, name string) string {
	path := "/apis/" + kind.GroupVersionKind.Group + "/" + a.version(kind)
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	path += "/" + kind.Resource
	if name != "" {
		path += "/" + name
	}
	return path
}

// acceptMetadata asks for metadata only.
const acceptMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// page is the answer to a list.
type page struct {
	Metadata metav1.ListMeta   `json:"metadata"`
	Items    []json.RawMessage `json:"items"`
}

// list returns all reports of a kind at one revision, which it writes to version with
// the first page. Where history ends in mid-list the rest is as it is then: a watch
// from version delivers what the list missed.
func (a *api) list(ctx context.Context, kind registry.Kind, whole bool, version *string) entries {
	return func(yield func(*entry, error) bool) {
		next, first := "", true
		for first || next != "" {
			p, err := a.page(ctx, kind, whole, next)
			if err != nil {
				yield(nil, fmt.Errorf("list %s: %w", kind.GroupResource(), err))
				return
			}
			if first && version != nil {
				*version = p.Metadata.ResourceVersion
			}
			first, next = false, p.Metadata.Continue
			for _, data := range p.Items {
				e, err := parseEntry(data, whole)
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

func (a *api) page(ctx context.Context, kind registry.Kind, whole bool, next string) (p page, err error) {
	err = a.retry.do(ctx, "list "+kind.Resource, func() error {
		request := a.client.Get().AbsPath(a.path(kind, "", "")).Param("limit", strconv.Itoa(pageSize))
		if next != "" {
			request.Param("continue", next)
		}
		if !whole {
			request.SetHeader("Accept", acceptMetadata)
		}
		data, err := request.DoRaw(ctx)
		var expired *apierrors.StatusError
		if apierrors.IsResourceExpired(err) && errors.As(err, &expired) && expired.ErrStatus.ListMeta.Continue != "" {
			next = expired.ErrStatus.ListMeta.Continue
			return errAgain
		}
		if err != nil {
			return err
		}
		p = page{}
		return json.Unmarshal(data, &p)
	})
	return p, err
}

// head returns a list of at most one report.
func (a *api) head(ctx context.Context, kind registry.Kind) (p page, err error) {
	data, err := a.client.Get().AbsPath(a.path(kind, "", "")).Param("limit", "1").SetHeader("Accept", acceptMetadata).DoRaw(ctx)
	if err != nil {
		return page{}, err
	}
	err = json.Unmarshal(data, &p)
	return p, err
}

// get returns a whole report, nil if there is none.
func (a *api) get(ctx context.Context, kind registry.Kind, namespace, name string) (found *entry, err error) {
	err = a.retry.do(ctx, "get "+kind.Resource, func() error {
		data, err := a.client.Get().AbsPath(a.path(kind, namespace, name)).DoRaw(ctx)
		if apierrors.IsNotFound(err) {
			found = nil
			return nil
		}
		if err != nil {
			return err
		}
		found, err = parseEntry(data, true)
		return err
	})
	return found, err
}

// change is an event of a watch.
type change struct {
	*entry

	deleted bool
	// modified: the report was there before.
	modified bool
}

// errGone says that a watch can't go on: its revision is not in history any more.
var errGone = errors.New("the watch has expired")

// watch calls changed for every event after a revision, and at for every revision
// that it knows to have passed. It ends with errGone, an error of one of the
// functions, or that of ctx. Interrupted connections are reopened.
func (a *api) watch(ctx context.Context, kind registry.Kind, version string, changed func(change) error, at func(string)) error {
	for ctx.Err() == nil {
		var fromCaller error
		err := a.retry.do(ctx, "watch "+kind.Resource, func() error {
			stream, err := a.client.Get().AbsPath(a.path(kind, "", "")).
				Param("watch", "true").Param("resourceVersion", version).Param("allowWatchBookmarks", "true").
				Param("timeoutSeconds", strconv.Itoa(watchSeconds)).Stream(ctx)
			if err != nil {
				return err
			}
			err = readEvents(stream, func(kind string, e *entry) error {
				if kind != "BOOKMARK" {
					if fromCaller = changed(change{e, kind == "DELETED", kind == "MODIFIED"}); fromCaller != nil {
						return fromCaller
					}
				}
				version = strconv.FormatUint(e.version, 10)
				at(version)
				return nil
			})
			return errors.Join(err, stream.Close())
		})
		switch {
		case fromCaller != nil:
			return fromCaller
		case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
			return errGone
		case err != nil:
			return fmt.Errorf("watch %s: %w", kind.GroupResource(), err)
		}
		if err := a.retry.sleep(ctx, rewatchPause); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// readEvents reads a stream of events until it ends.
func readEvents(stream io.Reader, handle func(kind string, e *entry) error) error {
	decoder := json.NewDecoder(stream)
	for {
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := decoder.Decode(&event); err != nil {
			// The end of a watch, in order or by a broken connection: the next one goes
			// on from the last event.
			return nil //nolint:nilerr // See above.
		}
		if event.Type == "ERROR" {
			var status metav1.Status
			if err := json.Unmarshal(event.Object, &status); err != nil {
				return fmt.Errorf("read the error of a watch: %w", err)
			}
			return &apierrors.StatusError{ErrStatus: status}
		}
		e, err := parseEntry(event.Object, true)
		if err != nil {
			return err
		}
		if err := handle(event.Type, e); err != nil {
			return err
		}
	}
}

// post sends a request of the import to Docket.
func (a *api) post(ctx context.Context, path string, request, response any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	return a.retry.do(ctx, "import", func() error {
		data, err := a.client.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(body).DoRaw(ctx)
		if err != nil {
			return err
		}
		return json.Unmarshal(data, response)
	})
}
