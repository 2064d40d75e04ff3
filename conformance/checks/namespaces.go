// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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

func namespaces() []runner.Check {
	return slices.Concat([]runner.Check{namespaceMissing(), namespaceTerminating(), namespaceDeletion()}, namespacesQuotasRules())
}

func namespaceMissing() runner.Check {
	return runner.Check{
		ID: "namespace-missing", Area: areaNamespaces,
		Rule:        "Creating an object in a namespace that does not exist gets 404 and a Status that names the namespace.",
		Detail:      "The object must not exist afterwards.",
		Reference:   "https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#namespacelifecycle",
		PerResource: true, Verbs: []string{"create", "get", "delete"},
		Run: func(p *runner.Probe) {
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
		},
	}
}

func namespaceTerminating() runner.Check {
	return runner.Check{
		ID: "namespace-terminating", Area: areaNamespaces,
		Rule:        "Creating an object in a namespace that is being deleted gets 403 and a Status with a cause of type NamespaceTerminating.",
		Detail:      "A finalizer holds an object in the namespace. The server has ten seconds to notice.",
		Reference:   "https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#namespacelifecycle",
		PerResource: true, Verbs: []string{"create", "get", "patch", "delete"},
		Run: func(p *runner.Probe) {
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
		},
	}
}

// release lets a namespace end early whose objects a finalizer holds. The end of the run does so, too.
func release(p *runner.Probe, name string) {
	none := map[string]any{"metadata": map[string]any{"finalizers": nil}}
	p.Tidy(runner.Patch(p.Path(name), types.MergePatchType, none))
}

func namespaceDeletion() runner.Check {
	return runner.Check{
		ID: "namespace-deletion", Area: areaNamespaces,
		Rule:        "Deleting a namespace removes the objects in it.",
		Detail:      "Skipped if a ConfigMap is not removed either.",
		Reference:   "https://kubernetes.io/docs/tasks/administer-cluster/namespaces/#deleting-a-namespace",
		PerResource: true, Verbs: []string{"create", "get", "list", "delete"}, Slow: true,
		Run: func(p *runner.Probe) {
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
		},
	}
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
