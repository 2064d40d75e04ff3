// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	// attempts is how often a check does again what others may have disturbed: controllers change
	// objects, too.
	attempts = 5

	// testLabel is what checks of writing set on their objects.
	testLabel = "conformance.docket.dev/test"

	apiConventions  = "https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md"
	customResources = "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/"

	noStatusChange  = "the server allows no change of the status that was tried"
	noContentChange = "the server allows no change of the content that was tried; give another object with --sample"
)

// setLabel returns a change that sets the label of the checks of writing.
func setLabel(value string) func(*unstructured.Unstructured) {
	return func(object *unstructured.Unstructured) { runner.SetLabel(object, testLabel, value) }
}

// sendChanged changes an object with the PUT that a check is about: one of the object or, if it is
// named, of a subresource. It returns the object as it was before, too. If somebody else was faster
// it is done again.
func sendChanged(p *runner.Probe, name string, change func(*unstructured.Unstructured), subresource ...string) (before *unstructured.Unstructured, response *runner.Response) {
	for range attempts {
		before = p.Read(name)
		object := before.DeepCopy()
		change(object)
		response = p.Send(runner.Put(p.Path(name, subresource...), object))
		if response.Code != http.StatusConflict {
			return before, response
		}
	}
	return before, response
}

// choices makes changes of an object that a server may allow, as those of a Maker do.
type choices func(*unstructured.Unstructured) []*unstructured.Unstructured

// sendChoice is sendChanged with one of the choices. It returns what the change is; the response is
// nil if there are not so many choices.
func sendChoice(p *runner.Probe, name string, of choices, index int, subresource ...string) (changes map[string]string, response *runner.Response) {
	object := p.Read(name)
	if index >= len(of(object)) {
		return nil, nil
	}
	_, response = sendChanged(p, name, func(object *unstructured.Unstructured) {
		if all := of(object); index < len(all) {
			changes = changesBetween(object.Object, all[index].Object)
			object.Object = all[index].Object
		}
	}, subresource...)
	return changes, response
}

// changesBetween returns the values that differ, by their paths, as JSON in after; empty if they
// are not there any more.
func changesBetween(before, after map[string]any) map[string]string {
	old, changes := leavesOf(before), leavesOf(after)
	for path, value := range old {
		switch now, ok := changes[path]; {
		case !ok:
			changes[path] = ""
		case now == value:
			delete(changes, path)
		}
	}
	return changes
}

// hasChanges reports whether an object has all these changes.
func hasChanges(object *unstructured.Unstructured, changes map[string]string) bool {
	leaves := leavesOf(object.Object)
	for path, value := range changes {
		if leaves[path] != value {
			return false
		}
	}
	return true
}

// leavesOf returns the values in an object by their paths, as JSON.
func leavesOf(object map[string]any) map[string]string {
	leaves := map[string]string{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		fields, isObject := value.(map[string]any)
		items, isList := value.([]any)
		if !isObject && !isList {
			leaves[path] = jsonOf(value)
		}
		for name, field := range fields {
			walk(path+"."+name, field)
		}
		for i, item := range items {
			walk(fmt.Sprintf("%s[%d]", path, i), item)
		}
	}
	walk("", object)
	return leaves
}

// jsonOf returns a value that is JSON as a text.
func jsonOf(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}

// shownChanges are changes for people.
func shownChanges(changes map[string]string) string {
	var texts []string
	for path, value := range changes {
		if value == "" {
			value = "(removed)"
		}
		texts = append(texts, path+": "+value)
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

// contentFields returns what of an object is neither metadata nor status.
func contentFields(object *unstructured.Unstructured) map[string]any {
	content := map[string]any{}
	for name, value := range object.Object {
		if name != "metadata" && name != "status" && name != "kind" && name != "apiVersion" {
			content[name] = value
		}
	}
	return content
}

// metadataOf returns a field of the metadata of an answer as JSON; empty if there is none.
func metadataOf(object map[string]any, field string) string {
	return leavesOf(object)[".metadata."+field]
}

// declined reports whether a server did not want to do what it was asked for.
func declined(response *runner.Response) bool {
	return response.Code >= 400 && response.Code < 500
}

// wantIdentity returns a failure unless the answer is the object of that name.
func wantIdentity(p *runner.Probe, response *runner.Response, name string) {
	expected := fmt.Sprintf("the object: kind %s, apiVersion %s, metadata.name %s", p.Resource.Kind, p.GroupVersion, name)
	if p.Namespace != "" {
		expected += ", metadata.namespace " + p.Namespace
	}
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(response.Body, &object); err != nil {
		response.FailBecause(fmt.Sprintf("it can't be read: %v", err), "%s", expected)
	}
	for _, field := range []struct{ name, is, wanted string }{
		{"kind", object.Kind, p.Resource.Kind},
		{"apiVersion", object.APIVersion, p.GroupVersion.String()},
		{"metadata.name", object.Name, name},
		{"metadata.namespace", object.Namespace, p.Namespace},
	} {
		if field.is != field.wanted {
			response.FailBecause(fmt.Sprintf("its %s is %q", field.name, field.is), "%s", expected)
		}
	}
}

// wantInvalid returns a failure unless the answer is a Status that tells that a field is invalid.
func wantInvalid(response *runner.Response, field string) {
	response.WantStatus(metav1.StatusReasonInvalid, http.StatusUnprocessableEntity)
	status, _ := response.Status()
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			if rest, ok := strings.CutPrefix(cause.Field, field); ok && (rest == "" || rest[0] == '[' || rest[0] == '.') {
				return
			}
		}
	}
	response.Fail("a Status with one of details.causes whose field is %s", field)
}
