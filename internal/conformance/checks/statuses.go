// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/conformance"
)

const areaStatuses = "Status and scale"

func statuses() []conformance.Check {
	status, scale := hasSubresource("status", "get", "update"), hasSubresource("scale", "get", "update")
	list := []conformance.Check{
		{
			ID:        "status-ignored-by-create",
			Rule:      "If a resource has the subresource status, POST does not set the status.",
			Detail:    "Makes objects with a status and reads them.",
			Reference: apiConventions + "#spec-and-status",
			Verbs:     []string{"create", "get"}, Applies: status, Run: statusIgnoredByCreate,
		},
		{
			ID:        "status-ignored-by-update",
			Rule:      "If a resource has the subresource status, PUT of the object leaves the status as it is.",
			Detail:    "Sends an object with another status and reads it.",
			Reference: apiConventions + "#spec-and-status",
			Verbs:     []string{"create", "get", "update"}, Applies: status, Run: statusIgnoredByUpdate,
		},
		{
			ID:        "status-update",
			Rule:      "PUT of the subresource status is answered with 200 and stores the status.",
			Detail:    "Sends an object with another status there and reads it; again if somebody else changes it at once.",
			Reference: customResources + "#status-subresource",
			Verbs:     []string{"create", "get"}, Applies: status, Run: statusUpdate,
		},
		{
			ID:        "status-ignores-rest",
			Rule:      "PUT of the subresource status leaves the content of the object as it is.",
			Detail:    "Sends an object with another content there and reads it. Kinds differ in what of the metadata may be changed so; that is not looked at.",
			Reference: customResources + "#status-subresource",
			Verbs:     []string{"create", "get"}, Applies: status, Run: statusIgnoresRest,
		},
		{
			ID:        "status-conflict",
			Rule:      "PUT of the subresource status with a resourceVersion that is not the latest is answered with 409 and a Status whose reason is Conflict.",
			Detail:    "Changes a label of an object, and then sends it there as it was before.",
			Reference: apiConventions + "#concurrency-control-and-consistency",
			Verbs:     []string{"create", "get", "update"}, Applies: status, Run: statusConflict,
		},
		{
			ID:        "scale-get",
			Rule:      "The subresource scale is a Scale of autoscaling/v1.",
			Detail:    "Gets it. It has to have the name and the namespace of the object.",
			Reference: customResources + "#scale-subresource",
			Verbs:     []string{"create", "get"}, Applies: scale, Run: scaleGet,
		},
		{
			ID:        "scale-update",
			Rule:      "PUT of the subresource scale changes how many replicas the object wants.",
			Detail:    "Sends another spec.replicas there. The object has to have that number then.",
			Reference: customResources + "#scale-subresource",
			Verbs:     []string{"create", "get"}, Applies: scale, Run: scaleUpdate,
		},
	}
	for i := range list {
		list[i].Area, list[i].PerResource = areaStatuses, true
	}
	return list
}

func hasSubresource(name string, verbs ...string) func(*conformance.Resource) string {
	return func(resource *conformance.Resource) string {
		if !resource.HasSubresource(name, verbs...) {
			return "the resource has no subresource " + name
		}
		return ""
	}
}

func statusIgnoredByCreate(ctx context.Context, p *conformance.Probe) error {
	model, err := p.Make(ctx)
	if err != nil {
		return err
	}
	var failure error
	for _, choice := range p.Resource.Maker.StatusChanges(model) {
		changes, object := changesBetween(model.Object, choice.Object), p.New()
		object.Object["status"] = choice.Object["status"]
		response, err := p.Send(ctx, conformance.Post(p.Collection(), object))
		if err != nil {
			return err
		}
		if !response.OK() || len(changes) == 0 {
			continue
		}
		if failure, err = ignoredOr(ctx, p, response, object.GetName(), changes); failure == nil {
			return err
		}
	}
	if failure == nil {
		failure = conformance.Leave(noStatusChange)
	}
	return failure
}

func statusIgnoredByUpdate(ctx context.Context, p *conformance.Probe) error {
	return wantIgnored(ctx, p, p.Resource.Maker.StatusChanges, noStatusChange)
}

func statusIgnoresRest(ctx context.Context, p *conformance.Probe) error {
	return wantIgnored(ctx, p, p.Resource.Maker.ContentChanges, noContentChange, "status")
}

// wantIgnored returns a failure if PUT of an object or a subresource does all of these changes. It
// takes one that is ignored for enough: controllers may have done the others.
func wantIgnored(ctx context.Context, p *conformance.Probe, of choices, none string, subresource ...string) error {
	object, err := p.Make(ctx)
	if err != nil {
		return err
	}
	var failure error
	for i := 0; ; i++ {
		changes, response, err := sendChoice(ctx, p, object.GetName(), of, i, subresource...)
		switch {
		case err != nil:
			return err
		case response == nil && failure == nil:
			return conformance.Leave("%s", none)
		case response == nil:
			return failure
		case !response.OK() || len(changes) == 0:
			continue
		}
		if failure, err = ignoredOr(ctx, p, response, object.GetName(), changes); failure == nil {
			return err
		}
	}
}

