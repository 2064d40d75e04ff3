// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"
)

// ErrChanged is returned by a Place if an object is no longer in the state that the caller
// saw.
var ErrChanged = errors.New("the object has changed")

// Place is where objects are written. Its errors are API status errors or ErrChanged. Safe for
// concurrent use.
type Place interface {
	// Get returns an object with its resource version, nil if there is none.
	Get(ctx context.Context, kind Kind, namespace, name string) (Object, error)
	// Create creates an object, or returns ErrChanged if it exists.
	Create(ctx context.Context, kind Kind, object Object) error
	// Update replaces the object current, or returns ErrChanged.
	Update(ctx context.Context, kind Kind, current, object Object) error
	// Delete deletes the object current, or returns ErrChanged.
	Delete(ctx context.Context, kind Kind, current Object) error
}

// Importer imports objects into a place.
type Importer struct {
	place Place
	kinds []Kind
	scope Scope
	clock clock.PassiveClock
}

// New returns an importer of some kinds. scope is the part of an object that the place can keep.
func New(place Place, kinds []Kind, scope Scope, c clock.PassiveClock) *Importer {
	return &Importer{place: place, kinds: kinds, scope: scope, clock: c}
}

// parallel is the number of objects of a batch that are written at once: enough for the store
// to combine them into large transactions.
const parallel = 64

// attempts is how often a write is attempted while others change the object.
const attempts = 10

// Import imports the items of a request, and returns an outcome for each. Items about the same
// object are imported in their order.
func (i *Importer) Import(ctx context.Context, request Request) Response {
	type target struct{ group, resource, namespace, name string }
	outcomes := make([]Outcome, len(request.Items))
	queues := map[target][]func(){}
	for n := range request.Items {
		item := &request.Items[n]
		work, err := i.prepare(request.Mode, item)
		if err != nil {
			outcomes[n] = Outcome{Result: Failed, Message: err.Error()}
			continue
		}
		at := target{item.Group, item.Resource, work.namespace, work.name}
		queues[at] = append(queues[at], func() { outcomes[n] = i.do(ctx, work) })
	}
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, queue := range queues {
		group.Go(func() error {
			for _, do := range queue {
				do()
			}
			return nil
		})
	}
	_ = group.Wait() // The functions return no errors.
	return Response{Outcomes: outcomes}
}

// work is a valid item.
type work struct {
	kind            Kind
	mode            Mode
	namespace, name string
	// object to write; nil to delete.
	object  Object
	want    wanted
	deleted *Deletion
	outcome Outcome
	// newTime reports whether the object came without a creation time.
	newTime bool
	// absent reports whether it can be created without reading first.
	absent bool
}

func (i *Importer) prepare(mode Mode, item *Item) (*work, error) {
	switch mode {
	case Mirror, Tail, Fill, Replace:
	default:
		return nil, fmt.Errorf("unknown mode %q", mode)
	}
	resource := schema.GroupResource{Group: item.Group, Resource: item.Resource}
	at := slices.IndexFunc(i.kinds, func(kind Kind) bool { return kind.GroupResource() == resource })
	if at < 0 {
		return nil, fmt.Errorf("%s are not served here (--api-groups, --custom-resources)", resource)
	}
	kind := i.kinds[at]
	w := &work{kind: kind, mode: mode}
	if item.Delete != nil {
		w.namespace, w.name, w.deleted = item.Delete.Namespace, item.Delete.Name, item.Delete
		w.want.version = item.Version
		return w, w.checkName()
	}
	var err error
	if w.object, w.outcome.Unknown, err = kind.Decode(item.Object); err != nil {
		return nil, err
	}
	w.namespace, w.name = w.object.GetNamespace(), w.object.GetName()
	if err := w.checkName(); err != nil {
		return nil, err
	}
	w.want = wanted{version: item.Version, known: item.Known}
	w.absent = item.Absent && !item.Known
	w.object.SetResourceVersion("")
	w.outcome.NewUID = w.object.GetUID() == ""
	created := w.object.GetCreationTimestamp()
	w.newTime = created.IsZero()
	if w.outcome.NewUID {
		w.object.SetUID(uuid.NewUUID())
	}
	if w.newTime {
		w.object.SetCreationTimestamp(metav1.NewTime(i.clock.Now().UTC().Truncate(time.Second)))
	}
	return w, i.mark(w)
}

