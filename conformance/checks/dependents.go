// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaDependents = "Garbage collection"
	collectorName  = "garbage collector"
	// collecting is what a collector that knows a resource needs at most, so that a check may judge it.
	collecting = 10 * time.Second
)

func dependents() []rule {
	return []rule{dependentsCollected{}, ownersCollected{}, dependentsKept{}}
}

type dependentsCollected struct{}

func (r dependentsCollected) check() runner.Check {
	return runner.Check{
		ID: "dependents-collected", Area: areaDependents,
		Rule:        "An object is removed when the owner named in its ownerReferences is deleted.",
		Detail:      "Creates an object owned by a ConfigMap and deletes the ConfigMap. Skipped if another ConfigMap with that owner is not removed either.",
		Reference:   "https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch", "delete"}, Applies: notEvents, Slow: true, Run: r.run,
	}
}

func (dependentsCollected) run(ctx context.Context, p *runner.Probe) error {
	if err := needsCluster(p); err != nil {
		return err
	}
	owner, err := makeProp(ctx, p)
	if err != nil {
		return err
	}
	defer owner.remove(ctx, p)
	control, err := makeProp(ctx, p, owner.reference)
	if err != nil {
		return err
	}
	defer control.remove(ctx, p)
	dependent := p.New()
	dependent.SetOwnerReferences([]metav1.OwnerReference{owner.reference})
	if _, err := p.Create(ctx, dependent); err != nil {
		return err
	}
	if err := namesOwner(ctx, p, dependent.GetName(), owner.reference); err != nil {
		return err
	}
	if _, err := p.Prepare(ctx, "delete the owner", runner.Delete(owner.path, runner.DeleteNow())); err != nil {
		return err
	}
	if err := awaitController(ctx, p, collectorName, func() (bool, error) { return isGone(ctx, p, control.path) }); err != nil {
		return err
	}
	begin := time.Now()
	gone, err := await(ctx, p, learning, func() (bool, error) { return isGone(ctx, p, p.Path(dependent.GetName())) })
	if gone || err != nil {
		return err
	}
	waited := time.Since(begin)
	response, err := p.Send(ctx, runner.Get(p.Path(dependent.GetName())))
	switch {
	case err != nil || !response.OK():
		return err
	case waited < learning-lookAgain:
		return runner.Leave("the garbage collector is slow: no time was left to wait until it knows the resource")
	}
	return response.FailBecause("a ConfigMap with the same owner is gone for "+seconds(waited), "404 Not Found: the owner of the object is deleted")
}

func (dependentsCollected) broken() broken.Server {
	return broken.That("does not keep the owners of objects that are created", broken.OnSentObject(broken.Method(http.MethodPost, broken.Collection), func(object map[string]any) {
		delete(broken.FieldsOf(object, "metadata"), "ownerReferences")
	})).WithControllers()
}

// namesOwner looks whether an object has kept its owner, without which it will never be removed.
func namesOwner(ctx context.Context, p *runner.Probe, name string, owner metav1.OwnerReference) error {
	response, err := p.Send(ctx, runner.Get(p.Path(name)))
	if err != nil {
		return err
	}
	object, err := response.Object()
	if err != nil {
		return &runner.SetupError{Wanted: "read the object", Exchange: response.Exchange}
	}
	if !refersTo(object, owner) {
		return response.Fail("the object with the owner in metadata.ownerReferences with which it was created: %s %s", owner.Kind, owner.Name)
	}
	return nil
}

type ownersCollected struct{}

func (r ownersCollected) check() runner.Check {
	return runner.Check{
		ID: "owners-collected", Area: areaDependents,
		Rule:        "An object stays while an owner in its ownerReferences exists, and is removed when that owner is deleted.",
		Detail:      "Creates a ConfigMap owned by an object and deletes the object once it is clear that a garbage collector runs and knows the resource; otherwise it is skipped.",
		Reference:   "https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch", "delete"}, Applies: notEvents, Slow: true, Run: r.run,
	}
}

func (ownersCollected) run(ctx context.Context, p *runner.Probe) error {
	owner, dependent, err := ownedProp(ctx, p)
	if dependent != nil {
		defer dependent.remove(ctx, p)
	}
	if err != nil {
		return err
	}
	response, err := p.Send(ctx, runner.Get(dependent.path))
	if err != nil {
		return err
	}
	if !response.OK() {
		return response.Fail("the ConfigMap that was created with %s %s as its owner: the owner is there", owner.GetKind(), owner.GetName())
	}
	if err := p.Remove(ctx, owner.GetName()); err != nil {
		return err
	}
	gone, err := await(ctx, p, learning, func() (bool, error) { return isGone(ctx, p, dependent.path) })
	if gone || err != nil {
		return err
	}
	if response, err = p.Send(ctx, runner.Get(dependent.path)); err != nil || !response.OK() {
		return err
	}
	return response.Fail("404 Not Found: %s %s, which owned it, is deleted", owner.GetKind(), owner.GetName())
}

func (ownersCollected) broken() broken.Server {
	return broken.That("keeps what an object owned although its deletion in the background is asked for", ownersGo(metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan)).WithControllers()
}

