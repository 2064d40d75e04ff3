// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/conformance/runner"
)

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

// wantNotes returns a failure unless an object has these annotations after what response answers: name
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

// wantNotStored returns a failure if there is an object of that name after what response answers.
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

// managedFields is an entry of metadata.managedFields.
type managedFields struct{ apiVersion, fieldsType, fields any }

// managedBy returns the entry of a manager and an operation for the object itself; nil if there is none.
func managedBy(object *unstructured.Unstructured, manager string, operation metav1.ManagedFieldsOperationType) *managedFields {
	entries, _, _ := unstructured.NestedSlice(object.Object, "metadata", "managedFields")
	for _, one := range entries {
		entry, ok := one.(map[string]any)
		if !ok || entry["manager"] != manager || entry["operation"] != string(operation) {
			continue
		}
		if sub, has := entry["subresource"]; has && sub != "" {
			continue
		}
		return &managedFields{entry["apiVersion"], entry["fieldsType"], entry["fieldsV1"]}
	}
	return nil
}

// hasNote reports whether an annotation is among the fields.
func (m *managedFields) hasNote(name string) bool {
	fields, ok := m.fields.(map[string]any)
	if !ok {
		return false
	}
	_, found, err := unstructured.NestedFieldNoCopy(fields, "f:metadata", "f:annotations", "f:"+name)
	return found && err == nil
}

// dryRunLeft leaves a check out if an admission webhook of the server does not allow dry runs, which
// is right of it.
func dryRunLeft(response *runner.Response) {
	status, _ := response.Status()
	if status != nil && response.Code == http.StatusBadRequest && strings.Contains(status.Message, "does not support dry run") {
		runner.Leave("an admission webhook of the server has side effects: %s", status.Message)
	}
}
