// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"reflect"

	"github.com/docket-project/docket/internal/reports/kinds"
)

// statusOf returns the subresource through which only the status changes.
func statusOf(served *kinds.REST[object]) *kinds.Subresource {
	return served.Subresource(kinds.Part[object]{Keep: keepAllBut(statusPart), ResetFields: []string{"spec"}})
}

// keepAllBut returns a function that takes everything from the stored object except for
// one Go field and the managed fields.
func keepAllBut(changed string) func(incoming, stored object) {
	return func(incoming, stored object) {
		kept, ok := stored.DeepCopyObject().(object)
		if !ok {
			return
		}
		kept.SetResourceVersion(incoming.GetResourceVersion())
		kept.SetManagedFields(incoming.GetManagedFields())
		part(kept, changed).Set(part(incoming, changed))
		reflect.ValueOf(incoming).Elem().Set(reflect.ValueOf(kept).Elem())
	}
}
