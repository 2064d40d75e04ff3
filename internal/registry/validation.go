// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/docket-project/docket/api/report"
)

// maxFieldErrors bounds what one answer says about an invalid report: a producer
// that gets one field wrong mostly gets it wrong in each of thousands of results.
const maxFieldErrors = 1000

// object is a report that knows its schema.
type object interface {
	report.Accessor
	// Body is everything but type and metadata, equal for equal content.
	Body() []byte
	// Validate compares type and body with the published schema. With a stored report
	// as old, what is wrong there already and stays is passed over.
	Validate(old runtime.Object) field.ErrorList
	// Accept is called once the report was found to be valid.
	Accept()
}

// objectOf returns obj as a report. Anything else is a bug of the caller.
func objectOf(obj runtime.Object) (object, error) {
	found, ok := obj.(object)
	if !ok {
		return nil, fmt.Errorf("object is a %T, not a report", obj)
	}
	return found, nil
}

// validate checks a report that is to be stored; old is what is stored now, nil for
// nothing.
func (k Kind) validate(incoming, old object) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("metadata")
	if old == nil {
		errs = validation.ValidateObjectMetaAccessor(incoming, k.Namespaced, validation.NameIsDNSSubdomain, path)
		errs = append(errs, incoming.Validate(nil)...)
	} else {
		errs = validation.ValidateObjectMetaAccessorUpdate(incoming, old, path)
		errs = append(errs, incoming.Validate(old)...)
	}
	if len(errs) > maxFieldErrors {
		errs = errs[:maxFieldErrors]
	}
	return errs
}
