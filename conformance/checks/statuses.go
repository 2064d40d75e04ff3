// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

const areaStatuses = "Status and scale"

func hasSubresource(name string, verbs ...string) func(*runner.Resource) string {
	return func(resource *runner.Resource) string {
		if !resource.HasSubresource(name, verbs...) {
			return "the resource has no subresource " + name
		}
		return ""
	}
}

func statuses() []rule {
	return slices.Concat([]rule{statusIgnoredByCreate{}, statusIgnoredByUpdate{}, statusUpdate{}, statusIgnoresRest{}, statusConflict{}}, statusesScaleRules())
}

type statusIgnoredByCreate struct{}

func (r statusIgnoredByCreate) check() runner.Check {
	return runner.Check{
		ID: "status-ignored-by-create", Area: areaStatuses,
		Rule:        "If a resource has the status subresource, POST does not set the status.",
		Detail:      "Creates objects with a status and reads them.",
		Reference:   apiConventions + "#spec-and-status",
		PerResource: true, Verbs: []string{"create", "get"}, Applies: hasSubresource("status", "get", "update"), Run: r.run,
	}
}

func (statusIgnoredByCreate) run(p *runner.Probe) {
	model := p.Make()
	fail := func() { runner.Leave(noStatusChange) }
	for _, choice := range p.Resource.Maker.StatusChanges(model) {
		changes, object := changesBetween(model.Object, choice.Object), p.New()
		object.Object["status"] = choice.Object["status"]
		response := p.Send(runner.Post(p.Collection(), object))
		if !response.OK() || len(changes) == 0 {
			continue
		}
		if fail = notIgnored(p, response, object.GetName(), changes); fail == nil {
			return
		}
	}
	fail()
}

func (statusIgnoredByCreate) broken() broken.Server {
	return broken.That("stores the status of new objects", storeToo(broken.Storing(http.MethodPost, broken.Collection), "/status", "status"))
}

// storeToo stores a field of objects that are sent, which the server does not, with another request:
// one of the object or of the subresource.
func storeToo(match broken.Match, subresource, field string) func(http.Handler) http.Handler {
	return broken.Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		var sent map[string]any
		json.Unmarshal(broken.BodyOf(r), &sent) //nolint:errcheck // The server says so.
		a := broken.Ask(next, r)
		if object := a.Object(); a.OK() && object != nil && sent[field] != nil {
			path := broken.PathOf(r)
			if name, ok := broken.FieldsOf(object, "metadata")["name"].(string); ok && broken.PlaceOf(r).Name == "" {
				path += "/" + name
			}
			object[field] = sent[field]
			if stored := broken.Also(next, r, http.MethodPut, path+subresource, broken.JSONType, object); stored.OK() {
				a.Body = stored.Body
			}
		}
		a.Send(w)
	})
}

type statusIgnoredByUpdate struct{}

func (r statusIgnoredByUpdate) check() runner.Check {
	return runner.Check{
		ID: "status-ignored-by-update", Area: areaStatuses,
		Rule:        "If a resource has the status subresource, PUT of the object does not change the status.",
		Detail:      "Sends an object with a different status and reads it.",
		Reference:   apiConventions + "#spec-and-status",
		PerResource: true, Verbs: []string{"create", "get", "update"}, Applies: hasSubresource("status", "get", "update"), Run: r.run,
	}
}

func (statusIgnoredByUpdate) run(p *runner.Probe) {
	wantIgnored(p, p.Resource.Maker.StatusChanges, noStatusChange)
}

func (statusIgnoredByUpdate) broken() broken.Server {
	return broken.That("stores the status of objects that are sent", storeToo(broken.Storing(http.MethodPut, broken.Single), "/status", "status"))
}

type statusUpdate struct{}

func (r statusUpdate) check() runner.Check {
	return runner.Check{
		ID: "status-update", Area: areaStatuses,
		Rule:        "PUT of the status subresource returns 200 and stores the status.",
		Detail:      "Sends an object with a different status and reads it. Tries again if the status is changed by others at once.",
		Reference:   customResources + "#status-subresource",
		PerResource: true, Verbs: []string{"create", "get"}, Applies: hasSubresource("status", "get", "update"), Run: r.run,
	}
}

func (statusUpdate) run(p *runner.Probe) {
	object := p.Make()
	fail := func() { runner.Leave(noStatusChange) }
	for range attempts {
		disturbed := false
		for i := 0; ; i++ {
			changes, response := sendChoice(p, object.GetName(), p.Resource.Maker.StatusChanges, i, "status")
			if response == nil {
				break
			}
			if !response.OK() || len(changes) == 0 || strings.Contains(response.Header.Get("Warning"), "unknown field") {
				continue // The schema does not have it.
			}
			response.Want(http.StatusOK)
			after := p.Read(object.GetName())
			if hasChanges(after, changes) {
				return
			}
			fail = func() {
				response.FailBecause("GET of the object does not show it", "that the status is stored: %s", shownChanges(changes))
			}
			disturbed = disturbed || answeredVersion(response) != after.GetResourceVersion()
		}
		if !disturbed {
			fail()
		}
	}
	runner.Leave("others change the status at once")
}