// ownersGo deletes owners with another propagation policy than the one that is asked for. Owners are
// what an object of the core API names as such.
func ownersGo(asked, done metav1.DeletionPropagation) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		var owners sync.Map // has the UIDs of owners
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPost && broken.IsCore(r):
				var object metav1.PartialObjectMetadata
				if json.Unmarshal(broken.BodyOf(r), &object) == nil {
					for _, reference := range object.OwnerReferences {
						owners.Store(reference.UID, nil)
					}
				}
			case r.Method == http.MethodDelete && broken.Single(r):
				if _, isOwner := owners.Load(broken.MetadataOf(broken.Also(next, r, http.MethodGet, "", "", nil)).UID); isOwner {
					changePolicy(r, asked, done)
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}

func changePolicy(r *http.Request, asked, done metav1.DeletionPropagation) {
	var options map[string]any
	if json.Unmarshal(broken.BodyOf(r), &options) != nil || options["propagationPolicy"] != string(asked) {
		return
	}
	options["propagationPolicy"] = done
	if data, err := json.Marshal(options); err == nil {
		broken.SetBody(r, data)
	}
}

type dependentsKept struct{}

func (r dependentsKept) check() runner.Check {
	return runner.Check{
		ID: "dependents-kept", Area: areaDependents,
		Rule:        "Deleting an object with the propagationPolicy Orphan keeps its dependents, and removes their references to it.",
		Detail:      "Like owners-collected, with that policy.",
		Reference:   "https://kubernetes.io/docs/concepts/architecture/garbage-collection/#orphaned-dependents",
		PerResource: true, Verbs: []string{"create", "get", "list", "watch", "patch", "delete"}, Applies: notEvents, Slow: true, Run: r.run,
	}
}

func (dependentsKept) run(ctx context.Context, p *runner.Probe) error {
	owner, dependent, err := ownedProp(ctx, p)
	if dependent != nil {
		defer dependent.remove(ctx, p)
	}
	if err != nil {
		return err
	}
	options := runner.DeleteNow()
	options["propagationPolicy"] = metav1.DeletePropagationOrphan
	if _, err := p.Prepare(ctx, "delete the owner", runner.Delete(p.Path(owner.GetName()), options)); err != nil {
		return err
	}
	gone, err := await(ctx, p, learning, func() (bool, error) { return isGone(ctx, p, p.Path(owner.GetName())) })
	if err != nil {
		return err
	}
	if !gone {
		response, err := p.Send(ctx, runner.Get(p.Path(owner.GetName())))
		if err != nil {
			return err
		}
		if response.OK() {
			return response.Fail("404 Not Found: the object was deleted, and there was time to remove the reference to it")
		}
	}
	response, err := p.Send(ctx, runner.Get(dependent.path))
	if err != nil {
		return err
	}
	kept, err := response.Object()
	if err != nil {
		return response.Fail("the ConfigMap: %s %s, which owned it, was deleted with the propagationPolicy Orphan", owner.GetKind(), owner.GetName())
	}
	if refersTo(kept, referenceTo(owner)) {
		return response.Fail("the ConfigMap without the reference to %s %s, which is gone", owner.GetKind(), owner.GetName())
	}
	return nil
}

func (dependentsKept) broken() broken.Server {
	return broken.That("lets what an object owned be removed although Orphan is asked for", ownersGo(metav1.DeletePropagationOrphan, metav1.DeletePropagationBackground)).WithControllers()
}

// ownedProp makes an object and a ConfigMap that it owns, which may be returned even if there is an
// error. The garbage collector has seen the ConfigMap and knows the resource then: otherwise it might
// not know what to do when the owner goes.
func ownedProp(ctx context.Context, p *runner.Probe) (*unstructured.Unstructured, *prop, error) {
	if err := needsCluster(p); err != nil {
		return nil, nil, err
	}
	owner, err := p.Make(ctx)
	if err != nil {
		return nil, nil, err
	}
	dependent, err := makeProp(ctx, p, referenceTo(owner))
	if err != nil {
		return nil, nil, err
	}
	return owner, dependent, awaitCollector(ctx, p)
}

// awaitCollector returns when a garbage collector has removed a ConfigMap and an object of the
// resource whose owners do not exist. The check is left out if that does not happen.
func awaitCollector(ctx context.Context, p *runner.Probe) error {
	absent := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: p.Name(), UID: uuid.NewUUID()}
	lost := p.New()
	lost.SetOwnerReferences([]metav1.OwnerReference{absent})
	if _, err := p.Prepare(ctx, "create an object", runner.Post(p.Collection(), lost)); err != nil {
		return err
	}
	control, err := makeProp(ctx, p, absent)
	if err != nil {
		return err
	}
	defer control.remove(ctx, p)
	if err := awaitController(ctx, p, collectorName, func() (bool, error) { return isGone(ctx, p, control.path) }); err != nil {
		return err
	}
	gone, err := await(ctx, p, timeLeft(ctx)-collecting, func() (bool, error) { return isGone(ctx, p, p.Path(lost.GetName())) })
	if err == nil && !gone {
		err = runner.Leave("the garbage collector does not remove objects of the resource, or not fast enough; see dependents-collected")
	}
	return err
}
