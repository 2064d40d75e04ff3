// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/internal/reports/kinds"
)

type selectableField = kinds.SelectableField[object]

func scopedFields() []selectableField {
	return []selectableField{
		scopeField("scope.uid", func(scope *report.ObjectReference) string { return string(scope.UID) }),
		scopeField("scope.kind", func(scope *report.ObjectReference) string { return scope.Kind }),
		scopeField("scope.name", func(scope *report.ObjectReference) string { return scope.Name }),
		scopeField("scope.namespace", func(scope *report.ObjectReference) string { return scope.Namespace }),
		{Name: "source", Value: object.GetSource},
	}
}

func ephemeralFields() []selectableField {
	return []selectableField{
		scopeField("spec.owner.uid", func(owner *report.ObjectReference) string { return string(owner.UID) }),
		scopeField("spec.owner.kind", func(owner *report.ObjectReference) string { return owner.Kind }),
		scopeField("spec.owner.name", func(owner *report.ObjectReference) string { return owner.Name }),
	}
}

func scopeField(name string, read func(*report.ObjectReference) string) selectableField {
	return selectableField{
		Name: name,
		Value: func(r object) string {
			scope := r.GetScope()
			if scope == nil {
				return ""
			}
			return read(scope)
		},
	}
}