// ignoredOr returns nil if an object does not have changes that were to be ignored, else the failure.
func ignoredOr(ctx context.Context, p *conformance.Probe, response *conformance.Response, name string, changes map[string]string) (failure, err error) {
	after, err := p.Read(ctx, name)
	if err == nil && hasChanges(after, changes) {
		failure = response.FailBecause("the object has it then", "that this is ignored: %s", shownChanges(changes))
	}
	return failure, err
}

func statusUpdate(ctx context.Context, p *conformance.Probe) error {
	object, err := p.Make(ctx)
	if err != nil {
		return err
	}
	var failure error
	for range attempts {
		disturbed := false
		for i := 0; ; i++ {
			changes, response, err := sendChoice(ctx, p, object.GetName(), p.Resource.Maker.StatusChanges, i, "status")
			if err != nil {
				return err
			}
			if response == nil {
				break
			}
			if !response.OK() || len(changes) == 0 || strings.Contains(response.Header.Get("Warning"), "unknown field") {
				continue // The schema does not have it.
			}
			if err := response.Want(http.StatusOK); err != nil {
				return err
			}
			after, err := p.Read(ctx, object.GetName())
			if err != nil || hasChanges(after, changes) {
				return err
			}
			failure = response.FailBecause("GET of the object does not show it", "that the status is stored: %s", shownChanges(changes))
			disturbed = disturbed || answeredVersion(response) != after.GetResourceVersion()
		}
		switch {
		case failure == nil:
			return conformance.Leave(noStatusChange)
		case !disturbed:
			return failure
		}
	}
	return conformance.Leave("somebody else changes the status at once")
}

// answeredVersion returns the resourceVersion of the object that is answered.
func answeredVersion(response *conformance.Response) string {
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(response.Body, &object) != nil {
		return ""
	}
	return object.ResourceVersion
}

func statusConflict(ctx context.Context, p *conformance.Probe) error {
	stale, err := p.Make(ctx)
	if err != nil {
		return err
	}
	if _, err := p.Label(ctx, stale.GetName(), testLabel, "changed"); err != nil {
		return err
	}
	response, err := p.Send(ctx, conformance.Put(p.Path(stale.GetName(), "status"), stale))
	if err != nil {
		return err
	}
	return response.WantStatus(metav1.StatusReasonConflict, http.StatusConflict)
}

// scaleOf gets the scale of an object. A server may have none before it is set if the object does
// not say how many replicas it wants.
func scaleOf(ctx context.Context, p *conformance.Probe, name string) (*conformance.Response, error) {
	path := p.Path(name, "scale")
	response, err := p.Send(ctx, conformance.Get(path))
	if err != nil || response.OK() {
		return response, err
	}
	if set, err := p.Send(ctx, conformance.Put(path, newScale(p, name, "", 1))); err != nil || !set.OK() {
		return response, err
	}
	return p.Send(ctx, conformance.Get(path))
}

func newScale(p *conformance.Probe, name, version string, replicas int32) *autoscalingv1.Scale {
	return &autoscalingv1.Scale{
		TypeMeta:   metav1.TypeMeta{Kind: "Scale", APIVersion: "autoscaling/v1"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.Namespace, ResourceVersion: version},
		Spec:       autoscalingv1.ScaleSpec{Replicas: replicas},
	}
}

func scaleGet(ctx context.Context, p *conformance.Probe) error {
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

func scaleUpdate(ctx context.Context, p *conformance.Probe) error {
	object, err := p.Make(ctx)
	if err != nil {
		return err
	}
	name := object.GetName()
	var failure error
	for range attempts {
		now, err := scaleOf(ctx, p, name)
		if err != nil {
			return err
		}
		var scale autoscalingv1.Scale
		if json.Unmarshal(now.Body, &scale) != nil || !now.OK() {
			return &conformance.SetupError{Wanted: "read the scale", Exchange: now.Exchange}
		}
		wanted := int32(1)
		if scale.Spec.Replicas > 0 {
			wanted = scale.Spec.Replicas - 1 // Fewer, so as not to start more than the sample does.
		}
		before, err := p.Read(ctx, name)
		if err != nil {
			return err
		}
		response, err := p.Send(ctx, conformance.Put(p.Path(name, "scale"), newScale(p, name, scale.ResourceVersion, wanted)))
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

// wantScaled returns a failure unless a number of the content of an object has changed to this. Where
// it is, only the server knows.
func wantScaled(ctx context.Context, p *conformance.Probe, response *conformance.Response, before *unstructured.Unstructured, wanted int32) error {
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
