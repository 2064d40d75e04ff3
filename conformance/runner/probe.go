// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// RunLabel is on all that a run makes; its value is the run's.
	RunLabel = "conformance.docket.dev/run"
	// checkLabel tells apart what the checks of a run make.
	checkLabel = "conformance.docket.dev/check"
	// Finalizer is one that nobody else has and that the end of a run removes.
	Finalizer = "conformance.docket.dev/hold"

	// poll is how long to wait before looking again.
	poll = 100 * time.Millisecond
	// holdPatience is how long somebody else may hold an object that is deleted.
	holdPatience = 10 * time.Second
	// editTries is how often an object is read again because somebody else has changed it.
	editTries = 5
)

// Probe is what a check works with. Requests that prepare or clean up are its methods; what the check
// is about it sends with [Probe.Send]. A probe is for one goroutine.
type Probe struct {
	// GroupVersion is the one that is checked.
	GroupVersion schema.GroupVersion
	// Resources are those that are checked, whatever the check is about.
	Resources []*Resource
	// Resource is the one that a check with PerResource is about, else nil.
	Resource *Resource
	// Namespace is where objects are made; empty if the resource has none.
	Namespace string
	// HasCore reports whether the server has namespaces, and with them the rest of the core API.
	HasCore bool
	// HasCredentials reports whether the kubeconfig has any: behind `kubectl proxy` everybody is somebody.
	HasCredentials bool

	run *run
	// id begins the names of what the probe makes, and is its label.
	id   string
	made int
}

// Send sends a request. The error is not nil if there is no answer, or if the user of the kubeconfig
// may not do it.
func (p *Probe) Send(ctx context.Context, r Request) (*Response, error) {
	return p.run.client.do(ctx, r)
}

// Watch starts a watch; the caller closes the stream. If the server doesn't start it, the answer is
// returned instead of a stream.
func (p *Probe) Watch(ctx context.Context, path string, query ...string) (*Stream, *Response, error) {
	return p.WatchWith(ctx, Get(path, query...))
}

// WatchWith is Watch with a request that Get made.
func (p *Probe) WatchWith(ctx context.Context, r Request) (*Stream, *Response, error) {
	r.Query.Set("watch", "true")
	return p.run.client.openStream(ctx, r)
}

// MustWatch is Watch for checks that take for granted that the server starts it.
func (p *Probe) MustWatch(ctx context.Context, path string, query ...string) (*Stream, error) {
	stream, response, err := p.Watch(ctx, path, query...)
	if err == nil && stream == nil {
		err = &SetupError{"start a watch", response.Exchange}
	}
	return stream, err
}

// Collection is the path of the resource in the namespace of the probe.
func (p *Probe) Collection() string { return p.Resource.CollectionPath(p.Namespace) }

// Path is the path of an object in the namespace of the probe, or of a subresource of it.
func (p *Probe) Path(name string, subresource ...string) string {
	return p.Resource.ObjectPath(p.Namespace, name, subresource...)
}

// Selector selects by labels what this probe makes, and nothing else.
func (p *Probe) Selector() string { return checkLabel + "=" + p.id }

// Name returns one that is not used yet.
func (p *Probe) Name() string {
	p.made++
	return fmt.Sprintf("%s-%d", p.id, p.made)
}

// New returns an object of the resource that the server does not have yet.
func (p *Probe) New() *unstructured.Unstructured {
	object := p.Resource.Maker.New()
	object.SetName(p.Name())
	p.Resource.Maker.Place(object, p.Namespace)
	p.Mark(object)
	return object
}

// Mark gives an object the labels of this probe.
func (p *Probe) Mark(object *unstructured.Unstructured) {
	SetLabel(object, RunLabel, p.run.id)
	SetLabel(object, checkLabel, p.id)
}

// SetLabel sets a label of an object.
func SetLabel(object *unstructured.Unstructured, label, value string) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[label] = value
	object.SetLabels(labels)
}

// Make creates an object and returns it as the server has it then.
func (p *Probe) Make(ctx context.Context) (*unstructured.Unstructured, error) {
	return p.Create(ctx, p.New())
}

// Create creates an object of the resource and returns it as the server has it then.
func (p *Probe) Create(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := p.prepare(ctx, "create an object", Post(p.Resource.CollectionPath(object.GetNamespace()), object)); err != nil {
		return nil, err
	}
	return p.readIn(ctx, object.GetNamespace(), object.GetName())
}

// Read returns an object as the server has it.
func (p *Probe) Read(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	return p.readIn(ctx, p.Namespace, name)
}

func (p *Probe) readIn(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error) {
	response, err := p.Send(ctx, Get(p.Resource.ObjectPath(namespace, name)))
	if err != nil {
		return nil, err
	}
	object, err := response.Object()
	if err != nil {
		return nil, &SetupError{"read the object", response.Exchange}
	}
	return object, nil
}