func (statusUpdate) broken() broken.Server {
	return broken.That("does not store the status that the subresource gets", broken.Instead(statusPuts, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		object := broken.Current(next, r)
		broken.OnBody(statusPuts, func(_ *http.Request, sent map[string]any) bool {
			sent["status"] = object["status"]
			return object != nil
		})(next).ServeHTTP(w, r)
	}))
}

// answeredVersion returns the resourceVersion of the object that is answered.
func answeredVersion(response *runner.Response) string {
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(response.Body, &object) != nil {
		return ""
	}
	return object.ResourceVersion
}

// statusPuts matches requests that change the status of objects.
func statusPuts(r *http.Request) bool {
	return broken.Storing(http.MethodPut, broken.Subresource("status"))(r)
}

type statusIgnoresRest struct{}

func (r statusIgnoresRest) check() runner.Check {
	return runner.Check{
		ID: "status-ignores-rest", Area: areaStatuses,
		Rule:        "PUT of the status subresource does not change the content of the object.",
		Detail:      "Sends an object with different content and reads it. Kinds differ in which metadata may be changed this way; that is not checked.",
		Reference:   customResources + "#status-subresource",
		PerResource: true, Verbs: []string{"create", "get"}, Applies: hasSubresource("status", "get", "update"), Run: r.run,
	}
}

func (statusIgnoresRest) run(p *runner.Probe) {
	wantIgnored(p, p.Resource.Maker.ContentChanges, noContentChange, "status")
}

func (statusIgnoresRest) broken() broken.Server {
	return broken.That("stores the spec that the subresource status gets", storeToo(statusPuts, "", "spec"))
}

// wantIgnored returns a failure if PUT of an object or a subresource does all of these changes. It
// takes one that is ignored for enough: controllers may have done the others.
func wantIgnored(p *runner.Probe, of choices, none string, subresource ...string) {
	object := p.Make()
	fail := func() { runner.Leave("%s", none) }
	for i := 0; ; i++ {
		changes, response := sendChoice(p, object.GetName(), of, i, subresource...)
		if response == nil {
			fail()
		}
		if !response.OK() || len(changes) == 0 {
			continue
		}
		if fail = notIgnored(p, response, object.GetName(), changes); fail == nil {
			return
		}
	}
}

// notIgnored returns nil if an object does not have changes that were to be ignored, else what fails the check.
func notIgnored(p *runner.Probe, response *runner.Response, name string, changes map[string]string) func() {
	if !hasChanges(p.Read(name), changes) {
		return nil
	}
	return func() {
		response.FailBecause("the object has it then", "that this is ignored: %s", shownChanges(changes))
	}
}

type statusConflict struct{}

func (r statusConflict) check() runner.Check {
	return runner.Check{
		ID: "status-conflict", Area: areaStatuses,
		Rule:        "PUT of the status subresource with an outdated resourceVersion gets 409 and a Status with reason Conflict.",
		Detail:      "Changes a label of an object, then sends the previous state to the subresource.",
		Reference:   apiConventions + "#concurrency-control-and-consistency",
		PerResource: true, Verbs: []string{"create", "get", "update"}, Applies: hasSubresource("status", "get", "update"), Run: r.run,
	}
}

func (statusConflict) run(p *runner.Probe) {
	stale := p.Make()
	p.Label(stale.GetName(), testLabel, "changed")
	send(p, runner.Put(p.Path(stale.GetName(), "status"), stale), status(metav1.StatusReasonConflict, http.StatusConflict))
}

func (statusConflict) broken() broken.Server {
	return broken.That("does not look at the resourceVersion of a status that is sent", broken.KeepCurrent(statusPuts, "resourceVersion"))
}

// scaleOf gets the scale of an object. A server may have none before it is set if the object does
// not say how many replicas it wants.
func scaleOf(p *runner.Probe, name string) *runner.Response {
	path := p.Path(name, "scale")
	response := p.Send(runner.Get(path))
	if response.OK() {
		return response
	}
	if set := p.Send(runner.Put(path, newScale(p, name, "", 1))); !set.OK() {
		return response
	}
	return p.Send(runner.Get(path))
}

func newScale(p *runner.Probe, name, version string, replicas int32) *autoscalingv1.Scale {
	return &autoscalingv1.Scale{
		TypeMeta:   metav1.TypeMeta{Kind: "Scale", APIVersion: "autoscaling/v1"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.Namespace, ResourceVersion: version},
		Spec:       autoscalingv1.ScaleSpec{Replicas: replicas},
	}
}
