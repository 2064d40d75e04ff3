// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/conformance/runner"
)

const areaVersions = "Versions"

var versions = []runner.Check{
	{
		ID: "versions-readable", Area: areaVersions, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "An object can be read in every version of its group that has the resource.",
		Detail:    "It must have that apiVersion and the same uid there.",
		Reference: "https://kubernetes.io/docs/concepts/overview/kubernetes-api/#api-groups-and-versioning",
		Run: func(p *runner.Probe) {
			others := otherVersions(p, "get")
			object := p.Make()
			for _, other := range others {
				response := p.Send(runner.Get(other.ObjectPath(p.Namespace, object.GetName())))
				found := response.ObjectOrNil()
				if version := other.GroupVersion.String(); found == nil || found.GetAPIVersion() != version {
					response.Fail("an object whose apiVersion is %q", version)
				}
				if found.GetUID() != object.GetUID() {
					response.FailBecause(fmt.Sprintf("its UID is %q", found.GetUID()), "the object whose UID is %q", object.GetUID())
				}
			}
		},
	},
	{
		ID: "versions-round-trip", Area: areaVersions, PerResource: true, Verbs: []string{"create", "get", "update"},
		Rule:      "Reading an object in another version and writing it back there loses nothing.",
		Detail:    "In the checked version the object must be as before, except for resourceVersion, generation, and managedFields.",
		Reference: "https://kubernetes.io/docs/reference/using-api/deprecation-policy/#deprecating-parts-of-the-api",
		Run: func(p *runner.Probe) {
			for _, other := range otherVersions(p, "get", "update") {
				roundTrip(p, other)
			}
		},
	},
}

// roundTrip writes an object back in a version. What others have changed meanwhile is no loss: it
// counts only if the object is, before and after, in the state that was written.
func roundTrip(p *runner.Probe, other *runner.Resource) {
	for range attempts {
		object := p.New()
		object.SetAnnotations(map[string]string{runner.RunLabel: "an annotation to keep"})
		before := p.Create(object)
		path := other.ObjectPath(p.Namespace, object.GetName())
		response := p.Send(runner.Get(path))
		read := response.ObjectOrNil()
		if read == nil || read.GetAPIVersion() != other.GroupVersion.String() {
			runner.Leave("the object can't be read in %s", other.GroupVersion)
		}
		if read.GetResourceVersion() != before.GetResourceVersion() {
			continue
		}
		response = p.Send(runner.Put(path, read))
		if response.Code == http.StatusConflict {
			continue
		}
		written := response.ObjectOrNil()
		if written == nil {
			response.Fail("success: the object is as %s has it", other.GroupVersion)
		}
		after := p.Read(object.GetName())
		if after.GetResourceVersion() == written.GetResourceVersion() {
			compareRoundTrip(response, before, after)
			return
		}
	}
	runner.Leave("others change the objects all the time")
}

func compareRoundTrip(response *runner.Response, before, after *unstructured.Unstructured) {
	before = before.DeepCopy()
	for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
		unstructured.RemoveNestedField(before.Object, "metadata", field)
	}
	if lost := lostField("", before.Object, after.Object); lost != "" {
		response.FailBecause("after it, "+lost+" in "+before.GetAPIVersion()+" is gone or has changed", "a PUT of what was read that changes nothing in %s", before.GetAPIVersion())
	}
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
func otherVersions(p *runner.Probe, verbs ...string) []*runner.Resource {
	const none = "no other version of the group has the resource"
	checked := p.GroupVersion
	if checked.Group == "" {
		runner.Leave(none)
	}
	var group metav1.APIGroup
	readInto(p, "/apis/"+checked.Group, &group)
	var others []*runner.Resource
	for _, version := range group.Versions {
		gv := schema.GroupVersion{Group: checked.Group, Version: version.Version}
		if gv == checked {
			continue
		}
		var list metav1.APIResourceList
		readInto(p, runner.GroupVersionPath(gv), &list)
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
		runner.Leave(none)
	}
	return others
}

// readInto reads what discovery says. The check is left out if that can't be: others look at it.
func readInto(p *runner.Probe, path string, into any) {
	response := p.Send(runner.Get(path))
	if !response.OK() || json.Unmarshal(response.Body, into) != nil {
		runner.Leave("%s can't be read", path)
	}
}
