// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"time"
)

// Cluster is what is known of a cluster whose reports are in the database.
type Cluster struct {
	Name string
	// FirstSeen is when it was first served from the database.
	FirstSeen time.Time
	// Changed is when an object of it changed last; zero where history no longer knows.
	Changed time.Time
	// Reports and Results are the numbers of reports and of result rows.
	Reports, Results int64
	// Servers is the number of programs that serve it and have said so within a minute.
	Servers int
}

// ResourceNames returns the resources of some kinds, as texts.
func ResourceNames(kinds []ReportKind) []string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = string(kind.Resource)
	}
	return names
}

// FieldCluster is the name of the cluster that a row is of. A filter with it is for rows of several clusters: Filter.Of
// makes those of one cluster of it, which engines take.
const FieldCluster Field = "cluster"

// UnknownCluster returns the error for a name that no cluster of the database has.
func UnknownCluster(name string) error {
	return fmt.Errorf("%w: there is no cluster %q in the database, or it may not be read", ErrUnavailable, name)
}

// Of returns the filter for rows of a cluster: what it says of FieldCluster is decided. Any without operands is one
// that selects none of them, nil one that selects all.
func (f *Filter) Of(cluster string) *Filter {
	decided := f.decide(cluster)
	if decided.always() {
		return nil
	}
	return decided
}

// Never reports whether the filter selects no row, as far as it shows.
func (f *Filter) Never() bool { return f != nil && f.Operator == Any && len(f.Operands) == 0 }

func (f *Filter) decide(cluster string) *Filter {
	switch {
	case f == nil:
		return nil
	case f.Operator == Not:
		operand := f.Operands[0].decide(cluster)
		switch {
		case operand.always():
			return &Filter{Operator: Any}
		case operand.Never():
			return &Filter{Operator: All}
		}
		return Negate(operand)
	case f.Operator == All, f.Operator == Any:
		return f.decideAll(cluster)
	case f.Field != FieldCluster:
		return f
	case f.Match(func(Field) string { return cluster }, 0):
		return &Filter{Operator: All}
	}
	return &Filter{Operator: Any}
}

func (f *Filter) always() bool { return f != nil && f.Operator == All && len(f.Operands) == 0 }

// decideAll is decide for operators with several operands: one may decide, and others say nothing.
func (f *Filter) decideAll(cluster string) *Filter {
	rest := &Filter{Operator: f.Operator}
	for _, operand := range f.Operands {
		operand = operand.decide(cluster)
		switch {
		case operand.always() && f.Operator == Any, operand.Never() && f.Operator == All:
			return operand
		case operand.always(), operand.Never():
		default:
			rest.Operands = append(rest.Operands, operand)
		}
	}
	if len(rest.Operands) == 1 {
		return rest.Operands[0]
	}
	return rest
}
