// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

var namespaces = []runner.Check{
	{
		ID: "namespace-missing", Area: areaNamespaces, PerResource: true, Verbs: []string{"create", "get", "delete"},
		Rule:      "Creating an object in a namespace that does not exist gets 404 and a Status that names the namespace.",
		Detail:    "The object must not exist afterwards.",
		Reference: "https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#namespacelifecycle",
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
	},
	{
		ID: "namespace-terminating", Area: areaNamespaces, PerResource: true, Verbs: []string{"create", "get", "patch", "delete"},
		Rule:      "Creating an object in a namespace that is being deleted gets 403 and a Status with a cause of type NamespaceTerminating.",
		Detail:    "A finalizer holds an object in the namespace. The server has ten seconds to notice.",
		Reference: "https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#namespacelifecycle",
		Run: func(p *runner.Probe) {
			ownNamespace(p)
			held := p.New()
			held.SetFinalizers([]string{runner.Finalizer})
			p.Create(held)
			// The namespace ends early then; the end of the run does so, too.
			defer p.Tidy(runner.Patch(p.Path(held.GetName()), types.MergePatchType, map[string]any{"metadata": map[string]any{"finalizers": nil}}))
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
			expected := fmt.Sprintf("a Status with a cause in details.causes whose type is %q", corev1.NamespaceTerminatingCause)
			wantCause(response, expected, func(cause metav1.StatusCause) bool { return cause.Type == corev1.NamespaceTerminatingCause })
		},
	},
	{
		ID: "namespace-deletion", Area: areaNamespaces, PerResource: true, Verbs: []string{"create", "get", "list", "delete"}, Slow: true,
		Rule:      "Deleting a namespace removes the objects in it.",
		Detail:    "Skipped if a ConfigMap is not removed either.",
		Reference: "https://kubernetes.io/docs/tasks/administer-cluster/namespaces/#deleting-a-namespace",
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
				// Objects go first: those that outlive their namespace will stay.
				ended = !p.ExistsAt(namespacePath(p.Namespace))
				return false
			})
			if empty && !ended {
				return
			}
			stillThere(p, object.GetName(), control, ended)
		},
	},
	{
		ID: "quota-counted", Area: areaNamespaces, PerResource: true, Verbs: []string{"create", "get", "list", "watch", "delete"}, Applies: notEvents, Slow: true,
		Rule:      "A ResourceQuota counts the objects of a namespace.",
		Detail:    "Creates two objects and a ResourceQuota for count/<resource>.<group>, and waits until its status.used counts them. Skipped if no controller sets the status.",
		Reference: "https://kubernetes.io/docs/concepts/policy/resource-quotas/",
		Run: func(p *runner.Probe) {
			ownNamespace(p)
			for range 2 { // Before there is a quota that could refuse them.
				p.Make()
			}
			makeQuota(p, 100)
			response := awaitCount(p, 100, 2)
			if response == nil {
				return
			}
			response.Fail("%q in status.used to become 2 or more: there are two objects", quotaKey(p))
		},
	},
	{
		ID: "quota-enforced", Area: areaNamespaces, PerResource: true, Verbs: []string{"create", "get", "list", "watch", "delete"}, Applies: notEvents, Slow: true,
		Rule:      "Creating more objects than a ResourceQuota of the namespace allows gets 403 and a Status that says so.",
		Detail:    "The server has ten seconds to notice the quota. Skipped if the objects are not counted.",
		Reference: "https://kubernetes.io/docs/concepts/policy/resource-quotas/",
		Run: func(p *runner.Probe) {
			ownNamespace(p)
			makeQuota(p, 1)
			uncounted := awaitCount(p, 1, 0)
			if uncounted != nil {
				runner.Leave("no controller counts the objects; see quota-counted")
			}
			var response *runner.Response
			made := 0
			await(p, noticing, func() bool {
				response = p.Send(runner.Post(p.Collection(), p.New()))
				if response.OK() {
					made++
				}
				unknown := response.Code == http.StatusForbidden && strings.Contains(string(response.Body), "status unknown for quota")
				return !response.OK() && !unknown
			})
			refusal := fmt.Sprintf("403 Forbidden with a Status whose reason is Forbidden and whose message says %q", exceeded)
			switch status, _ := response.Status(); {
			case response.OK():
				response.FailBecause(fmt.Sprintf("%d objects were created", made), "%s: the ResourceQuota allows one object", refusal)
			case strings.Contains(string(response.Body), exceeded) && status != nil && status.Reason == metav1.StatusReasonForbidden && response.Code == http.StatusForbidden:
				return
			case made == 0:
				response.Unprepared("create an object")
			}
			response.Fail("%s: the ResourceQuota allows one object", refusal)
		},
	},
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

