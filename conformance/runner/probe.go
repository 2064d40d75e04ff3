// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// RunLabel is on all that a run makes; its value is the run's.
	RunLabel = "conformance.docket.dev/run"
	// checkLabel says which check of a run made an object.
	checkLabel = "conformance.docket.dev/check"
	// Finalizer is one that nobody else has and that the end of a run removes.
	Finalizer = "conformance.docket.dev/hold"

	// poll is how long to wait before looking again.
	poll = 100 * time.Millisecond
	// holdPatience is how long somebody else may hold an object that is deleted.
	holdPatience = 10 * time.Second
	// changeTries is how often an object is read again because somebody else has changed it.
	changeTries = 5
)

// Probe is what a check works with. Requests that prepare or clean up are its methods; what the check
// is about it sends with [Probe.Send]. A probe is for one goroutine.
type Probe struct {
	// Context ends with the time of the check.
	Context context.Context //nolint:containedctx // A probe lives as long as its check, as a testing.T does.
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

// Send sends a request. It ends the check if there is no answer, or if the user of the kubeconfig may not do it.
func (p *Probe) Send(r Request) *Response {
	return Must(p.run.client.do(p.Context, r))
}

// tidyTime limits the removal of what the end of a run does not remove.
const tidyTime = 5 * time.Second

// Tidy sends a request even after the time of the check has ended. It ignores errors.
func (p *Probe) Tidy(r Request) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.Context), tidyTime)
	defer cancel()
	p.run.client.do(ctx, r) //nolint:errcheck // As documented.
}

// Watch starts a watch; the caller closes the stream. If the server doesn't start it, the answer is
// returned instead of a stream.
func (p *Probe) Watch(path string, query ...string) (*Stream, *Response) {
	return p.WatchWith(Get(path, query...))
}

// WatchWith is Watch with a request that Get made.
func (p *Probe) WatchWith(r Request) (*Stream, *Response) {
	r.Query.Set("watch", "true")
	stream, response, err := p.run.client.openStream(p.Context, r)
	StopOn(err)
	return stream, response
}

// MustWatch is Watch for checks that take for granted that the server starts it.
func (p *Probe) MustWatch(path string, query ...string) *Stream {
	stream, response := p.Watch(path, query...)
	if stream == nil {
		response.Unprepared("start a watch")
	}
	return stream
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
func (p *Probe) Make() *unstructured.Unstructured { return p.Create(p.New()) }

// Create creates an object of the resource and returns it as the server has it then.
func (p *Probe) Create(object *unstructured.Unstructured) *unstructured.Unstructured {
	p.Prepare("create an object", Post(p.Resource.CollectionPath(object.GetNamespace()), object))
	return p.Send(Get(p.Resource.ObjectPath(object.GetNamespace(), object.GetName()))).Object()
}

// Read returns an object as the server has it.
func (p *Probe) Read(name string) *unstructured.Unstructured {
	return p.Send(Get(p.Path(name))).Object()
}

// Look is Read of an object that may be gone: then it is nil.
func (p *Probe) Look(name string) (*Response, *unstructured.Unstructured) {
	response := p.Send(Get(p.Path(name)))
	if response.Code == http.StatusNotFound {
		return response, nil
	}
	return response, response.Object()
}

// Exists reports whether the server has an object of the resource.
func (p *Probe) Exists(name string) bool { return p.ExistsAt(p.Path(name)) }

// ExistsAt reports whether the server has an object at a path.
func (p *Probe) ExistsAt(path string) bool {
	response := p.Send(Get(path))
	if !response.OK() && response.Code != http.StatusNotFound {
		response.Unprepared("look whether an object exists")
	}
	return response.OK()
}

// Change changes an object with the PUT that a check is about: one of the object or, if it is named, of a subresource.
// It returns the object as it was before, too. If somebody else was faster, as controllers are, it is done again.
func (p *Probe) Change(name string, change func(*unstructured.Unstructured), subresource ...string) (before *unstructured.Unstructured, response *Response) {
	for try := 1; ; try++ {
		before = p.Read(name)
		object := before.DeepCopy()
		change(object)
		response = p.Send(Put(p.Path(name, subresource...), object))
		if response.Code != http.StatusConflict || try == changeTries {
			return before, response
		}
	}
}

// Label sets a label of an object and returns the object as the server has it then.
func (p *Probe) Label(name, label, value string) *unstructured.Unstructured {
	_, response := p.Change(name, func(object *unstructured.Unstructured) { SetLabel(object, label, value) })
	if !response.OK() {
		response.Unprepared("change the object")
	}
	return p.Read(name)
}

// Remove deletes an object and returns when it is gone.
func (p *Probe) Remove(name string) {
	p.Prepare("delete the object", Delete(p.Path(name), DeleteNow()))
	p.Gone(name)
}

// Gone returns when an object is gone or the time has ended. The check is left out if somebody else holds the object:
// in a cluster without the controllers of all kinds nobody lets it go.
func (p *Probe) Gone(name string) {
	begin := time.Now()
	for {
		_, object := p.Look(name)
		if object == nil {
			return
		}
		others := slices.DeleteFunc(object.GetFinalizers(), func(finalizer string) bool { return finalizer == Finalizer })
		if len(others) > 0 && time.Since(begin) > holdPatience {
			Leave("objects of the resource are held when they are deleted: nobody removes the finalizer %s", others[0])
		}
		if err := pause(p.Context, poll); err != nil {
			Stop(fmt.Errorf("%s is not deleted: %w", name, err))
		}
	}
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

// Prepare sends a request that has to succeed for the check to go on, and returns the answer.
func (p *Probe) Prepare(wanted string, r Request) *Response {
	response := p.Send(r)
	if !response.OK() {
		response.Unprepared(wanted)
	}
	return response
}

// NewNamespace makes a namespace for this check alone. The check is left out if that can't be.
func (p *Probe) NewNamespace() string { return Must(p.run.rooms.more(p.Context)) }

// OtherNamespace returns a namespace that is not [Probe.Namespace]; other checks may use it, too. The
// check is left out if there is none.
func (p *Probe) OtherNamespace() string { return Must(p.run.rooms.other(p.Context, p.Resource)) }
