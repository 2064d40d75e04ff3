// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"cmp"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"github.com/kyverno/kyverno/pkg/config"
	enginecontext "github.com/kyverno/kyverno/pkg/engine/context"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/controller/internal/policy"
)

// requestDocument is what a [document] has of a request. While the engine looks at the old object,
// it also has what stands for the request's content.
type requestDocument struct {
	view      *requestView
	operation kyvernov1.AdmissionOperation
	replaced  bool
	new, old  map[string]any
}

// begin is called before each rule.
func (d *requestDocument) begin() {
	d.operation = kyvernov1.AdmissionOperation(d.view.request.Operation)
	d.replaced, d.new, d.old = false, nil, nil
}

// fill shows the request as Kyverno's webhook does.
func (d *requestDocument) fill(made enginecontext.Interface, settings config.Configuration) error {
	content, err := d.content()
	if err != nil {
		return shown("the request", err)
	}
	images := &unstructured.Unstructured{}
	switch object, ok := content["object"].(map[string]any); {
	case ok && d.view.new == d.view.request.New:
		images.Object = object
	case d.view.new != nil:
		images.Object = runtime.DeepCopyJSON(d.view.new.Object)
	}
	return cmp.Or(
		shown("the request", made.AddVariable(requestVariable, content)),
		shown("the operation", made.AddOperation(string(d.view.request.Operation))), // This is not only a field.
		shown("the user", made.AddUserInfo(d.view.info)),
		shown("the service account", made.AddServiceAccount(d.view.info.AdmissionUserInfo.Username)),
		shown("the images", made.AddImageInfos(images, settings)),
	)
}

// content returns the request as JSON has it.
func (d *requestDocument) content() (map[string]any, error) {
	request := d.view.request
	frame := *request.AdmissionRequest
	frame.Object, frame.OldObject = runtime.RawExtension{}, runtime.RawExtension{}
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&frame)
	if err != nil {
		return nil, err
	}
	if request.New != nil {
		out["object"] = policy.CopyJSON(request.New.Object, fractional)
	}
	if request.Old != nil {
		out["oldObject"] = policy.CopyJSON(request.Old.Object, fractional)
	}
	return out, nil
}

// fractional makes a floating-point number of a whole one, as in Kyverno's webhook, which reads the request as JSON:
// JMESPath's comparisons know no others.
func fractional(value any) any {
	if number, ok := value.(int64); ok {
		return float64(number)
	}
	return value
}

// replace shows other objects from now on. What is not made yet is shown when it is.
func (d *requestDocument) replace(made enginecontext.Interface, object, old map[string]any) error {
	d.replaced, d.new, d.old = true, object, old
	if made == nil {
		return nil
	}
	return d.replay(made)
}

// replay does with a new document what was done before it was made. It comes after the checkpoints,
// so that they have the request itself.
func (d *requestDocument) replay(made enginecontext.Interface) error {
	if !d.replaced {
		return nil
	}
	return cmp.Or(
		shown("another object", made.AddResource(runtime.DeepCopyJSON(d.new))),
		shown("another old object", made.AddOldResource(runtime.DeepCopyJSON(d.old))),
		d.setOperation(made, d.operation),
	)
}

func (d *requestDocument) setOperation(made enginecontext.Interface, operation kyvernov1.AdmissionOperation) error {
	d.operation = operation
	if made == nil {
		return nil
	}
	return shown("another operation", made.AddOperation(string(operation)))
}
