// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"fmt"
)

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

// refuse makes an error of what can't be converted.
func refuse(field, remedy, reason string, arguments ...any) error {
	return &Error{Field: field, Reason: fmt.Sprintf(reason, arguments...), Remedy: remedy}
}

// refuse notes why the rule can't be converted; the first reason counts. What it returns is not used.
func (c *converter) refuse(field, remedy, reason string, arguments ...any) cel {
	if c.err == nil {
		c.err = refuse(field, remedy, reason, arguments...)
	}
	return never
}

// refuseTerm is [converter.refuse] in place of a term.
func (c *converter) refuseTerm(field, remedy, reason string, arguments ...any) term {
	return known(c.refuse(field, remedy, reason, arguments...), unknownKind)
}

// byHand is the remedy for what only a human can say otherwise.
const byHand = "write this part in CEL by hand"

// recoded reads what one type has in JSON as another.
func recoded(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}
