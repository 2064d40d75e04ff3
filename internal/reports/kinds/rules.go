// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rules are those by which objects of a kind are written. Functions may be nil: they then
// do, find and say nothing. On create, they get the zero value of O as old: nil if O is an
// interface.
type Rules[O any] struct {
	// ValidateName says what is wrong with a name, or with the prefix of one.
	ValidateName validation.ValidateNameFunc
	// CreateOnUpdate is true if PUT creates what is missing.
	CreateOnUpdate bool
	// UnconditionalUpdate is true if PUT need not name the resourceVersion that it replaces.
	UnconditionalUpdate bool
	// Lifetime after which objects vanish by themselves; zero is forever.
	Lifetime time.Duration

	// Prepare fills in defaults, and takes from old what an update can't change.
	Prepare func(object, old O)
	// Changed reports whether a prepared update raises the generation. Without it, objects
	// have no generation.
	Changed func(object, old O) bool
	// Validate says what is wrong with a prepared object, besides the metadata of a new one.
	Validate func(ctx context.Context, object, old O) field.ErrorList
	// MaxErrors bounds what one answer says about an invalid object; zero is no bound.
	MaxErrors int
	// Warnings are for the client that writes the object.
	Warnings func(object, old O) []string
	// Accept is called once the object was found to be valid.
	Accept func(object O)
	// ResetFields names the fields that writes leave as they were: those who apply them don't
	// come to own them.
	ResetFields []string
}
