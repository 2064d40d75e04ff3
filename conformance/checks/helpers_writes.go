// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	// attempts is how often a check does again what others may have disturbed: controllers change objects, and kinds come
	// and go.
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

// choices makes changes of an object that a server may allow, as those of a Maker do.
type choices func(*unstructured.Unstructured) []*unstructured.Unstructured

// sendChoice is [runner.Probe.Change] with one of the choices. It returns what the change is; the response is
// nil if there are not so many choices.
func sendChoice(p *runner.Probe, name string, of choices, index int, subresource ...string) (changes map[string]string, response *runner.Response) {
	object := p.Read(name)
	if index >= len(of(object)) {
		return nil, nil
	}
	_, response = p.Change(name, func(object *unstructured.Unstructured) {
		if all := of(object); index < len(all) {
			changes = changesBetween(object.Object, all[index].Object)
			object.Object = all[index].Object
		}
	}, subresource...)
	return changes, response
}

// changesBetween returns the values that differ, by their paths, as JSON in after; empty if they are gone.
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
func shownChanges(changes map[string]string) string { return strings.Join(changeTexts(changes), ", ") }

func changeTexts(changes map[string]string) []string {
	var texts []string
	for path, value := range changes {
		if value == "" {
			value = "(removed)"
		}
		texts = append(texts, path+": "+value)
	}
	slices.Sort(texts)
	return texts
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

// declined reports whether a server refused a request.
func declined(response *runner.Response) bool {
	return response.Code >= 400 && response.Code < 500
}

// wantIdentity fails the check unless the answer is the object of that name.
func wantIdentity(p *runner.Probe, response *runner.Response, name string) {
	expected := fmt.Sprintf("the object: kind %s, apiVersion %s, metadata.name %s", p.Resource.Kind, p.GroupVersion, name)
	if p.Namespace != "" {
		expected += ", metadata.namespace " + p.Namespace
	}
	var object metav1.PartialObjectMetadata
	readDocument(response, expected, &object)
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

// wantNamed fails the check unless the answer, which is a Status, has a name in its details.
func wantNamed(response *runner.Response, name string) {
	if status, _ := response.Status(); status.Details == nil || status.Details.Name != name {
		response.Fail("a Status whose details.name is %q", name)
	}
}

// wantInvalid fails the check unless the answer is a Status that tells that a field is invalid.
func wantInvalid(response *runner.Response, field string) {
	response.WantStatus(metav1.StatusReasonInvalid, http.StatusUnprocessableEntity)
	wantCause(response, "a Status with one of details.causes whose field is "+field, func(cause metav1.StatusCause) bool {
		rest, ok := strings.CutPrefix(cause.Field, field)
		return ok && (rest == "" || rest[0] == '[' || rest[0] == '.')
	})
}

// wantCause fails the check unless one of details.causes of the answer, which is a Status, matches.
func wantCause(response *runner.Response, expected string, matches func(metav1.StatusCause) bool) {
	if status, _ := response.Status(); status.Details == nil || !slices.ContainsFunc(status.Details.Causes, matches) {
		response.Fail("%s", expected)
	}
}

// Annotations that checks change: all kinds have them, and they mean nothing to controllers.
const (
	noteOne   = "conformance.docket.dev/one"
	noteTwo   = "conformance.docket.dev/two"
	noteThree = "conformance.docket.dev/three"
)

// Managers of fields.
const (
	firstManager  = "docket-conformance-first"
	secondManager = "docket-conformance-second"
)

// notes are annotations: name and value in turn. Nil is a value in patches.
func notes(pairs ...any) map[string]any {
	annotations := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if ok {
			annotations[name] = pairs[i+1]
		}
	}
	return annotations
}

// notesPatch is the merge patch of annotations.
func notesPatch(pairs ...any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": notes(pairs...)}}
}

// addNotes gives an object annotations: name and value in turn.
func addNotes(object *unstructured.Unstructured, pairs ...string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		annotations[pairs[i]] = pairs[i+1]
	}
	object.SetAnnotations(annotations)
}

// makeNoted creates an object with annotations and returns its name.
func makeNoted(p *runner.Probe, pairs ...string) string {
	object := p.New()
	addNotes(object, pairs...)
	p.Create(object)
	return object.GetName()
}

// wantNotes fails the check unless an object has these annotations after what response answers: name
// and value in turn. The value "" stands for none.
func wantNotes(p *runner.Probe, response *runner.Response, name string, pairs ...string) {
	object := p.Read(name)
	annotations := object.GetAnnotations()
	for i := 0; i+1 < len(pairs); i += 2 {
		value, has := annotations[pairs[i]]
		switch wanted := pairs[i+1]; {
		case wanted == "" && has:
			response.FailBecause(fmt.Sprintf("its value is %q", value), "that the object does not have the annotation %s afterwards", pairs[i])
		case wanted != "" && !has:
			response.FailBecause("it has no annotation of that name", "that the annotation %s of the object is %q afterwards", pairs[i], wanted)
		case wanted != "" && value != wanted:
			response.FailBecause(fmt.Sprintf("it is %q", value), "that the annotation %s of the object is %q afterwards", pairs[i], wanted)
		}
	}
}

