// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/reports/definition"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/store"
)

// CustomResourcesFlag names the flag with files of definitions.
const CustomResourcesFlag = "custom-resources"

const (
	// definitionsInterval is how often to look whether files of definitions have changed, or rows have to be made again.
	definitionsInterval = 5 * time.Second
	definitionsPrefix   = "/docket.dev/definitions"
)

type crd = apiextensionsv1.CustomResourceDefinition

// customResources serves the kinds of definitions in files, beside reports. The database has the definitions under
// which objects were stored: what kube-apiserver would refuse in place of one of them is refused here, too.
type customResources struct {
	paths  []string
	server *registry.Server
	// fixed are the kinds that are always served.
	fixed   []registry.Kind
	reports *store.Store
	stored  *store.Resource
	// agreement is nil where this is the only process on the database.
	agreement *agreement
	// problem is why other definitions are served than the files have; empty if they are not.
	problem atomic.Pointer[error]

	// Only run uses these, after the first load.
	// changed is called after other kinds are served than before; nil for nobody.
	changed func()
	files   parsedFiles
	// digest is the files' when their definitions were taken over.
	digest   [sha256.Size]byte
	served   []*crd
	database map[string]*crd
}

// parsedFiles is what files with a digest say, or why that can't be served.
type parsedFiles struct {
	digest      [sha256.Size]byte
	definitions []*crd
	err         error
}

// ownResource returns where the server keeps objects of its own, which nobody else sees.
func ownResource(reports *store.Store, name string) *store.Resource {
	return reports.Resource(store.ResourceConfig{
		GroupResource: schema.GroupResource{Group: "docket.dev", Resource: name}, Prefix: "/docket.dev/" + name,
		Codec:       unstructured.UnstructuredJSONScheme,
		NewFunc:     func() runtime.Object { return &unstructured.Unstructured{} },
		NewListFunc: func() runtime.Object { return &unstructured.UnstructuredList{} },
	})
}

// readDefinitions reads the definitions that a server is to serve.
func readDefinitions(paths []string) ([]*crd, error) {
	files, err := definition.Open(paths...)
	if err != nil {
		return nil, err
	}
	return definitionsIn(files)
}

func definitionsIn(files definition.Files) ([]*crd, error) {
	definitions, err := files.Definitions()
	if err != nil {
		return nil, err
	}
	return definitions, definition.CheckAll(definitions, append(registry.Groups(), v1alpha1.GroupName))
}

// ReadKinds reads the kinds that a server serves by the definitions in files.
func ReadKinds(paths []string) ([]registry.Kind, error) {
	definitions, err := readDefinitions(paths)
	if err != nil {
		return nil, err
	}
	return kindsOf(definitions)
}

// kindsOf returns the served kinds of definitions.
func kindsOf(definitions []*crd) ([]registry.Kind, error) {
	var kinds []registry.Kind
	for _, d := range definitions {
		of, err := registry.FromDefinition(d)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, of...)
	}
	return kinds, nil
}

func newCustomResources(paths []string, fixed []registry.Kind, server *registry.Server, reports *store.Store) *customResources {
	c := &customResources{paths: paths, fixed: fixed, server: server, reports: reports, database: map[string]*crd{}}
	if reports != nil {
		c.stored = ownResource(reports, "definitions")
	}
	return c
}

// start serves what the files say, or what is agreed on until [customResources.run] has asked the other replicas.
func (c *customResources) start(ctx context.Context) error {
	if len(c.paths) == 0 {
		return c.server.Serve(c.fixed)
	}
	if err := c.read(); err != nil {
		return err
	}
	if c.agreement == nil {
		return c.load(ctx)
	}
	if err := c.readDatabase(ctx); err != nil {
		return err
	}
	if len(c.database) == 0 {
		return c.load(ctx)
	}
	notAsked := errors.New("the other replicas have not been asked for their definitions")
	c.problem.Store(&notAsked)
	if _, err := c.check(ctx); err != nil {
		return err
	}
	agreed := slices.SortedFunc(maps.Values(c.database), func(a, b *crd) int { return strings.Compare(a.Name, b.Name) })
	return c.serve(ctx, agreed)
}

// read reads the files, and parses them if they have changed.
func (c *customResources) read() error {
	files, err := definition.Open(c.paths...)
	if err != nil {
		return err
	}
	if digest := files.Digest(); digest != c.files.digest {
		definitions, err := definitionsIn(files)
		c.files = parsedFiles{digest, definitions, err}
	}
	return nil
}

// check returns the definitions in the files, or an error if one of them can't take the place of what the database has.
func (c *customResources) check(ctx context.Context) ([]*crd, error) {
	if c.files.err != nil {
		return nil, c.files.err
	}
	definitions := make([]*crd, len(c.files.definitions))
	var errs []error
	for i, parsed := range c.files.definitions {
		d := parsed.DeepCopy() // It gets notes about the database as it is now.
		definitions[i] = d
		older := c.database[d.Name]
		if older != nil {
			errs = append(errs, definition.CheckUpdate(d, older))
			continue
		}
		count, err := c.reports.Count(ctx, resourceOf(d))
		if err != nil {
			return nil, err
		}
		if count == 0 {
			definition.SetProven(d)
		}
	}
	return definitions, errors.Join(errs...)
}

func resourceOf(d *crd) schema.GroupResource {
	return schema.GroupResource{Group: d.Spec.Group, Resource: d.Spec.Names.Plural}
}

