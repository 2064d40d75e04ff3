// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "strings"

// Placeholders stand in messages for the resource that a result is about, so that what a policy says of
// each of a thousand pods is stored once: "Pod web-1 runs as root" is "Pod \x01 runs as root". The views of the
// engines put the names back. They are stored: they must not change.
const (
	NameHere      = '\x01'
	NamespaceHere = '\x02'
	UIDHere       = '\x03'

	// Placeholders are all of them.
	Placeholders = "\x01\x02\x03"
)

var templateNames = strings.NewReplacer(string(NameHere), "{name}", string(NamespaceHere), "{namespace}", string(UIDHere), "{uid}")

// Template returns FieldTemplate of a message with placeholders, which is how projections have it.
func Template(message string) string { return templateNames.Replace(message) }

// Message returns what a message with placeholders says about a resource, which is nil for none: with its names in
// their places.
func Message(template string, about *Subject) string {
	at := strings.IndexAny(template, Placeholders)
	if at < 0 {
		return template
	}
	if about == nil {
		about = &Subject{}
	}
	var message strings.Builder
	message.Grow(len(template) + len(about.Name) + len(about.Namespace))
	for ; at >= 0; at = strings.IndexAny(template, Placeholders) {
		message.WriteString(template[:at])
		switch template[at] {
		case NameHere:
			message.WriteString(about.Name)
		case NamespaceHere:
			message.WriteString(about.Namespace)
		case UIDHere:
			message.WriteString(about.UID)
		}
		template = template[at+1:]
	}
	message.WriteString(template)
	return message.String()
}