// wantNotStored fails the check if there is an object of that name after what response answers.
func wantNotStored(p *runner.Probe, response *runner.Response, name string) {
	if p.Exists(name) {
		response.FailBecause("there is an object "+name+" afterwards", "that nothing is stored")
	}
}

// putNoted adds an annotation to an object with a PUT, again and again if somebody else is faster. It
// returns the last answer.
func putNoted(p *runner.Probe, name, note, value string, query ...string) *runner.Response {
	for try := 1; ; try++ {
		object := p.Read(name)
		addNotes(object, note, value)
		response := p.Send(runner.Put(p.Path(name), object, query...))
		if response.Code != http.StatusConflict || try == attempts {
			return response
		}
	}
}

// configuration is what a manager applies: an object that has only annotations.
func configuration(p *runner.Probe, name string, pairs ...any) map[string]any {
	metadata := map[string]any{"name": name}
	if p.Namespace != "" {
		metadata["namespace"] = p.Namespace
	}
	if len(pairs) > 0 {
		metadata["annotations"] = notes(pairs...)
	}
	return map[string]any{"apiVersion": p.GroupVersion.String(), "kind": p.Resource.Kind, "metadata": metadata}
}

// apply is the request by which a manager applies annotations to an object.
func apply(p *runner.Probe, manager, name string, pairs ...any) runner.Request {
	return runner.Patch(p.Path(name), types.ApplyYAMLPatchType, configuration(p, name, pairs...), "fieldManager", manager)
}

// applyFirst is an apply of the first manager that has to succeed for the check to go on.
func applyFirst(p *runner.Probe, name string, pairs ...any) *runner.Response {
	return p.Prepare("apply a configuration", apply(p, firstManager, name, pairs...))
}

// dryRunLeft leaves a check out if an admission webhook of the server does not allow dry runs, which is right of it.
func dryRunLeft(response *runner.Response) {
	status, _ := response.Status()
	if status != nil && response.Code == http.StatusBadRequest && strings.Contains(status.Message, "does not support dry run") {
		runner.Leave("an admission webhook of the server has side effects: %s", status.Message)
	}
}

// protobufType is the media type of Kubernetes for its encoding of protocol buffers, and protobufStart
// what such bodies begin with.
const (
	protobufType  = "application/vnd.kubernetes.protobuf"
	protobufStart = "k8s\x00"
)

// mediaTypeOf returns the media type of an answer without its parameters.
func mediaTypeOf(response *runner.Response) string {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// wantMediaType fails the check unless the answer is a success of that media type.
func wantMediaType(response *runner.Response, wanted string) {
	response.WantOK()
	if is := mediaTypeOf(response); is != wanted {
		response.FailBecause(fmt.Sprintf("its Content-Type is %q", response.Header.Get("Content-Type")), "an answer of the type %s", wanted)
	}
}

// accepting is a GET of an object with an Accept; without one if it is empty.
func accepting(p *runner.Probe, name, accept string) runner.Request {
	request := runner.Get(p.Path(name)).With("Accept", accept)
	if accept == "" {
		request.Header.Del("Accept")
	}
	return request
}

// sameFields reports whether two objects are the same, whatever types numbers have.
func sameFields(a, b map[string]any) bool {
	plain := func(fields map[string]any) (value any) {
		data, err := json.Marshal(fields)
		if err != nil || json.Unmarshal(data, &value) != nil {
			return nil
		}
		return value
	}
	first := plain(a)
	return first != nil && reflect.DeepEqual(first, plain(b))
}

// sendRefusable sends a request whose body the server may stop reading: it has an answer then, or only
// a broken connection, for which the response is nil.
func sendRefusable(p *runner.Probe, request runner.Request) *runner.Response {
	var response *runner.Response
	err := runner.Try(func() { response = p.Send(request) })
	var left *runner.LeftOut
	var setup *runner.SetupError
	if errors.As(err, &left) || errors.As(err, &setup) || p.Context.Err() != nil {
		runner.StopOn(err)
	}
	return response
}

// wantExists fails the check unless there is an object of that name after what response answers.
func wantExists(p *runner.Probe, response *runner.Response, name, expected string) {
	if !p.Exists(name) {
		response.FailBecause("there is no object "+name+" afterwards", "%s", expected)
	}
}
