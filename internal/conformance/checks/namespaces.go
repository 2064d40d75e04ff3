// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/internal/conformance"
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

func namespaces() []conformance.Check {
	const lifecycle = "https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#namespacelifecycle"
	const quotas = "https://kubernetes.io/docs/concepts/policy/resource-quotas/"
	return []conformance.Check{
		{
			ID: "namespace-missing", Area: areaNamespaces,
			Rule:        "Creating an object in a namespace that does not exist is answered with 404 and a Status that names the namespace.",
			Detail:      "Posts an object to a namespace that nobody has made. The object must not be there afterwards.",
			Reference:   lifecycle,
			PerResource: true, Verbs: []string{"create", "get", "delete"},
			Run: namespaceMissing,
		},
		{
			ID: "namespace-terminating", Area: areaNamespaces,
			Rule:        "Creating an object in a namespace that is being deleted is answered with 403 and a Status with a cause of the type NamespaceTerminating.",
			Detail:      "Deletes a namespace in which an object has a finalizer, and posts another object to it. The server may take ten seconds to notice.",
			Reference:   lifecycle,
			PerResource: true, Verbs: []string{"create", "get", "patch", "delete"},
			Run: namespaceTerminating,
		},
		{
			ID: "namespace-deletion", Area: areaNamespaces,
			Rule:        "Deleting a namespace removes the objects in it.",
			Detail:      "Makes an object in a namespace, deletes the namespace, and waits until the object is gone. It is left out if a ConfigMap is not removed, either.",
			Reference:   "https://kubernetes.io/docs/tasks/administer-cluster/namespaces/#deleting-a-namespace",
			PerResource: true, Verbs: []string{"create", "get", "list", "delete"}, Slow: true,
			Run: namespaceDeletion,
		},
		{
			ID: "quota-counted", Area: areaNamespaces,
			Rule:        "A ResourceQuota counts the objects of a namespace.",
			Detail:      "Makes two objects and a ResourceQuota for count/<resource>.<group>, and waits until its status.used has them. It is left out if no controller fills in the status.",
			Reference:   quotas,
			PerResource: true, Verbs: []string{"create", "get", "list", "watch", "delete"}, Slow: true, Applies: notEvents,
			Run: quotaCounted,
		},
		{
			ID: "quota-enforced", Area: areaNamespaces,
			Rule:        "Creating more objects than a ResourceQuota of the namespace allows is answered with 403 and a Status that says so.",
			Detail:      "Makes a ResourceQuota that allows one object, waits until its status.used has a number, and creates more. The server may take ten seconds to notice the quota. It is left out if the objects are not counted.",
			Reference:   quotas,
			PerResource: true, Verbs: []string{"create", "get", "list", "watch", "delete"}, Slow: true, Applies: notEvents,
			Run: quotaEnforced,
		},
	}
}

