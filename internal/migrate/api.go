// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
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
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/docket-project/docket/internal/server/imports"
)

// migrationVersion is the version that a migration adds to CRDs.
const migrationVersion = "migration"

const (
	// pageSize is the number of objects on a page of a list: about 3 MB.
	pageSize = 500
	// watchSeconds is how long a watch stays open before the next one replaces it.
	watchSeconds = 300
	// rewatchPause protects a server that ends each watch at once.
	rewatchPause = 20 * time.Millisecond
)

var _ watcher = (*api)(nil)

// api is the objects that an API server serves.
type api struct {
	client *rest.RESTClient
	// version is the API version at which objects are read and written; "" for that of the kind.
	version string
	retry   *retrier
}

// newClient returns a client for any path, without rate limit. Its requests pass the
// holds that the migration itself sets.
func newClient(config *rest.Config) (*rest.RESTClient, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return marked{inner} })
	return rest.UnversionedRESTClientFor(config)
}

// marked marks requests as belonging to a migration.
type marked struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (m marked) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set(imports.HoldHeader, "true")
	return m.RoundTripper.RoundTrip(request)
}

func (a *api) path(kind imports.Kind, namespace, name string) string {
	path := "/apis/" + kind.Group + "/" + cmp.Or(a.version, kind.Version)
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

// list implements reader: all objects of a kind at one resource version. If that leaves
// history while the list is read, the remaining pages show a later state: a watch from
// version delivers what they missed.
func (a *api) list(ctx context.Context, kind imports.Kind, whole bool, version *string) entries {
	return pages(func(token string) (page, error) { return a.page(ctx, kind, whole, pageSize, token) }, version)
}

// page reads the page of a list that a continue token stands for.
func (a *api) page(ctx context.Context, kind imports.Kind, whole bool, limit int, token string) (p page, err error) {
	err = a.retry.do(ctx, "list "+kind.Resource, func() error {
		request := a.client.Get().AbsPath(a.path(kind, "", "")).Param("limit", strconv.Itoa(limit))
		if token != "" {
			request.Param("continue", token)
		}
		if !whole {
			request.SetHeader("Accept", acceptMetadata)
		}
		data, err := request.DoRaw(ctx)
		var expired *apierrors.StatusError
		if apierrors.IsResourceExpired(err) && errors.As(err, &expired) && expired.ErrStatus.ListMeta.Continue != "" {
			token = expired.ErrStatus.ListMeta.Continue
			return errAgain
		}
		if err != nil {
			return err
		}
		p, err = parsePage(data, whole)
		return err
	})
	if err != nil {
		return page{}, fmt.Errorf("list %s: %w", kind.GroupResource(), err)
	}
	return p, nil
}

func parsePage(data []byte, whole bool) (page, error) {
	var list struct {
		Metadata metav1.ListMeta   `json:"metadata"`
		Items    []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return page{}, err
	}
	p := page{version: list.Metadata.ResourceVersion, next: list.Metadata.Continue, remaining: list.Metadata.RemainingItemCount}
	for _, item := range list.Items {
		e, err := parseEntry(item, whole)
		if err != nil {
			return page{}, err
		}
		p.entries = append(p.entries, e)
	}
	return p, nil
}

// count returns the number of objects of some kinds.
func (a *api) count(ctx context.Context, kinds []imports.Kind) (total int64, err error) {
	for _, kind := range kinds {
		p, err := a.page(ctx, kind, false, 1, "")
		if err != nil {
			return 0, err
		}
		total += int64(len(p.entries)) + ptr.Deref(p.remaining, 0)
	}
	return total, nil
}

// get implements reader.
func (a *api) get(ctx context.Context, kind imports.Kind, namespace, name string) (found *entry, err error) {
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

// errExpired says that a watch can't continue: its resource version has left history.
var errExpired = errors.New("the watch has expired")

// watch implements watcher. It reopens interrupted connections.
func (a *api) watch(ctx context.Context, kind imports.Kind, version string, handle func(event) error) error {
	for ctx.Err() == nil {
		var handled error
		err := a.retry.do(ctx, "watch "+kind.Resource, func() error {
			stream, err := a.client.Get().AbsPath(a.path(kind, "", "")).
				Param("watch", "true").Param("resourceVersion", version).Param("allowWatchBookmarks", "true").
				Param("timeoutSeconds", strconv.Itoa(watchSeconds)).Stream(ctx)
			if err != nil {
				return err
			}
			err = readEvents(stream, func(e event) error {
				if handled = handle(e); handled == nil {
					version = e.version
				}
				return handled
			})
			return errors.Join(err, stream.Close())
		})
		switch {
		case handled != nil:
			return handled
		case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
			return errExpired
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
func readEvents(stream io.Reader, handle func(event) error) error {
	decoder := json.NewDecoder(stream)
	for {
		var received struct {
			Type   watch.EventType `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := decoder.Decode(&received); err != nil {
			// The watch timed out or its connection broke: the next one continues after
			// the last event.
			return nil //nolint:nilerr // See above.
		}
		if received.Type == watch.Error {
			var status metav1.Status
			if err := json.Unmarshal(received.Object, &status); err != nil {
				return fmt.Errorf("read the error of a watch: %w", err)
			}
			return &apierrors.StatusError{ErrStatus: status}
		}
		e, err := parseEntry(received.Object, true)
		if err != nil {
			return err
		}
		next := event{
			entry: e, version: strconv.FormatUint(e.version, 10),
			deleted: received.Type == watch.Deleted, modified: received.Type == watch.Modified,
		}
		if received.Type == watch.Bookmark {
			next.entry = nil
		}
		if err := handle(next); err != nil {
			return err
		}
	}
}

// post sends a request to one of the import paths of Docket.
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
