// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaNamespaces = "Namespaces"
	// noticing is how long a server may take to notice what happens to a namespace.
	noticing = 10 * time.Second
	// emptying is how long it may take until a namespace that is deleted is empty.
	emptying = 40 * time.Second
	// counting is how long the controller of quotas may take to notice a new resource, recount how often
	// it is asked to count again meanwhile.
	counting, recount = 40 * time.Second, 2 * time.Second
	// quotaName is in namespaces of our own, exceeded in the message of a server that enforces it.
	quotaName, exceeded = "conformance", "exceeded quota"
)

func namespaces() []rule {
	return slices.Concat([]rule{namespaceMissing{}, namespaceTerminating{}, namespaceDeletion{}}, namespacesQuotasRules())
}

type namespaceMissing struct{}

func (r namespaceMissing) check() runner.Check {
	return runner.Check{
		ID: "namespace-missing", Area: areaNamespaces,
		Rule:        "Creating an object in a namespace that does not exist gets 404 and a Status that names the namespace.",
		Detail:      "Posts an object to a namespace that does not exist. The object must not exist afterwards.",
		Reference:   "https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#namespacelifecycle",
		PerResource: true, Verbs: []string{"create", "get", "delete"}, Run: r.run,
	}
}

func (namespaceMissing) run(ctx context.Context, p *runner.Probe) error {
	if err := needsNamespaces(p); err != nil {
		return err
	}
	namespace, object := p.Name(), p.New()
	p.Resource.Maker.Place(object, namespace)
	response, err := p.Send(ctx, runner.Post(p.Resource.CollectionPath(namespace), object))
	if err != nil {
		return err
	}
	path := p.Resource.ObjectPath(namespace, object.GetName())
	stored, err := p.Send(ctx, runner.Get(path))
	if err != nil {
		return err
	}
	if response.OK() || stored.OK() {
		if _, err := p.Send(ctx, runner.Delete(path, runner.DeleteNow())); err != nil {
			return err
		}
	}
	if response.OK() && !p.HasCore {
		return runner.Leave("the server knows no namespaces: it has no core API")
	}
	if err := response.WantStatus(metav1.StatusReasonNotFound, http.StatusNotFound); err != nil {
		return err
	}
	if status, _ := response.Status(); status.Details == nil || status.Details.Name != namespace {
		return response.Fail("a Status whose details.name is the namespace, %q", namespace)
	}
	if stored.OK() {
		return stored.Fail("404 Not Found: the POST of the object was refused")
	}
	return nil
}

func (namespaceMissing) broken() broken.Server {
	return broken.That("takes it for an error of its own that a namespace does not exist", broken.OnAnswer(broken.Method(http.MethodPost, broken.Collection), func(_ *http.Request, a *broken.Answer) {
		var status metav1.Status
		if a.Code == http.StatusNotFound && json.Unmarshal(a.Body, &status) == nil && status.Details != nil && status.Details.Kind == "namespaces" {
			a.Status(http.StatusInternalServerError, string(metav1.StatusReasonInternalError), "Internal error occurred: the namespace can't be read: not found")
		}
	}))
}

type namespaceTerminating struct{}

func (r namespaceTerminating) check() runner.Check {
	return runner.Check{
		ID: "namespace-terminating", Area: areaNamespaces,
		Rule:        "Creating an object in a namespace that is being deleted gets 403 and a Status with a cause of type NamespaceTerminating.",
		Detail:      "Deletes a namespace in which an object has a finalizer, and posts another object to it. The server has ten seconds to notice.",
		Reference:   "https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#namespacelifecycle",
		PerResource: true, Verbs: []string{"create", "get", "patch", "delete"}, Run: r.run,
	}
}

func (namespaceTerminating) run(ctx context.Context, p *runner.Probe) error {
	if err := ownNamespace(ctx, p); err != nil {
		return err
	}
	held := p.New()
	held.SetFinalizers([]string{runner.Finalizer})
	if _, err := p.Create(ctx, held); err != nil {
		return err
	}
	defer release(ctx, p, held.GetName())
	if _, err := p.Prepare(ctx, "delete the namespace", runner.Delete(namespacePath(p.Namespace), nil)); err != nil {
		return err
	}
	var response *runner.Response
	_, err := await(ctx, p, noticing, func() (bool, error) {
		var err error
		response, err = p.Send(ctx, runner.Post(p.Collection(), p.New()))
		return err == nil && !response.OK(), err
	})
	if err != nil {
		return err
	}
	if response.Code == http.StatusNotFound {
		return runner.Leave("the namespace was gone at once: nothing kept the object that has a finalizer")
	}
	if err := response.WantStatus(metav1.StatusReasonForbidden, http.StatusForbidden); err != nil {
		return err
	}
	status, _ := response.Status()
	isCause := func(cause metav1.StatusCause) bool { return cause.Type == corev1.NamespaceTerminatingCause }
	if status.Details == nil || !slices.ContainsFunc(status.Details.Causes, isCause) {
		return response.Fail("a Status with a cause in details.causes whose type is %q", corev1.NamespaceTerminatingCause)
	}
	return nil
}

