// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

var statuses = []runner.Check{
	{
		ID: "status-ignored-by-create", Area: areaStatuses, PerResource: true, Verbs: []string{"create", "get"}, Applies: hasSubresource("status", "get", "update"),
		Rule:      "If a resource has the status subresource, POST does not set the status.",
		Detail:    "Creates objects with a status and reads them.",
		Reference: apiConventions + "#spec-and-status",
		Run: func(p *runner.Probe) {
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
		},
	},
	{
		ID: "status-ignored-by-update", Area: areaStatuses, PerResource: true, Verbs: []string{"create", "get", "update"}, Applies: hasSubresource("status", "get", "update"),
		Rule:      "If a resource has the status subresource, PUT of the object does not change the status.",
		Detail:    "Sends an object with a different status and reads it.",
		Reference: apiConventions + "#spec-and-status",
		Run:       func(p *runner.Probe) { wantIgnored(p, p.Resource.Maker.StatusChanges, noStatusChange) },
	},
	{
		ID: "status-update", Area: areaStatuses, PerResource: true, Verbs: []string{"create", "get"}, Applies: hasSubresource("status", "get", "update"),
		Rule:      "PUT of the status subresource returns 200 and stores the status.",
		Detail:    "Sends a different status and reads it; tries again if others change it.",
		Reference: customResources + "#status-subresource",
		Run: func(p *runner.Probe) {
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
					disturbed = disturbed || (&unstructured.Unstructured{Object: response.Fields()}).GetResourceVersion() != after.GetResourceVersion()
				}
				if !disturbed {
					fail()
				}
			}
			runner.Leave("others change the status at once")
		},
	},
	{
		ID: "status-ignores-rest", Area: areaStatuses, PerResource: true, Verbs: []string{"create", "get"}, Applies: hasSubresource("status", "get", "update"),
		Rule:      "PUT of the status subresource does not change the content of the object.",
		Detail:    "Which metadata may be changed this way is not checked: kinds differ.",
		Reference: customResources + "#status-subresource",
		Run:       func(p *runner.Probe) { wantIgnored(p, p.Resource.Maker.ContentChanges, noContentChange, "status") },
	},
	{
		ID: "status-conflict", Area: areaStatuses, PerResource: true, Verbs: []string{"create", "get", "update"}, Applies: hasSubresource("status", "get", "update"),
		Rule:      "PUT of the status subresource with an outdated resourceVersion gets 409 and a Status with reason Conflict.",
		Detail:    "Changes a label of an object, then sends the previous state to the subresource.",
		Reference: apiConventions + "#concurrency-control-and-consistency",
		Run: func(p *runner.Probe) {
			stale := p.Make()
			p.Label(stale.GetName(), testLabel, "changed")
			p.Send(runner.Put(p.Path(stale.GetName(), "status"), stale)).WantStatus(metav1.StatusReasonConflict, http.StatusConflict)
		},
	},
	{
		ID: "scale-get", Area: areaStatuses, PerResource: true, Verbs: []string{"create", "get"}, Applies: hasSubresource("scale", "get", "update"),
		Rule:      "The scale subresource returns a Scale of autoscaling/v1.",
		Detail:    "Gets it. It must have the name and the namespace of the object.",
		Reference: customResources + "#scale-subresource",
		Run: func(p *runner.Probe) {
			object := p.Make()
			response := scaleOf(p, object.GetName()).Want(http.StatusOK)
			expected := "a Scale of autoscaling/v1 with the name and the namespace of the object"
			var scale autoscalingv1.Scale
			readDocument(response, expected, &scale)
			if scale.Kind != "Scale" || scale.APIVersion != "autoscaling/v1" || scale.Name != object.GetName() || scale.Namespace != p.Namespace {
				response.Fail("%s", expected)
			}
		},
	},
	{
		ID: "scale-update", Area: areaStatuses, PerResource: true, Verbs: []string{"create", "get"}, Applies: hasSubresource("scale", "get", "update"),
		Rule:      "PUT of the scale subresource sets the number of replicas of the object.",
		Detail:    "Sends a different spec.replicas. The object must have that number afterwards.",
		Reference: customResources + "#scale-subresource",
		Run: func(p *runner.Probe) {
			name := p.Make().GetName()
			var response *runner.Response
			for range attempts {
				now := scaleOf(p, name)
				var scale autoscalingv1.Scale
				if json.Unmarshal(now.Body, &scale) != nil || !now.OK() {
					now.Unprepared("read the scale")
				}
				wanted := int32(1)
				if scale.Spec.Replicas > 0 {
					wanted = scale.Spec.Replicas - 1 // Fewer, so as not to start more than the sample does.
				}
				before := p.Read(name)
				response = p.Send(runner.Put(p.Path(name, "scale"), newScale(p, name, scale.ResourceVersion, wanted)))
				if response.Code != http.StatusConflict {
					wantScaled(p, response, before, wanted)
					return
				}
			}
			response.WantOK() // Is somebody else always faster?
		},
	},
}

// wantIgnored fails the check if PUT of an object or a subresource does all of these changes. It
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

// wantScaled fails the check unless a number of the content of an object has changed to this. Where
// it is, only the server knows.
func wantScaled(p *runner.Probe, response *runner.Response, before *unstructured.Unstructured, wanted int32) {
	response.WantOK()
	after := p.Read(before.GetName())
	for _, value := range changesBetween(contentFields(before), contentFields(after)) {
		if value == strconv.Itoa(int(wanted)) || value == "" && wanted == 0 {
			return
		}
	}
	response.FailBecause("GET of the object does not show it", "that the object wants %d replicas", wanted)
}
