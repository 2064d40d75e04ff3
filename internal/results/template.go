// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"slices"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// names are what placeholders stand for in the messages of one result, the longest first.
type names []name

type name struct {
	text        string
	placeholder byte
}

// namesOf returns the names of the one resource that a result is about; subject is nil for none or several.
func namesOf(subject *engine.Subject) names {
	if subject == nil {
		return nil
	}
	found := make(names, 0, len(engine.Placeholders))
	for _, n := range []name{{subject.Name, engine.NameHere}, {subject.Namespace, engine.NamespaceHere}, {subject.UID, engine.UIDHere}} {
		if n.text != "" && !strings.ContainsAny(n.text, engine.Placeholders) {
			found = append(found, n)
		}
	}
	slices.SortStableFunc(found, func(a, b name) int { return len(b.text) - len(a.text) })
	return found
}

// template returns a message with placeholders for the names in it. Only whole words are names: otherwise the
// namespace "a" would make another template of each message.
func (n names) template(message string) string {
	if strings.ContainsAny(message, engine.Placeholders) {
		message = strings.Map(func(r rune) rune {
			if strings.ContainsRune(engine.Placeholders, r) {
				return '\uFFFD'
			}
			return r
		}, message)
	}
	for _, name := range n {
		message = replaceWords(message, name.text, name.placeholder)
	}
	return message
}

func replaceWords(text, word string, placeholder byte) string {
	at := strings.Index(text, word)
	if at < 0 {
		return text
	}
	var out strings.Builder
	rest := text
	for ; at >= 0; at = strings.Index(rest, word) {
		end := at + len(word)
		if isWhole(text, len(text)-len(rest)+at, len(word)) {
			out.WriteString(rest[:at])
			out.WriteByte(placeholder)
		} else {
			out.WriteString(rest[:end])
		}
		rest = rest[end:]
	}
	out.WriteString(rest)
	return out.String()
}

// isWhole reports whether n bytes of a text, from a place on, are no part of a longer word.
func isWhole(text string, at, n int) bool {
	return (at == 0 || !inWord(text[at-1])) && (at+n == len(text) || !inWord(text[at+n]))
}

func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c >= 0x80
}
