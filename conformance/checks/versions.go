// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaVersions = "Versions"
	// roundTrips is how often a check starts over because others change its object.
	roundTrips = 5
)

func versions() []rule {
	return []rule{versionsReadable{}, versionsRoundTrip{}}
}

type versionsReadable struct{}

func (r versionsReadable) check() runner.Check {
	return runner.Check{
		ID: "versions-readable", Area: areaVersions,
		Rule:        "An object can be read in every version of its group that has the resource.",
		Detail:      "Creates an object in the checked version and gets it in each other version. It must have that apiVersion and the same uid there.",
		Reference:   "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#api-groups-and-versioning",
		PerResource: true, Verbs: []string{"create", "get"}, Run: r.run,
	}
}

func (versionsReadable) run(ctx context.Context, p *runner.Probe) error {
	others, err := otherVersions(ctx, p, "get")
	if err != nil {
		return err
	}
	object, err := p.Make(ctx)
	if err != nil {
		return err
	}
	for _, other := range others {
		response, err := p.Send(ctx, runner.Get(other.ObjectPath(p.Namespace, object.GetName())))
		if err != nil {
			return err
		}
		found, err := response.Object()
		if err != nil {
			return err
		}
		if version := other.GroupVersion.String(); found.GetAPIVersion() != version {
			return response.Fail("an object whose apiVersion is %q", version)
		}
		if found.GetUID() != object.GetUID() {
			return response.FailBecause(fmt.Sprintf("its UID is %q", found.GetUID()), "the object whose UID is %q", object.GetUID())
		}
	}
	return nil
}

func (versionsReadable) broken() broken.Server {
	return broken.That("reads an object in its older version as it is in the newer one", broken.OnAnswered(broken.Method(http.MethodGet, broken.Single, olderVersion), func(object map[string]any) {
		if version, ok := object["apiVersion"].(string); ok {
			newer, _, _ := strings.Cut(version, "beta")
			object["apiVersion"] = newer
		}
	}))
}

// olderVersion matches requests in a version like v1beta1.
func olderVersion(r *http.Request) bool {
	p := broken.PlaceOf(r)
	return p != nil && strings.Contains(p.Version, "beta")
}

type versionsRoundTrip struct{}

func (r versionsRoundTrip) check() runner.Check {
	return runner.Check{
		ID: "versions-round-trip", Area: areaVersions,
		Rule:        "Reading an object in another version and writing it back there loses nothing.",
		Detail:      "Gets an object in each other version and puts it back unchanged. In the checked version it must be as before, except for resourceVersion, generation, and managedFields.",
		Reference:   "https://kubernetes.io/docs/reference/using-api/deprecation-policy/#deprecating-parts-of-the-api",
		PerResource: true, Verbs: []string{"create", "get", "update"}, Run: r.run,
	}
}

func (versionsRoundTrip) run(ctx context.Context, p *runner.Probe) error {
	others, err := otherVersions(ctx, p, "get", "update")
	if err != nil {
		return err
	}
	for _, other := range others {
		if err := roundTrip(ctx, p, other); err != nil {
			return err
		}
	}
	return nil
}

func (versionsRoundTrip) broken() broken.Server {
	return broken.That("forgets annotations that are written in its older version", broken.OnSentObject(broken.Method(http.MethodPut, broken.Single, olderVersion), func(object map[string]any) {
		delete(broken.FieldsOf(object, "metadata"), "annotations")
	}))
}