// quotaKey is what quotas call the number of objects of the resource.
func quotaKey(p *runner.Probe) string {
	key := "count/" + p.Resource.Name
	if group := p.GroupVersion.Group; group != "" {
		key += "." + group
	}
	return key
}

// hardLimits returns those of a quota. A turn changes what they say of something else: it makes the
// controller count again.
func hardLimits(p *runner.Probe, limit, turn int) map[string]any {
	other := "count/secrets"
	if other == quotaKey(p) {
		other = "count/configmaps"
	}
	return map[string]any{quotaKey(p): fmt.Sprint(limit), other: fmt.Sprint(100 + turn)}
}

// makeQuota makes a quota. The check is left out if there is no controller for it.
func makeQuota(p *runner.Probe, limit int) {
	response := p.Send(runner.Post(corePath(p.Namespace, "resourcequotas"), map[string]any{
		"apiVersion": "v1", "kind": "ResourceQuota", "metadata": map[string]any{"name": quotaName},
		"spec": map[string]any{"hard": hardLimits(p, limit, 0)},
	}))
	switch {
	case response.Code == http.StatusNotFound:
		runner.Leave("the server has no ResourceQuotas")
	case response.Code == http.StatusUnprocessableEntity:
		runner.Leave("the server allows no ResourceQuota for %s", quotaKey(p))
	case !response.OK():
		response.Unprepared("create a ResourceQuota")
	}
	awaitController(p, "quota controller", func() bool {
		number, _ := readQuota(p, "hard")
		return number >= 0
	})
}

func quotaPath(p *runner.Probe) string {
	return corePath(p.Namespace, "resourcequotas") + "/" + quotaName
}

// readQuota returns the number that a part of the status of the quota has for the resource; -1 if it has none.
func readQuota(p *runner.Probe, part string) (int64, *runner.Response) {
	response := p.Send(runner.Get(quotaPath(p)))
	quota := response.ObjectOrNil()
	if quota == nil {
		response.Unprepared("read the ResourceQuota")
	}
	text, found, err := unstructured.NestedString(quota.Object, "status", part, quotaKey(p))
	if !found || err != nil {
		return -1, response // It has none.
	}
	number, err := resource.ParseQuantity(text)
	if err != nil {
		return -1, response // It has none.
	}
	return number.Value(), response
}

// awaitCount returns nil when the quota has counted as many objects, and the quota as it is if that does not happen.
func awaitCount(p *runner.Probe, limit int, least int64) *runner.Response {
	var quota *runner.Response
	turn, last := 0, time.Now()
	counted := await(p, counting, func() bool {
		number, response := readQuota(p, "used")
		quota = response
		if number >= least || time.Since(last) < recount {
			return number >= least
		}
		turn, last = turn+1, time.Now()
		change := map[string]any{"spec": map[string]any{"hard": hardLimits(p, limit, turn)}}
		p.Prepare("change the ResourceQuota", runner.Patch(quotaPath(p), types.MergePatchType, change))
		return false
	})
	if counted {
		return nil
	}
	return quota
}