func (namespaceTerminating) broken() broken.Server {
	return broken.That("refuses to create in a namespace that is being deleted, but does not say why", broken.OnAnswer(broken.Method(http.MethodPost, broken.Collection), func(_ *http.Request, a *broken.Answer) {
		if a.Code == http.StatusForbidden {
			a.Edit(func(status map[string]any) { delete(broken.FieldsOf(status, "details"), "causes") })
		}
	}))
}

// release lets a namespace end early whose objects a finalizer holds. The end of the run does so, too.
func release(ctx context.Context, p *runner.Probe, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTime)
	defer cancel()
	none := map[string]any{"metadata": map[string]any{"finalizers": nil}}
	p.Send(ctx, runner.Patch(p.Path(name), types.MergePatchType, none)) //nolint:errcheck // As above.
}

type namespaceDeletion struct{}

func (r namespaceDeletion) check() runner.Check {
	return runner.Check{
		ID: "namespace-deletion", Area: areaNamespaces,
		Rule:        "Deleting a namespace removes the objects in it.",
		Detail:      "Creates an object in a namespace, deletes the namespace, and waits until the object is gone. Skipped if a ConfigMap is not removed either.",
		Reference:   "https://kubernetes.io/docs/tasks/administer-cluster/namespaces/#deleting-a-namespace",
		PerResource: true, Verbs: []string{"create", "get", "list", "delete"}, Slow: true, Run: r.run,
	}
}

func (namespaceDeletion) run(ctx context.Context, p *runner.Probe) error {
	if err := ownNamespace(ctx, p); err != nil {
		return err
	}
	control, err := makeProp(ctx, p)
	if err != nil {
		return err
	}
	object, err := p.Make(ctx)
	if err != nil {
		return err
	}
	if _, err := p.Prepare(ctx, "delete the namespace", runner.Delete(namespacePath(p.Namespace), nil)); err != nil {
		return err
	}
	ended := false
	empty, err := await(ctx, p, emptying, func() (bool, error) {
		exists, err := p.Exists(ctx, object.GetName())
		if !exists || err != nil || ended {
			return true, err
		}
		// Objects go first. What is there after their namespace will stay.
		ended, err = isGone(ctx, p, namespacePath(p.Namespace))
		return false, err
	})
	if err != nil || empty && !ended {
		return err
	}
	return stillThere(ctx, p, object.GetName(), control, ended)
}

func (namespaceDeletion) broken() broken.Server {
	return broken.That("has the objects of a namespace still when the namespace is deleted", outlive)
}

// stillThere tells why an object outlives its namespace, or whether it has gone at last.
func stillThere(ctx context.Context, p *runner.Probe, name string, control *prop, ended bool) error {
	gone, err := isGone(ctx, p, control.path)
	if err != nil {
		return err
	}
	response, err := p.Send(ctx, runner.Get(p.Path(name)))
	switch {
	case err != nil:
		return err
	case !response.OK():
		return nil
	case ended:
		return response.FailBecause("the namespace is gone", "404 Not Found: the namespace was deleted")
	case !gone:
		return runner.Leave("no namespace controller seems to run: a ConfigMap is not removed, either")
	}
	return response.FailBecause("a ConfigMap of the same namespace is gone", "404 Not Found within %s: the namespace is being deleted", seconds(emptying))
}

// outlive goes on to show objects as they were last seen when their namespace is being deleted.
func outlive(next http.Handler) http.Handler {
	var seen sync.Map // of answers by path and media type
	return broken.Instead(broken.Method(http.MethodGet, broken.Single), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		key := r.URL.Path + " " + r.Header.Get("Accept")
		a := broken.Ask(next, r)
		switch {
		case a.OK():
			seen.Store(key, a)
		case a.Code == http.StatusNotFound && ending(r, next):
			if last, ok := seen.Load(key); ok {
				a = last.(*broken.Answer) //nolint:forcetypeassert // Nothing else is in it.
			}
		}
		a.Send(w)
	})(next)
}

// ending reports whether the namespace of an object is being deleted, or does not exist.
func ending(r *http.Request, next http.Handler) bool {
	p := broken.PlaceOf(r)
	if p.Namespace == "" {
		return false
	}
	a := broken.Also(next, r, http.MethodGet, "/api/v1/namespaces/"+p.Namespace, "", nil)
	if !a.OK() {
		return a.Code == http.StatusNotFound
	}
	return broken.MetadataOf(a).DeletionTimestamp != nil
}
