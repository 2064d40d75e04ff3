// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	// lookAgain is the pause between two looks at what controllers do.
	lookAgain = 200 * time.Millisecond
	// lastWords is how much of its time a check keeps to say what it has found.
	lastWords = 3 * time.Second
	// briefly is how long controllers get that probably do not run, patiently those that should.
	briefly, patiently = 2 * time.Second, 20 * time.Second
	// learning is how long the controllers of a cluster may take to notice a new resource: they look
	// every 30 seconds.
	learning = 35 * time.Second
	// tidyTime limits the removal of what the engine does not remove.
	tidyTime = 5 * time.Second
)

// await asks until the answer is yes, or the time is over. It leaves some time to the check.
func await(ctx context.Context, p *runner.Probe, limit time.Duration, answer func() (bool, error)) (bool, error) {
	limited, cancel := runner.Within(ctx, min(limit, timeLeft(ctx)))
	defer cancel()
	for {
		yes, err := answer()
		if yes || err != nil {
			return yes, err
		}
		if p.Pause(limited, lookAgain) != nil {
			return false, ctx.Err()
		}
	}
}

// timeLeft returns how long a check may still wait.
func timeLeft(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Hour
	}
	return time.Until(deadline) - lastWords
}

// awaitController is [await] for the first work of a controller that not every control plane has. The
// check is left out if there is no sign of it.
func awaitController(ctx context.Context, p *runner.Probe, name string, answer func() (bool, error)) error {
	yes, err := await(ctx, p, briefly, answer)
	if !yes && err == nil && hasControllers(ctx, p) {
		yes, err = await(ctx, p, patiently, answer)
	}
	if !yes && err == nil {
		err = runner.Leave("no %s seems to run", name)
	}
	return err
}

// hasControllers reports whether the controllers of a cluster run, as far as can be seen: each
// namespace gets a service account.
func hasControllers(ctx context.Context, p *runner.Probe) bool {
	response, err := p.Send(ctx, runner.Get(corePath(p.Namespace, "serviceaccounts")+"/default").MayBeRefused())
	return err == nil && response.Code != http.StatusNotFound
}

// corePath is the path of the objects of a resource of the core API.
func corePath(namespace, resource string) string {
	return "/api/v1/namespaces/" + namespace + "/" + resource
}

// namespacePath is the path of a namespace.
func namespacePath(name string) string { return "/api/v1/namespaces/" + name }

// isGone reports whether an object is not there any more.
func isGone(ctx context.Context, p *runner.Probe, path string) (bool, error) {
	exists, err := p.ExistsAt(ctx, path)
	return err == nil && !exists, err
}

// prop is an object of the core API that a check makes besides those of its resource. The check has
// to remove it.
type prop struct {
	path      string
	reference metav1.OwnerReference
}

// makeProp makes a ConfigMap with these owners; a Secret if ConfigMaps are what is checked.
func makeProp(ctx context.Context, p *runner.Probe, owners ...metav1.OwnerReference) (*prop, error) {
	kind, resource := "ConfigMap", "configmaps"
	if p.Resource.GroupVersion.Group == "" && p.Resource.Name == resource {
		kind, resource = "Secret", "secrets"
	}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
	object.SetName(p.Name())
	object.SetNamespace(p.Namespace)
	object.SetOwnerReferences(owners)
	p.Mark(object)
	response, err := p.Send(ctx, runner.Post(corePath(p.Namespace, resource), object))
	if err != nil {
		return nil, err
	}
	made, err := response.Object()
	switch {
	case response.Code == http.StatusNotFound:
		return nil, runner.Leave("the server has no %s", resource)
	case err != nil:
		return nil, &runner.SetupError{Wanted: "create a " + kind, Exchange: response.Exchange}
	}
	return &prop{corePath(p.Namespace, resource) + "/" + object.GetName(), referenceTo(made)}, nil
}

// remove deletes it if it is still there, also if the time of the check is over.
func (o *prop) remove(ctx context.Context, p *runner.Probe) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTime)
	defer cancel()
	p.Send(ctx, runner.Delete(o.path, runner.DeleteNow())) //nolint:errcheck // Nobody can do more.
}

// referenceTo names an object as the owner of others.
func referenceTo(owner *unstructured.Unstructured) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID()}
}

// refersTo reports whether an object names the owner with a UID.
func refersTo(object *unstructured.Unstructured, owner metav1.OwnerReference) bool {
	for _, reference := range object.GetOwnerReferences() {
		if reference.UID == owner.UID {
			return true
		}
	}
	return false
}

// ownNamespace makes the namespace of the probe one that belongs to the check alone.
func ownNamespace(ctx context.Context, p *runner.Probe) (err error) {
	if err := needsNamespaces(p); err != nil {
		return err
	}
	p.Namespace, err = p.NewNamespace(ctx)
	return err
}

// needsNamespaces leaves a check out whose resource has no namespaces.
func needsNamespaces(p *runner.Probe) error {
	if !p.Resource.Namespaced {
		return runner.Leave("the resource has no namespaces")
	}
	return nil
}

// needsCluster leaves a check out that needs namespaces and the core API.
func needsCluster(p *runner.Probe) error {
	if err := needsNamespaces(p); err != nil {
		return err
	}
	if !p.HasCore {
		return runner.Leave("the server has no core API")
	}
	return nil
}

// notEvents is for checks of what the controllers of a cluster do with all resources but this.
func notEvents(resource *runner.Resource) string {
	if resource.Name == "events" && (resource.GroupVersion.Group == "" || resource.GroupVersion.Group == "events.k8s.io") {
		return "controllers leave events alone"
	}
	return ""
}

// seconds is a length of time for people.
func seconds(length time.Duration) string { return fmt.Sprintf("%.0f seconds", length.Seconds()) }
