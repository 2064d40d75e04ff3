// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"net/http"
	"strconv"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/runner"
)

func statusesScaleRules() []runner.Check {
	return []runner.Check{scaleGet(), scaleUpdate()}
}

func scaleGet() runner.Check {
	return runner.Check{
		ID: "scale-get", Area: areaStatuses,
		Rule:        "The scale subresource returns a Scale of autoscaling/v1.",
		Detail:      "Gets it. It must have the name and the namespace of the object.",
		Reference:   customResources + "#scale-subresource",
		PerResource: true, Verbs: []string{"create", "get"}, Applies: hasSubresource("scale", "get", "update"),
		Run: func(p *runner.Probe) {
			object := p.Make()
			response := scaleOf(p, object.GetName()).Want(http.StatusOK)
			expected := "a Scale of autoscaling/v1 with the name and the namespace of the object"
			var scale autoscalingv1.Scale
			if err := json.Unmarshal(response.Body, &scale); err != nil {
				response.FailBecause(err.Error(), "%s", expected)
			}
			if scale.Kind != "Scale" || scale.APIVersion != "autoscaling/v1" || scale.Name != object.GetName() || scale.Namespace != p.Namespace {
				response.Fail("%s", expected)
			}
		},
	}
}

func scaleUpdate() runner.Check {
	return runner.Check{
		ID: "scale-update", Area: areaStatuses,
		Rule:        "PUT of the scale subresource sets the number of replicas of the object.",
		Detail:      "Sends a different spec.replicas. The object must have that number afterwards.",
		Reference:   customResources + "#scale-subresource",
		PerResource: true, Verbs: []string{"create", "get"}, Applies: hasSubresource("scale", "get", "update"),
		Run: func(p *runner.Probe) {
			name := makeName(p)
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
	}
}

// wantScaled returns a failure unless a number of the content of an object has changed to this. Where
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