// Exists reports whether the server has an object of the resource.
func (p *Probe) Exists(ctx context.Context, name string) (bool, error) {
	return p.ExistsAt(ctx, p.Path(name))
}

// ExistsAt reports whether the server has an object at a path.
func (p *Probe) ExistsAt(ctx context.Context, path string) (bool, error) {
	response, err := p.Send(ctx, Get(path))
	switch {
	case err != nil:
		return false, err
	case response.Code == http.StatusNotFound:
		return false, nil
	case response.OK():
		return true, nil
	default:
		return false, &SetupError{"look whether an object exists", response.Exchange}
	}
}

// Edit changes an object and returns it as the server has it then.
func (p *Probe) Edit(ctx context.Context, name string, change func(*unstructured.Unstructured)) (*unstructured.Unstructured, error) {
	for try := 1; ; try++ {
		object, err := p.Read(ctx, name)
		if err != nil {
			return nil, err
		}
		change(object)
		err = p.prepare(ctx, "change the object", Put(p.Path(name), object))
		var setup *SetupError
		if errors.As(err, &setup) && setup.Exchange.Received.Code == http.StatusConflict && try < editTries {
			continue // Controllers change objects, too.
		}
		if err != nil {
			return nil, err
		}
		return p.Read(ctx, name)
	}
}

// Label sets a label of an object and returns the object as the server has it then.
func (p *Probe) Label(ctx context.Context, name, label, value string) (*unstructured.Unstructured, error) {
	return p.Edit(ctx, name, func(object *unstructured.Unstructured) { SetLabel(object, label, value) })
}

// Remove deletes an object and returns when it is gone.
func (p *Probe) Remove(ctx context.Context, name string) error {
	if err := p.prepare(ctx, "delete the object", Delete(p.Path(name), DeleteNow())); err != nil {
		return err
	}
	return p.Gone(ctx, name)
}

// Gone returns when an object is gone, or the time is over. The check is left out if somebody else
// holds the object: in a cluster without the controllers of all kinds nobody lets it go.
func (p *Probe) Gone(ctx context.Context, name string) error {
	begin := time.Now()
	for {
		response, err := p.Send(ctx, Get(p.Path(name)))
		if err != nil || response.Code == http.StatusNotFound {
			return err
		}
		object, err := response.Object()
		if err != nil {
			return &SetupError{"read the object", response.Exchange}
		}
		if holder := holderOf(object); holder != "" && time.Since(begin) > holdPatience {
			return Leave("objects of the resource are held when they are deleted: nobody removes the finalizer %s", holder)
		}
		if err := p.Pause(ctx, poll); err != nil {
			return fmt.Errorf("%s is not deleted: %w", name, err)
		}
	}
}

// holderOf returns a finalizer of an object that is not [Finalizer]; empty if there is none.
func holderOf(object *unstructured.Unstructured) string {
	for _, finalizer := range object.GetFinalizers() {
		if finalizer != Finalizer {
			return finalizer
		}
	}
	return ""
}

// Pause waits. The error is that of ctx.
func (p *Probe) Pause(ctx context.Context, length time.Duration) error { return pause(ctx, length) }

// patienceKey is the key of the patience in the context of a check.
type patienceKey struct{}

// WithPatience returns a context in which [Within] multiplies lengths with the patience: tests expect
// broken servers not to do what they owe.
func WithPatience(ctx context.Context, patience float64) context.Context {
	return context.WithValue(ctx, patienceKey{}, patience)
}

// Within returns a context that ends when a server has had the time for what it owes a check.
func Within(ctx context.Context, length time.Duration) (context.Context, context.CancelFunc) {
	if patience, ok := ctx.Value(patienceKey{}).(float64); ok {
		length = time.Duration(float64(length) * patience)
	}
	return context.WithTimeout(ctx, length)
}

// DeleteNow are options that do not give pods and their like time to end.
func DeleteNow() map[string]any {
	return map[string]any{"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "propagationPolicy": metav1.DeletePropagationBackground}
}

// prepare is [Probe.Prepare] without the answer.
func (p *Probe) prepare(ctx context.Context, wanted string, r Request) error {
	_, err := p.Prepare(ctx, wanted, r)
	return err
}

// Prepare sends a request that has to succeed for the check to go on, and returns the answer.
func (p *Probe) Prepare(ctx context.Context, wanted string, r Request) (*Response, error) {
	response, err := p.Send(ctx, r)
	if err == nil && !response.OK() {
		err = &SetupError{wanted, response.Exchange}
	}
	return response, err
}

// NewNamespace makes a namespace for this check alone. The check is left out if that can't be.
func (p *Probe) NewNamespace(ctx context.Context) (string, error) { return p.run.rooms.more(ctx) }

// OtherNamespace returns a namespace that is not [Probe.Namespace]; other checks may use it, too. The
// check is left out if there is none.
func (p *Probe) OtherNamespace(ctx context.Context) (string, error) {
	return p.run.rooms.other(ctx, p.Resource)
}
