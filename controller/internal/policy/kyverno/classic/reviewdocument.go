// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"fmt"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"github.com/kyverno/kyverno/pkg/config"
	enginecontext "github.com/kyverno/kyverno/pkg/engine/context"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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
		return fmt.Errorf("cannot show the request to expressions: %w", err)
	}
	if err := made.AddVariable("request", content); err != nil {
		return fmt.Errorf("cannot show the request to expressions: %w", err)
	}
	// This is not only a field.
	if err := made.AddOperation(string(d.view.request.Operation)); err != nil {
		return fmt.Errorf("cannot show the operation to expressions: %w", err)
	}
	if err := made.AddUserInfo(d.view.info); err != nil {
		return fmt.Errorf("cannot show the user to expressions: %w", err)
	}
	if err := made.AddServiceAccount(d.view.info.AdmissionUserInfo.Username); err != nil {
		return fmt.Errorf("cannot show the service account to expressions: %w", err)
	}
	images := &unstructured.Unstructured{}
	switch object, ok := content["object"].(map[string]any); {
	case ok && d.view.new == d.view.request.New:
		images.Object = object
	case d.view.new != nil:
		images.Object = runtime.DeepCopyJSON(d.view.new.Object)
	}
	if err := made.AddImageInfos(images, settings); err != nil {
		return fmt.Errorf("cannot show the images to expressions: %w", err)
	}
	return nil
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
		out["object"] = fractional(request.New.Object)
	}
	if request.Old != nil {
		out["oldObject"] = fractional(request.Old.Object)
	}
	return out, nil
}

// fractional copies a JSON value. Whole numbers become floating-point ones, as in Kyverno's webhook,
// which reads the request as JSON: JMESPath's comparisons know no others.
func fractional(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, item := range value {
			out[key] = fractional(item)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = fractional(item)
		}
		return out
	case int64:
		return float64(value)
	default:
		return value
	}
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
	if err := made.AddResource(runtime.DeepCopyJSON(d.new)); err != nil {
		return fmt.Errorf("cannot show another object to expressions: %w", err)
	}
	if err := made.AddOldResource(runtime.DeepCopyJSON(d.old)); err != nil {
		return fmt.Errorf("cannot show another old object to expressions: %w", err)
	}
	return d.setOperation(made, d.operation)
}

func (d *requestDocument) setOperation(made enginecontext.Interface, operation kyvernov1.AdmissionOperation) error {
	d.operation = operation
	if made == nil {
		return nil
	}
	if err := made.AddOperation(string(operation)); err != nil {
		return fmt.Errorf("cannot show another operation to expressions: %w", err)
	}
	return nil
}
