// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

// Facts are known of a policy before it is evaluated. The fields without a comment are documented at the methods
// of [Policy] with their names.
type Facts struct {
	Identity     Identity
	Presentation Presentation
	Fingerprint  string
	Background   bool
	// Unreported tells that its owner wants no results in reports.
	Unreported     bool
	Admission      Admission
	Entries        []Entry
	ReadsNamespace bool
	ReadsStatus    bool
	Targets        []Target
	Problem        error
	Doubt          error
	LeftOut        []string
	// Ignored are for [IgnoredExceptions].
	Ignored []IgnoredException
	// Constrained reports whether the readable constraints of the policy match a request; nil if it has none.
	Constrained func(*Request) bool
}

// Described implements all of [Policy] except Evaluate and Review.
type Described struct {
	// Facts don't change once the policy is compiled.
	Facts Facts
}

// Identity implements [Policy].
func (d *Described) Identity() Identity { return d.Facts.Identity }

// Presentation implements [Policy].
func (d *Described) Presentation() Presentation { return d.Facts.Presentation }

// Fingerprint implements [Policy].
func (d *Described) Fingerprint() string { return d.Facts.Fingerprint }

// Background implements [Policy].
func (d *Described) Background() bool { return d.Facts.Background }

// Reported implements [Policy].
func (d *Described) Reported() bool { return !d.Facts.Unreported }

// Admission implements [Policy].
func (d *Described) Admission() Admission { return d.Facts.Admission }

// Entries implements [Policy].
func (d *Described) Entries() []Entry { return d.Facts.Entries }

// ReadsNamespace implements [Policy].
func (d *Described) ReadsNamespace() bool { return d.Facts.ReadsNamespace }

// ReadsStatus implements [Policy].
func (d *Described) ReadsStatus() bool { return d.Facts.ReadsStatus }

// Targets implements [Policy].
func (d *Described) Targets() []Target { return d.Facts.Targets }

// Problem implements [Policy].
func (d *Described) Problem() error { return d.Facts.Problem }

// Doubt implements [Policy].
func (d *Described) Doubt() error { return d.Facts.Doubt }

// LeftOut implements [Policy].
func (d *Described) LeftOut() []string { return d.Facts.LeftOut }

// IgnoredExceptions is read by the function [IgnoredExceptions].
func (d *Described) IgnoredExceptions() []IgnoredException { return d.Facts.Ignored }