// mark fingerprints the object, and adds the annotation if the mode has one.
func (i *Importer) mark(w *work) error {
	annotations := w.object.GetAnnotations()
	delete(annotations, Annotation)
	fingerprint, err := Fingerprint(w.object, i.scope)
	if err != nil {
		return err
	}
	w.want.uid, w.want.fingerprint = string(w.object.GetUID()), fingerprint
	if w.mode.annotates() {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[Annotation] = Mark{w.want.version, fingerprint}.String()
	}
	w.object.SetAnnotations(annotations)
	return nil
}

// checkName accepts the names that kube-apiserver accepts, where imports come from.
func (w *work) checkName() error {
	if w.name == "" {
		return errors.New("metadata.name is missing")
	}
	if wrong := validation.NameIsDNSSubdomain(w.name, false); len(wrong) > 0 {
		return fmt.Errorf("metadata.name is %q: %s", w.name, strings.Join(wrong, "; "))
	}
	if (w.namespace != "") != w.kind.Namespaced {
		return fmt.Errorf("metadata.namespace is %q, but %s are namespaced: %t", w.namespace, w.kind.Resource, w.kind.Namespaced)
	}
	if w.namespace == "" {
		return nil
	}
	if wrong := validation.ValidateNamespaceName(w.namespace, false); len(wrong) > 0 {
		return fmt.Errorf("metadata.namespace is %q: %s", w.namespace, strings.Join(wrong, "; "))
	}
	return nil
}

// do writes one object, and retries if others changed it meanwhile.
func (i *Importer) do(ctx context.Context, w *work) Outcome {
	outcome := w.outcome
	var err error
	for range attempts {
		if outcome.Result, err = i.try(ctx, w); !errors.Is(err, ErrChanged) {
			break
		}
	}
	if err != nil {
		outcome.Message = err.Error()
		outcome.Result = Again
		if permanent(err) {
			outcome.Result = Failed
		}
	}
	return outcome
}

// permanent reports whether a retry would fail again.
func permanent(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsForbidden(err)
}

func (i *Importer) try(ctx context.Context, w *work) (Result, error) {
	if w.absent {
		w.absent = false
		return Created, i.place.Create(ctx, w.kind, w.object)
	}
	stored, err := i.place.Get(ctx, w.kind, w.namespace, w.name)
	if err != nil {
		return "", err
	}
	var current *present
	if stored != nil {
		if current, err = i.look(stored); err != nil {
			return "", err
		}
	}
	if w.deleted != nil {
		do, result := decideDelete(w.mode, i.scope, w.deleted.UID, w.want.version, current)
		if do == doDelete {
			err = i.place.Delete(ctx, w.kind, stored)
		}
		return result, err
	}
	if err := i.adopt(w, stored); err != nil {
		return "", err
	}
	do, result := decidePut(w.mode, i.scope, w.want, current)
	switch do {
	case doCreate:
		err = i.place.Create(ctx, w.kind, w.object)
	case doUpdate:
		err = i.place.Update(ctx, w.kind, stored, w.object)
	case doReplace:
		if err = i.place.Delete(ctx, w.kind, stored); err == nil {
			err = i.place.Create(ctx, w.kind, w.object)
		}
	case doNothing, doDelete:
	}
	return result, err
}

// adopt takes the UID and creation time that the object came without from the stored one, so
// that a repeated import has the same result.
func (i *Importer) adopt(w *work, stored Object) error {
	if stored == nil || i.scope == Portable || !w.outcome.NewUID && !w.newTime {
		return nil
	}
	if w.outcome.NewUID {
		w.object.SetUID(stored.GetUID())
	}
	if w.newTime {
		w.object.SetCreationTimestamp(stored.GetCreationTimestamp())
	}
	return i.mark(w)
}

func (i *Importer) look(stored Object) (*present, error) {
	fingerprint, err := Fingerprint(stored, i.scope)
	if err != nil {
		return nil, err
	}
	mark, _ := ReadMark(stored.GetAnnotations())
	return &present{uid: string(stored.GetUID()), mark: mark, fingerprint: fingerprint}, nil
}