// serve serves the kinds of definitions beside those that are always served.
func (c *customResources) serve(ctx context.Context, definitions []*crd) error {
	kinds, err := kindsOf(definitions)
	if err != nil {
		return err
	}
	if c.served != nil { // First, since objects are stored under them at once. A server that starts can't write yet.
		if err := c.note(ctx, definitions); err != nil {
			return err
		}
	}
	if err := c.server.Serve(slices.Concat(c.fixed, kinds)); err != nil {
		return err
	}
	c.served = definitions
	return nil
}

// ready is the check that this replica serves what its files say.
func (c *customResources) ready() healthz.HealthChecker {
	return healthz.NamedCheck("docket-definitions", func(*http.Request) error {
		if problem := c.problem.Load(); problem != nil {
			return *problem
		}
		return nil
	})
}

// load serves what the files say. On an error everything is as it was.
func (c *customResources) load(ctx context.Context) error {
	if err := c.readDatabase(ctx); err != nil {
		return fmt.Errorf("read the definitions of stored objects: %w", err)
	}
	definitions, err := c.check(ctx)
	if err != nil {
		return err
	}
	if err := c.serve(ctx, definitions); err != nil {
		return err
	}
	c.digest = c.files.digest
	if c.changed != nil {
		c.changed()
	}
	return nil
}

func (c *customResources) readDatabase(ctx context.Context) error {
	var list unstructured.UnstructuredList
	if err := c.stored.GetList(ctx, definitionsPrefix, storage.ListOptions{Recursive: true, Predicate: storage.Everything}, &list); err != nil {
		return err
	}
	found := map[string]*crd{}
	for i := range list.Items {
		d := &crd{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, d); err != nil {
			return err
		}
		found[d.Name] = d
	}
	c.database = found
	return nil
}

// run keeps in step with the files until ctx ends.
func (c *customResources) run(ctx context.Context) error {
	if len(c.paths) == 0 {
		return nil
	}
	keepLooking(ctx, c.look, definitionsRefused, func(err error) {
		klog.ErrorS(err, "The definitions of custom resources can't be taken over; those from before stay", "files", c.paths)
	})
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), definitionsInterval)
	defer cancel()
	if err := c.save(ending); err != nil { // A server that is stopped at once has not done it before.
		klog.ErrorS(err, "The definitions of stored objects could not be written")
	}
	c.agreement.leave(ctx)
	return nil
}

// keepLooking calls look now and every few seconds, until ctx ends. While it fails, a gauge is 1, which look sets to 0.
// Of equal errors it tells once.
func keepLooking(ctx context.Context, look func(context.Context) error, failing *metrics.Gauge, failed func(error)) {
	last := ""
	ticker := time.NewTicker(definitionsInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		err := look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			last = ""
		default:
			failing.Set(1)
			if err.Error() != last {
				last = err.Error()
				failed(err)
			}
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// look takes over what the files say, if it is new and all replicas have it.
func (c *customResources) look(ctx context.Context) error {
	if err := c.read(); err != nil {
		return err
	}
	if c.agreement != nil {
		err := c.agreement.ask(ctx, c.files.digest, time.Now())
		if err != nil {
			c.problem.Store(&err)
			return err
		}
		c.problem.Store(nil)
	}
	if c.files.digest != c.digest {
		if err := c.load(ctx); err != nil {
			return err
		}
		klog.InfoS("Serving definitions of custom resources", "definitions", len(c.served))
	}
	if err := c.save(ctx); err != nil {
		return err
	}
	definitionsRefused.Set(0)
	return nil
}

// note writes definitions into the database.
func (c *customResources) note(ctx context.Context, definitions []*crd) error {
	for _, d := range definitions {
		if older := c.database[d.Name]; older != nil && reflect.DeepEqual(older.Spec, d.Spec) && reflect.DeepEqual(older.Status.StoredVersions, d.Status.StoredVersions) {
			continue
		}
		if err := c.put(ctx, d); err != nil {
			return err
		}
		c.database[d.Name] = d
	}
	return nil
}

// save makes the database have what is served now.
func (c *customResources) save(ctx context.Context) error {
	if err := c.note(ctx, c.served); err != nil {
		return err
	}
	for name, d := range c.database {
		if slices.ContainsFunc(c.served, func(s *crd) bool { return s.Name == name }) {
			continue
		}
		if err := c.forget(ctx, d); err != nil {
			return err
		}
		delete(c.database, name)
	}
	return nil
}

func (c *customResources) put(ctx context.Context, d *crd) error {
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return c.stored.GuaranteedUpdate(ctx, definitionsPrefix+"/"+d.Name, &unstructured.Unstructured{}, true, nil,
		func(before runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
			object := &unstructured.Unstructured{}
			if err := object.UnmarshalJSON(data); err != nil {
				return nil, nil, err
			}
			object.SetAPIVersion("apiextensions.k8s.io/v1")
			object.SetKind("CustomResourceDefinition")
			if accessor, ok := before.(*unstructured.Unstructured); ok {
				object.SetResourceVersion(accessor.GetResourceVersion())
			}
			return object, nil, nil
		}, nil)
}

// forget forgets a definition that no file has any more, unless there are objects: they stay, and are served again once
// it is back.
func (c *customResources) forget(ctx context.Context, d *crd) error {
	count, err := c.reports.Count(ctx, resourceOf(d))
	if err != nil {
		return err
	}
	if count > 0 {
		klog.InfoS("A definition is in no file any more: its objects stay in the database and are not served. Give the definition again to reach them",
			"definition", d.Name, "objects", count)
		return nil
	}
	return c.stored.Delete(ctx, definitionsPrefix+"/"+d.Name, &unstructured.Unstructured{}, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
}
