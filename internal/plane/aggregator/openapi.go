// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/client-go/util/workqueue"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	openapiaggregator "k8s.io/kube-aggregator/pkg/controllers/openapi/aggregator"
	openapiv3aggregator "k8s.io/kube-aggregator/pkg/controllers/openapiv3/aggregator"
	"k8s.io/kube-openapi/pkg/handler3"
)

const (
	documentWorkers  = 2
	documentTimeout  = 10 * time.Second
	documentInterval = time.Minute
	documentRetry    = 5 * time.Second
	documentMaxRetry = 5 * time.Minute
	// maxOpenAPIBytes is twice what a kube-apiserver has for all of its groups. Parsed, a
	// document takes some ten times as much.
	maxOpenAPIBytes = 8 << 20
	// remoteDocuments stands for all extension servers in the library's list of sources.
	remoteDocuments = "docket_extension_servers"
)

// documents gets OpenAPI documents of extension servers and hands them to the library once they
// have been checked. The library never asks a server: it holds locks while it does.
type documents struct {
	registry *registry
	v2       openapiaggregator.SpecAggregator
	v3       openapiv3aggregator.SpecProxier
	remote   *handler3.OpenAPIService
	queue    workqueue.TypedRateLimitingInterface[string]

	// parsing is held while a document is parsed: one at a time is enough memory.
	parsing sync.Mutex
	mu      sync.Mutex
	seen    map[string][sha256.Size]byte // Of what was merged last, by APIService.
	merged  map[string]*memoryDocument   // What the v2 library reads, by APIService.
	// outcomes says what became of the last attempt, by APIService.
	outcomes map[string]string
}

func newDocuments(registry *registry, v2 openapiaggregator.SpecAggregator, v3 openapiv3aggregator.SpecProxier) (*documents, error) {
	d := &documents{
		registry: registry, v2: v2, v3: v3, remote: handler3.NewOpenAPIService(),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](documentRetry, documentMaxRetry),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "docket_apiservice_openapi"}),
		seen:   map[string][sha256.Size]byte{},
		merged: map[string]*memoryDocument{}, outcomes: map[string]string{},
	}
	handler := mux.NewPathRecorderMux(remoteDocuments)
	if err := d.remote.RegisterOpenAPIV3VersionedService("/openapi/v3", handler); err != nil {
		return nil, err
	}
	v3.AddUpdateAPIService(handler, &apiregistration.APIService{ObjectMeta: metav1.ObjectMeta{Name: remoteDocuments}})
	return d, v3.UpdateAPIServiceSpec(remoteDocuments)
}

// changed reads the documents of a server at once.
func (d *documents) changed(name string) {
	d.queue.Forget(name)
	d.queue.Add(name)
}

// run returns when ctx is done and all workers have ended.
func (d *documents) run(ctx context.Context) {
	work(ctx, d.queue, documentWorkers, func(ctx context.Context, name string) {
		b := d.registry.named(name)
		switch {
		case b == nil:
			d.remove(name)
		case !b.available:
			// The last good documents stay. Becoming available calls changed.
		default:
			err := d.sync(ctx, b)
			if ctx.Err() != nil {
				return
			}
			d.note(name, err)
			if err != nil {
				documentErrors.WithLabelValues(name).Inc()
				utilruntime.HandleErrorWithContext(ctx, err, "OpenAPI of an APIService can't be merged", "apiservice", name)
				d.queue.AddRateLimited(name)
				return
			}
			d.queue.Forget(name)
			d.queue.AddAfter(name, documentInterval)
		}
	})
}

// note keeps the outcome of an attempt to read the documents of a server.
func (d *documents) note(name string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.registry.named(name) == nil {
		return // Removed in the meantime.
	}
	d.outcomes[name] = OpenAPIRead
	if err != nil {
		d.outcomes[name] = err.Error()
	}
}

// outcome returns what became of the last attempt; "" before the first one.
func (d *documents) outcome(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.outcomes[name]
}

func (d *documents) remove(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.outcomes, name)
	if _, known := d.seen[name]; !known {
		return
	}
	delete(d.seen, name)
	delete(d.merged, name)
	d.v2.RemoveAPIService(name)
	d.remote.DeleteGroupVersion("apis/" + helper.APIServiceNameToGroupVersion(name).String())
	documentErrors.DeleteLabelValues(name)
	if err := d.v3.UpdateAPIServiceSpec(remoteDocuments); err != nil {
		utilruntime.HandleError(err)
	}
}

// sync reads both documents of a server. One that is broken does not keep the other out.
func (d *documents) sync(ctx context.Context, b *backend) error {
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	second, errV2 := b.fetch(ctx, "/openapi/v2", maxOpenAPIBytes)
	third, errV3 := b.fetch(ctx, "/openapi/v3"+b.path(), maxOpenAPIBytes)
	if errors.Is(errV2, errNotFound) {
		errV2 = nil // No server has to have it.
	}
	if errors.Is(errV3, errNotFound) {
		errV3 = nil
	}
	hash := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s", len(second), second, third))
	d.mu.Lock()
	same := d.seen[b.name()] == hash
	d.mu.Unlock()
	if same {
		return errors.Join(errV2, errV3)
	}
	return errors.Join(errV2, errV3, d.merge(b, second, third, hash))
}

// merge hands over what is good of the documents. Either may be empty.
func (d *documents) merge(b *backend, second, third []byte, hash [sha256.Size]byte) error {
	d.parsing.Lock()
	defer d.parsing.Unlock()
	v2, errV2 := checkV2(second, b.path())
	v3, errV3 := checkV3(third, b.path())
	if v3 == nil && v2 != nil {
		var err error
		v3, err = convert(v2.spec, b.path())
		errV3 = errors.Join(errV3, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.registry.named(b.name()) == nil {
		return nil // Removed in the meantime; remove may have run.
	}
	d.seen[b.name()] = hash
	if v2 != nil {
		errV2 = errors.Join(errV2, d.mergeV2(b, v2.data))
	}
	if v3 != nil {
		d.remote.UpdateGroupVersion("apis/"+b.groupVersion().String(), v3)
		errV3 = errors.Join(errV3, d.v3.UpdateAPIServiceSpec(remoteDocuments))
	}
	return errors.Join(errV2, errV3)
}

// mergeV2 lets the library download a document from memory. Each APIService is added once: the
// library reads the APIService without the lock under which it would write an update.
func (d *documents) mergeV2(b *backend, data []byte) error {
	document := d.merged[b.name()]
	if document == nil {
		document = &memoryDocument{}
		if err := d.v2.AddUpdateAPIService(b.service, document); err != nil {
			return err
		}
		d.merged[b.name()] = document
	}
	document.data = data
	defer func() { document.data = nil }() // It keeps what it has parsed; the bytes may go.
	return d.v2.UpdateAPIServiceSpec(b.name())
}

// memoryDocument answers with data, which only mergeV2 sets and only while it waits.
type memoryDocument struct{ data []byte }

func (m *memoryDocument) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(m.data) //nolint:gosec // JSON, into memory.
}
