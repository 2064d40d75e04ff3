// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaDependents = "Garbage collection"
	collectorName  = "garbage collector"
	// collecting is what a collector that knows a resource needs at most, so that a check may judge it.
	collecting = 10 * time.Second
)

var dependents = []runner.Check{
	{
		ID: "dependents-collected", Area: areaDependents, PerResource: true, Verbs: []string{"create", "get", "list", "watch", "delete"}, Applies: notEvents, Slow: true,
		Rule:      "An object is removed when the owner named in its ownerReferences is deleted.",
		Detail:    "Deletes a ConfigMap that owns the object. Skipped if another ConfigMap with that owner is not removed either.",
		Reference: "https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents",
		Run: func(p *runner.Probe) {
			needsCluster(p)
			owner := makeProp(p)
			defer owner.remove(p)
			control := makeProp(p, owner.reference)
			defer control.remove(p)
			dependent := p.New()
			dependent.SetOwnerReferences([]metav1.OwnerReference{owner.reference})
			p.Create(dependent)
			namesOwner(p, dependent.GetName(), owner.reference)
			p.Prepare("delete the owner", runner.Delete(owner.path, runner.DeleteNow()))
			awaitController(p, collectorName, func() bool { return !p.ExistsAt(control.path) })
			begin := time.Now()
			if await(p, learning, func() bool { return !p.ExistsAt(p.Path(dependent.GetName())) }) {
				return
			}
			waited := time.Since(begin)
			response := p.Send(runner.Get(p.Path(dependent.GetName())))
			switch {
			case !response.OK():
				return
			case waited < learning-lookAgain:
				runner.Leave("the garbage collector is slow: no time was left to wait until it knows the resource")
			}
			response.FailBecause("a ConfigMap with the same owner is gone for "+seconds(waited), "404 Not Found: the owner of the object is deleted")
		},
	},
	{
		ID: "owners-collected", Area: areaDependents, PerResource: true, Verbs: []string{"create", "get", "list", "watch", "delete"}, Applies: notEvents, Slow: true,
		Rule:      "An object stays while an owner in its ownerReferences exists, and is removed when that owner is deleted.",
		Detail:    "Creates a ConfigMap owned by an object and deletes the object once it is clear that a garbage collector runs and knows the resource; otherwise it is skipped.",
		Reference: "https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents",
		Run: func(p *runner.Probe) {
			owner, dependent := ownedProp(p)
			defer dependent.remove(p)
			awaitCollector(p)
			p.Send(runner.Get(dependent.path)).WantSuccess("the ConfigMap that was created with %s %s as its owner: the owner is there", owner.GetKind(), owner.GetName())
			p.Remove(owner.GetName())
			wantGone(p, dependent.path, fmt.Sprintf("%s %s, which owned it, is deleted", owner.GetKind(), owner.GetName()))
		},
	},
	{
		ID: "dependents-kept", Area: areaDependents, PerResource: true, Verbs: []string{"create", "get", "list", "watch", "patch", "delete"}, Applies: notEvents, Slow: true,
		Rule:      "Deleting an object with the propagationPolicy Orphan keeps its dependents, and removes their references to it.",
		Detail:    "Like owners-collected, with that policy.",
		Reference: "https://kubernetes.io/docs/concepts/architecture/garbage-collection/#orphaned-dependents",
		Run: func(p *runner.Probe) {
			owner, dependent := ownedProp(p)
			defer dependent.remove(p)
			awaitCollector(p)
			p.Prepare("delete the owner", runner.Delete(p.Path(owner.GetName()), deleteWith("propagationPolicy", metav1.DeletePropagationOrphan)))
			wantGone(p, p.Path(owner.GetName()), "the object was deleted, and there was time to remove the reference to it")
			response := p.Send(runner.Get(dependent.path))
			kept := response.ObjectOrNil()
			if kept == nil {
				response.Fail("the ConfigMap: %s %s, which owned it, was deleted with the propagationPolicy Orphan", owner.GetKind(), owner.GetName())
			}
			if refersTo(kept, referenceTo(owner)) {
				response.Fail("the ConfigMap without the reference to %s %s, which is gone", owner.GetKind(), owner.GetName())
			}
		},
	},
}

// wantGone fails the check unless an object goes while controllers get to know its resource.
func wantGone(p *runner.Probe, path, because string) {
	if await(p, learning, func() bool { return !p.ExistsAt(path) }) {
		return
	}
	if response := p.Send(runner.Get(path)); response.OK() {
		response.Fail("404 Not Found: %s", because)
	}
}

// namesOwner looks whether an object has kept its owner, without which it will never be removed.
func namesOwner(p *runner.Probe, name string, owner metav1.OwnerReference) {
	response := p.Send(runner.Get(p.Path(name)))
	object := response.Object()
	if !refersTo(object, owner) {
		response.Fail("the object with the owner in metadata.ownerReferences with which it was created: %s %s", owner.Kind, owner.Name)
	}
}

// ownedProp makes an object and a ConfigMap that it owns. Until [awaitCollector] returns, the garbage
// collector may not have seen the ConfigMap, and not know what to do when the owner goes.
func ownedProp(p *runner.Probe) (*unstructured.Unstructured, *prop) {
	needsCluster(p)
	owner := p.Make()
	return owner, makeProp(p, referenceTo(owner))
}

// awaitCollector returns when a garbage collector has removed a ConfigMap and an object of the
// resource whose owners do not exist. The check is left out if that does not happen.
func awaitCollector(p *runner.Probe) {
	absent := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: p.Name(), UID: uuid.NewUUID()}
	lost := p.New()
	lost.SetOwnerReferences([]metav1.OwnerReference{absent})
	p.Prepare("create an object", runner.Post(p.Collection(), lost))
	control := makeProp(p, absent)
	defer control.remove(p)
	awaitController(p, collectorName, func() bool { return !p.ExistsAt(control.path) })
	if !await(p, timeLeft(p)-collecting, func() bool { return !p.ExistsAt(p.Path(lost.GetName())) }) {
		runner.Leave("the garbage collector does not remove objects of the resource, or not fast enough; see dependents-collected")
	}
}
