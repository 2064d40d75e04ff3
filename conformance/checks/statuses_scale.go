// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

func statusesScaleRules() []rule {
	return []rule{scaleGet{}, scaleUpdate{}}
}

type scaleGet struct{}

func (r scaleGet) check() runner.Check {
	return runner.Check{
		ID: "scale-get", Area: areaStatuses,
		Rule:        "The scale subresource returns a Scale of autoscaling/v1.",
		Detail:      "Gets it. It must have the name and the namespace of the object.",
		Reference:   customResources + "#scale-subresource",
		PerResource: true, Verbs: []string{"create", "get"}, Applies: hasSubresource("scale", "get", "update"), Run: r.run,
	}
}

func (scaleGet) run(ctx context.Context, p *runner.Probe) error {
	object, err := p.Make(ctx)
	if err != nil {
		return err
	}
	response, err := scaleOf(ctx, p, object.GetName())
	if err != nil {
		return err
	}
	if err := response.Want(http.StatusOK); err != nil {
		return err
	}
	expected := "a Scale of autoscaling/v1 with the name and the namespace of the object"
	var scale autoscalingv1.Scale
	if err := json.Unmarshal(response.Body, &scale); err != nil {
		return response.FailBecause(err.Error(), "%s", expected)
	}
	if scale.Kind != "Scale" || scale.APIVersion != "autoscaling/v1" || scale.Name != object.GetName() || scale.Namespace != p.Namespace {
		return response.Fail("%s", expected)
	}
	return nil
}

func (scaleGet) broken() broken.Server {
	return broken.That("has Scales of extensions/v1beta1", broken.OnAnswered(broken.AsObject(broken.Subresource("scale")), func(object map[string]any) { object["apiVersion"] = "extensions/v1beta1" }))
}

type scaleUpdate struct{}

func (r scaleUpdate) check() runner.Check {
	return runner.Check{
		ID: "scale-update", Area: areaStatuses,
		Rule:        "PUT of the scale subresource sets the number of replicas of the object.",
		Detail:      "Sends a different spec.replicas. The object must have that number afterwards.",
		Reference:   customResources + "#scale-subresource",
		PerResource: true, Verbs: []string{"create", "get"}, Applies: hasSubresource("scale", "get", "update"), Run: r.run,
	}
}

func (scaleUpdate) run(ctx context.Context, p *runner.Probe) error {
	name, err := makeName(ctx, p)
	if err != nil {
		return err
	}
	var failure error
	for range attempts {
		now, err := scaleOf(ctx, p, name)
		if err != nil {
			return err
		}
		var scale autoscalingv1.Scale
		if json.Unmarshal(now.Body, &scale) != nil || !now.OK() {
			return &runner.SetupError{Wanted: "read the scale", Exchange: now.Exchange}
		}
		wanted := int32(1)
		if scale.Spec.Replicas > 0 {
			wanted = scale.Spec.Replicas - 1 // Fewer, so as not to start more than the sample does.
		}
		before, err := p.Read(ctx, name)
		if err != nil {
			return err
		}
		response, err := p.Send(ctx, runner.Put(p.Path(name, "scale"), newScale(p, name, scale.ResourceVersion, wanted)))
		if err != nil {
			return err
		}
		if response.Code != http.StatusConflict {
			return wantScaled(ctx, p, response, before, wanted)
		}
		failure = response.WantOK() // Somebody else was faster?
	}
	return failure
}

func (scaleUpdate) broken() broken.Server {
	return broken.That("answers Scales that are sent and does not store them", broken.Instead(broken.Storing(http.MethodPut, broken.Subresource("scale")), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		var sent map[string]any
		json.Unmarshal(broken.BodyOf(r), &sent) //nolint:errcheck // There is no number then.
		a := broken.Also(next, r, http.MethodGet, r.URL.Path, "", nil)
		if spec := sent["spec"]; a.OK() && spec != nil {
			a.Edit(func(object map[string]any) { object["spec"] = spec })
		}
		a.Send(w)
	}))
}

// wantScaled returns a failure unless a number of the content of an object has changed to this. Where
// it is, only the server knows.
func wantScaled(ctx context.Context, p *runner.Probe, response *runner.Response, before *unstructured.Unstructured, wanted int32) error {
	if err := response.WantOK(); err != nil {
		return err
	}
	after, err := p.Read(ctx, before.GetName())
	if err != nil {
		return err
	}
	for _, value := range changesBetween(contentFields(before), contentFields(after)) {
		if value == strconv.Itoa(int(wanted)) || value == "" && wanted == 0 {
			return nil
		}
	}
	return response.FailBecause("GET of the object does not show it", "that the object wants %d replicas", wanted)
}
