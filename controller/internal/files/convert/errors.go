// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import "fmt"

// Error says why a policy, a rule or an exception is not converted.
type Error struct {
	// Field is the path of what can't be converted, such as spec.rules[0].validate.podSecurity.
	Field string
	// Reason is why, Remedy what to do about it.
	Reason, Remedy string
}

// Error implements error.
func (e *Error) Error() string {
	text := e.Reason
	if e.Field != "" {
		text = e.Field + ": " + text
	}
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

func refuse(field, remedy, reason string, arguments ...any) error {
	return &Error{Field: field, Reason: fmt.Sprintf(reason, arguments...), Remedy: remedy}
}

// byHand is the remedy for what only a human can say otherwise.
const byHand = "write this part in CEL by hand"