// roundTrip writes an object back in a version. What others have changed meanwhile is no loss: it
// counts only if the object is, before and after, in the state that was written.
func roundTrip(ctx context.Context, p *runner.Probe, other *runner.Resource) error {
	for range roundTrips {
		object := p.New()
		object.SetAnnotations(map[string]string{runner.RunLabel: "an annotation to keep"})
		before, err := p.Create(ctx, object)
		if err != nil {
			return err
		}
		path := other.ObjectPath(p.Namespace, object.GetName())
		response, err := p.Send(ctx, runner.Get(path))
		if err != nil {
			return err
		}
		read, err := response.Object()
		if err != nil || read.GetAPIVersion() != other.GroupVersion.String() {
			return runner.Leave("the object can't be read in %s", other.GroupVersion)
		}
		if read.GetResourceVersion() != before.GetResourceVersion() {
			continue
		}
		response, err = p.Send(ctx, runner.Put(path, read))
		if err != nil {
			return err
		}
		if response.Code == http.StatusConflict {
			continue
		}
		written, err := response.Object()
		if err != nil {
			return response.Fail("success: the object is as %s has it", other.GroupVersion)
		}
		after, err := p.Read(ctx, object.GetName())
		if err != nil {
			return err
		}
		if after.GetResourceVersion() == written.GetResourceVersion() {
			return compareRoundTrip(response, before, after)
		}
	}
	return runner.Leave("others change the objects all the time")
}

func compareRoundTrip(response *runner.Response, before, after *unstructured.Unstructured) error {
	before = before.DeepCopy()
	for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
		unstructured.RemoveNestedField(before.Object, "metadata", field)
	}
	if lost := lostField("", before.Object, after.Object); lost != "" {
		return response.FailBecause("after it, "+lost+" in "+before.GetAPIVersion()+" is gone or has changed", "a PUT of what was read that changes nothing in %s", before.GetAPIVersion())
	}
	return nil
}

// lostField returns the path of a value that is not in another object; empty if all are.
func lostField(path string, before, after any) string {
	switch b := before.(type) {
	case map[string]any:
		a, ok := after.(map[string]any)
		if !ok {
			return path
		}
		for name, value := range b {
			if lost := lostField(path+"."+name, value, a[name]); lost != "" {
				return lost
			}
		}
	case []any:
		a, ok := after.([]any)
		if !ok || len(a) != len(b) {
			return path
		}
		for i := range b {
			if lost := lostField(fmt.Sprintf("%s[%d]", path, i), b[i], a[i]); lost != "" {
				return lost
			}
		}
	default:
		if !reflect.DeepEqual(before, after) {
			return path
		}
	}
	return ""
}

// otherVersions returns the resource as the other versions of the group have it, if with these verbs.
// The check is left out if none does.
func otherVersions(ctx context.Context, p *runner.Probe, verbs ...string) ([]*runner.Resource, error) {
	checked, none := p.GroupVersion, runner.Leave("no other version of the group has the resource")
	if checked.Group == "" {
		return nil, none
	}
	var group metav1.APIGroup
	if err := readInto(ctx, p, "/apis/"+checked.Group, &group); err != nil {
		return nil, err
	}
	var others []*runner.Resource
	for _, version := range group.Versions {
		gv := schema.GroupVersion{Group: checked.Group, Version: version.Version}
		if gv == checked {
			continue
		}
		var list metav1.APIResourceList
		if err := readInto(ctx, p, runner.GroupVersionPath(gv), &list); err != nil {
			return nil, err
		}
		i := slices.IndexFunc(list.APIResources, func(one metav1.APIResource) bool { return one.Name == p.Resource.Name })
		if i < 0 {
			continue
		}
		other := &runner.Resource{APIResource: list.APIResources[i], GroupVersion: gv}
		if other.Has(verbs...) && other.Namespaced == p.Resource.Namespaced {
			others = append(others, other)
		}
	}
	if len(others) == 0 {
		return nil, none
	}
	return others, nil
}

// readInto reads what discovery says. The check is left out if that can't be: others look at it.
func readInto(ctx context.Context, p *runner.Probe, path string, into any) error {
	response, err := p.Send(ctx, runner.Get(path))
	if err != nil {
		return err
	}
	if !response.OK() || json.Unmarshal(response.Body, into) != nil {
		return runner.Leave("%s can't be read", path)
	}
	return nil
}