func namespaceMissing(ctx context.Context, p *conformance.Probe) error {
	if err := needsNamespaces(p); err != nil {
		return err
	}
	namespace, object := p.Name(), p.New()
	p.Resource.Maker.Place(object, namespace)
	response, err := p.Send(ctx, conformance.Post(p.Resource.CollectionPath(namespace), object))
	if err != nil {
		return err
	}
	path := p.Resource.ObjectPath(namespace, object.GetName())
	stored, err := p.Send(ctx, conformance.Get(path))
	if err != nil {
		return err
	}
	if response.OK() || stored.OK() {
		if _, err := p.Send(ctx, conformance.Delete(path, conformance.DeleteNow())); err != nil {
			return err
		}
	}
	if response.OK() && !p.HasCore {
		return conformance.Leave("the server knows no namespaces: it has no core API")
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

func namespaceTerminating(ctx context.Context, p *conformance.Probe) error {
	if err := ownNamespace(ctx, p); err != nil {
		return err
	}
	held := p.New()
	held.SetFinalizers([]string{conformance.Finalizer})
	if _, err := p.Create(ctx, held); err != nil {
		return err
	}
	defer release(ctx, p, held.GetName())
	if _, err := p.Prepare(ctx, "delete the namespace", conformance.Delete(namespacePath(p.Namespace), nil)); err != nil {
		return err
	}
	var response *conformance.Response
	_, err := await(ctx, p, noticing, func() (bool, error) {
		var err error
		response, err = p.Send(ctx, conformance.Post(p.Collection(), p.New()))
		return err == nil && !response.OK(), err
	})
	if err != nil {
		return err
	}
	if response.Code == http.StatusNotFound {
		return conformance.Leave("the namespace was gone at once: nothing kept the object that has a finalizer")
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

// release lets a namespace end early whose objects a finalizer holds. The end of the run does so, too.
func release(ctx context.Context, p *conformance.Probe, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTime)
	defer cancel()
	none := map[string]any{"metadata": map[string]any{"finalizers": nil}}
	p.Send(ctx, conformance.Patch(p.Path(name), types.MergePatchType, none)) //nolint:errcheck // As above.
}

func namespaceDeletion(ctx context.Context, p *conformance.Probe) error {
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
	if _, err := p.Prepare(ctx, "delete the namespace", conformance.Delete(namespacePath(p.Namespace), nil)); err != nil {
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

// stillThere tells why an object outlives its namespace, or whether it has gone at last.
func stillThere(ctx context.Context, p *conformance.Probe, name string, control *prop, ended bool) error {
	gone, err := isGone(ctx, p, control.path)
	if err != nil {
		return err
	}
	response, err := p.Send(ctx, conformance.Get(p.Path(name)))
	switch {
	case err != nil:
		return err
	case !response.OK():
		return nil
	case ended:
		return response.FailBecause("the namespace is gone", "404 Not Found: the namespace was deleted")
	case !gone:
		return conformance.Leave("no namespace controller seems to run: a ConfigMap is not removed, either")
	}
	return response.FailBecause("a ConfigMap of the same namespace is gone", "404 Not Found within %s: the namespace is being deleted", seconds(emptying))
}

func quotaCounted(ctx context.Context, p *conformance.Probe) error {
	if err := ownNamespace(ctx, p); err != nil {
		return err
	}
	for range 2 { // Before there is a quota that could refuse them.
		if _, err := p.Make(ctx); err != nil {
			return err
		}
	}
	if err := makeQuota(ctx, p, 100); err != nil {
		return err
	}
	response, err := awaitCount(ctx, p, 100, 2)
	if response == nil || err != nil {
		return err
	}
	return response.Fail("%q in status.used to become 2 or more: there are two objects", quotaKey(p))
}

func quotaEnforced(ctx context.Context, p *conformance.Probe) error {
	if err := ownNamespace(ctx, p); err != nil {
		return err
	}
	if err := makeQuota(ctx, p, 1); err != nil {
		return err
	}
	uncounted, err := awaitCount(ctx, p, 1, 0)
	if err != nil {
		return err
	}
	if uncounted != nil {
		return conformance.Leave("no controller counts the objects; see quota-counted")
	}
	var response *conformance.Response
	made := 0
	_, err = await(ctx, p, noticing, func() (bool, error) {
		var err error
		if response, err = p.Send(ctx, conformance.Post(p.Collection(), p.New())); err != nil {
			return false, err
		}
		if response.OK() {
			made++
		}
		unknown := response.Code == http.StatusForbidden && strings.Contains(string(response.Body), "status unknown for quota")
		return !response.OK() && !unknown, nil
	})
	if err != nil {
		return err
	}
	refusal := fmt.Sprintf("403 Forbidden with a Status whose reason is Forbidden and whose message says %q", exceeded)
	switch status, _ := response.Status(); {
	case response.OK():
		return response.FailBecause(fmt.Sprintf("%d objects were created", made), "%s: the ResourceQuota allows one object", refusal)
	case strings.Contains(string(response.Body), exceeded) && status != nil && status.Reason == metav1.StatusReasonForbidden && response.Code == http.StatusForbidden:
		return nil
	case made == 0:
		return &conformance.SetupError{Wanted: "create an object", Exchange: response.Exchange}
	}
	return response.Fail("%s: the ResourceQuota allows one object", refusal)
}

// quotaKey is what quotas call the number of objects of the resource.
func quotaKey(p *conformance.Probe) string {
	key := "count/" + p.Resource.Name
	if group := p.GroupVersion.Group; group != "" {
		key += "." + group
	}
	return key
}

// hardLimits returns those of a quota. A turn changes what they say of something else: it makes the
// controller count again.
func hardLimits(p *conformance.Probe, limit, turn int) map[string]any {
	other := "count/secrets"
	if other == quotaKey(p) {
		other = "count/configmaps"
	}
	return map[string]any{quotaKey(p): fmt.Sprint(limit), other: fmt.Sprint(100 + turn)}
}

// makeQuota makes a quota. The check is left out if there is no controller for it.
func makeQuota(ctx context.Context, p *conformance.Probe, limit int) error {
	response, err := p.Send(ctx, conformance.Post(corePath(p.Namespace, "resourcequotas"), map[string]any{
		"apiVersion": "v1", "kind": "ResourceQuota", "metadata": map[string]any{"name": quotaName},
		"spec": map[string]any{"hard": hardLimits(p, limit, 0)},
	}))
	switch {
	case err != nil:
		return err
	case response.Code == http.StatusNotFound:
		return conformance.Leave("the server has no ResourceQuotas")
	case response.Code == http.StatusUnprocessableEntity:
		return conformance.Leave("the server allows no ResourceQuota for %s", quotaKey(p))
	case !response.OK():
		return &conformance.SetupError{Wanted: "create a ResourceQuota", Exchange: response.Exchange}
	}
	return awaitController(ctx, p, "quota controller", func() (bool, error) {
		number, _, err := readQuota(ctx, p, "hard")
		return number >= 0, err
	})
}

func quotaPath(p *conformance.Probe) string {
	return corePath(p.Namespace, "resourcequotas") + "/" + quotaName
}

// readQuota returns the number that a part of the status of the quota has for the resource; -1 if it
// has none.
func readQuota(ctx context.Context, p *conformance.Probe, part string) (int64, *conformance.Response, error) {
	response, err := p.Send(ctx, conformance.Get(quotaPath(p)))
	if err != nil {
		return 0, nil, err
	}
	quota, err := response.Object()
	if err != nil {
		return 0, nil, &conformance.SetupError{Wanted: "read the ResourceQuota", Exchange: response.Exchange}
	}
	text, found, err := unstructured.NestedString(quota.Object, "status", part, quotaKey(p))
	if !found || err != nil {
		return -1, response, nil //nolint:nilerr // It has none.
	}
	number, err := resource.ParseQuantity(text)
	if err != nil {
		return -1, response, nil //nolint:nilerr // It has none.
	}
	return number.Value(), response, nil
}

// awaitCount returns nil when the quota has counted as many objects, and the quota as it is if that
// does not happen.
func awaitCount(ctx context.Context, p *conformance.Probe, limit int, least int64) (*conformance.Response, error) {
	var quota *conformance.Response
	turn, last := 0, time.Now()
	counted, err := await(ctx, p, counting, func() (bool, error) {
		number, response, err := readQuota(ctx, p, "used")
		if quota = response; err != nil || number >= least || time.Since(last) < recount {
			return number >= least, err
		}
		turn, last = turn+1, time.Now()
		change := map[string]any{"spec": map[string]any{"hard": hardLimits(p, limit, turn)}}
		_, err = p.Prepare(ctx, "change the ResourceQuota", conformance.Patch(quotaPath(p), types.MergePatchType, change))
		return false, err
	})
	if counted || err != nil {
		return nil, err
	}
	return quota, nil
}
