// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
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

func (namespaceMissing) run(p *runner.Probe) {
	needsNamespaces(p)
	namespace, object := p.Name(), p.New()
	p.Resource.Maker.Place(object, namespace)
	response := p.Send(runner.Post(p.Resource.CollectionPath(namespace), object))
	path := p.Resource.ObjectPath(namespace, object.GetName())
	stored := p.Send(runner.Get(path))
	if response.OK() || stored.OK() {
		p.Send(runner.Delete(path, runner.DeleteNow()))
	}
	if response.OK() && !p.HasCore {
		runner.Leave("the server knows no namespaces: it has no core API")
	}
	response.WantStatus(metav1.StatusReasonNotFound, http.StatusNotFound)
	if status, _ := response.Status(); status.Details == nil || status.Details.Name != namespace {
		response.Fail("a Status whose details.name is the namespace, %q", namespace)
	}
	if stored.OK() {
		stored.Fail("404 Not Found: the POST of the object was refused")
	}
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

func (namespaceTerminating) run(p *runner.Probe) {
	ownNamespace(p)
	held := p.New()
	held.SetFinalizers([]string{runner.Finalizer})
	p.Create(held)
	defer release(p, held.GetName())
	p.Prepare("delete the namespace", runner.Delete(namespacePath(p.Namespace), nil))
	var response *runner.Response
	await(p, noticing, func() bool {
		response = p.Send(runner.Post(p.Collection(), p.New()))
		return !response.OK()
	})
	if response.Code == http.StatusNotFound {
		runner.Leave("the namespace was gone at once: nothing kept the object that has a finalizer")
	}
	response.WantStatus(metav1.StatusReasonForbidden, http.StatusForbidden)
	status, _ := response.Status()
	isCause := func(cause metav1.StatusCause) bool { return cause.Type == corev1.NamespaceTerminatingCause }
	if status.Details == nil || !slices.ContainsFunc(status.Details.Causes, isCause) {
		response.Fail("a Status with a cause in details.causes whose type is %q", corev1.NamespaceTerminatingCause)
	}
}

func (namespaceTerminating) broken() broken.Server {
	return broken.That("refuses to create in a namespace that is being deleted, but does not say why", broken.OnAnswer(broken.Method(http.MethodPost, broken.Collection), func(_ *http.Request, a *broken.Answer) {
		if a.Code == http.StatusForbidden {
			a.Edit(func(status map[string]any) { delete(broken.FieldsOf(status, "details"), "causes") })
		}
	}))
}

// release lets a namespace end early whose objects a finalizer holds. The end of the run does so, too.
func release(p *runner.Probe, name string) {
	none := map[string]any{"metadata": map[string]any{"finalizers": nil}}
	p.Tidy(runner.Patch(p.Path(name), types.MergePatchType, none))
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

func (namespaceDeletion) run(p *runner.Probe) {
	ownNamespace(p)
	control := makeProp(p)
	object := p.Make()
	p.Prepare("delete the namespace", runner.Delete(namespacePath(p.Namespace), nil))
	ended := false
	empty := await(p, emptying, func() bool {
		exists := p.Exists(object.GetName())
		if !exists || ended {
			return true
		}
		// Objects go first. What is there after their namespace will stay.
		ended = !p.ExistsAt(namespacePath(p.Namespace))
		return false
	})
	if empty && !ended {
		return
	}
	stillThere(p, object.GetName(), control, ended)
}

func (namespaceDeletion) broken() broken.Server {
	return broken.That("has the objects of a namespace still when the namespace is deleted", outlive)
}

// stillThere tells why an object outlives its namespace, or whether it has gone at last.
func stillThere(p *runner.Probe, name string, control *prop, ended bool) {
	gone := !p.ExistsAt(control.path)
	response := p.Send(runner.Get(p.Path(name)))
	switch {
	case !response.OK():
		return
	case ended:
		response.FailBecause("the namespace is gone", "404 Not Found: the namespace was deleted")
	case !gone:
		runner.Leave("no namespace controller seems to run: a ConfigMap is not removed, either")
	}
	response.FailBecause("a ConfigMap of the same namespace is gone", "404 Not Found within %s: the namespace is being deleted", seconds(emptying))
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
